package lint

import "slices"

// Code names a rule: one of the constants below. It never changes its meaning; a new version may add codes.
type Code string

// Severity says how bad a finding is: one of the constants below.
type Severity string

const (
	// NoSeverity is the zero value. No finding has it.
	NoSeverity Severity = ""
	// Error: the API server rejects the object, or it does damage in a cluster.
	Error Severity = "error"
	// Warning: it is probably not what was meant.
	Warning Severity = "warning"
	// Info: nothing is known to be wrong.
	Info Severity = "info"
)

// The codes. docs/lint has a page for each.
const (
	BudgetNeverAllows          Code = "BudgetNeverAllows"
	BudgetRoundsToZero         Code = "BudgetRoundsToZero"
	BudgetBlocksAtMinReplicas  Code = "BudgetBlocksAtMinReplicas"
	BudgetSelectsNothing       Code = "BudgetSelectsNothing"
	BudgetsOverlap             Code = "BudgetsOverlap"
	BudgetValueInvalid         Code = "BudgetValueInvalid"
	BudgetSelectorEmpty        Code = "BudgetSelectorEmpty"
	BudgetOfPodsWithoutScale   Code = "BudgetOfPodsWithoutScale"
	BudgetScaleUnknown         Code = "BudgetScaleUnknown"
	UnhealthyPodEvictionPolicy Code = "UnhealthyPodEvictionPolicy"
	SelectorInvalid            Code = "SelectorInvalid"
	WorkloadInvalid            Code = "WorkloadInvalid"
	AggregationGrantsWildcard  Code = "AggregationGrantsWildcard"
	AggregationGrantsEscalate  Code = "AggregationGrantsEscalate"
	AggregationGrantsSecrets   Code = "AggregationGrantsSecrets"
	AggregationGroupUnknown    Code = "AggregationGroupUnknown"
	AggregationOverwritesRules Code = "AggregationOverwritesRules"
	ClaimTemplateMissing       Code = "ClaimTemplateMissing"
	ServiceCIDRsOverlap        Code = "ServiceCIDRsOverlap"
	ServiceCIDRInvalid         Code = "ServiceCIDRInvalid"
	APIVersionWrong            Code = "APIVersionWrong"
	SuppressionUnknown         Code = "SuppressionUnknown"
)

// Rule is what a code means.
type Rule struct {
	Code Code
	// Severity is the severity of each finding with the code.
	Severity Severity
	// Summary is one sentence without a full stop.
	Summary string
}

// rules are in the order of docs/lint/README.md.
var rules = []Rule{
	{BudgetNeverAllows, Error, "a PodDisruptionBudget allows no disruption even when all its pods are healthy"},
	{BudgetRoundsToZero, Error, "the minAvailable percentage of a PodDisruptionBudget is rounded up to all of its pods"},
	{BudgetBlocksAtMinReplicas, Warning,
		"a PodDisruptionBudget allows no disruption while its autoscaler is at minReplicas"},
	{BudgetSelectsNothing, Warning, "a PodDisruptionBudget selects no pod of the input"},
	{BudgetsOverlap, Error, "more than one PodDisruptionBudget selects a pod, which therefore cannot be evicted"},
	{BudgetValueInvalid, Error, "the API server rejects minAvailable, maxUnavailable or unhealthyPodEvictionPolicy"},
	{BudgetSelectorEmpty, Warning, "an empty selector selects every pod of the namespace"},
	{BudgetOfPodsWithoutScale, Warning,
		"a PodDisruptionBudget counts pods of a Job or DaemonSet, which have no scale, and allows no disruption"},
	{BudgetScaleUnknown, Info, "a PodDisruptionBudget is not judged: the workload of its pods is not in the input"},
	{UnhealthyPodEvictionPolicy, Info,
		"a PodDisruptionBudget does not say whether unhealthy pods may be evicted when it allows no disruption"},
	{SelectorInvalid, Error, "a label selector is not valid"},
	{WorkloadInvalid, Error, "no pods can be made from a workload"},
	{AggregationGrantsWildcard, Error, "aggregation adds a rule with a wildcard to a ClusterRole"},
	{AggregationGrantsEscalate, Error, "aggregation adds escalate, bind or impersonate to a ClusterRole"},
	{AggregationGrantsSecrets, Warning, "aggregation adds access to Secrets to a ClusterRole"},
	{AggregationGroupUnknown, Warning,
		"aggregation adds reading all of an API group whose CustomResourceDefinitions are not in the input"},
	{AggregationOverwritesRules, Warning,
		"aggregation removes rules that are written in a ClusterRole with an aggregationRule"},
	{ClaimTemplateMissing, Error, "a pod names a ResourceClaimTemplate that is not in the input"},
	{ServiceCIDRsOverlap, Warning, "the ranges of two ServiceCIDRs overlap"},
	{ServiceCIDRInvalid, Error, "a range of a ServiceCIDR is not valid"},
	{APIVersionWrong, Error, "the kind does not exist in that API group"},
	{SuppressionUnknown, Warning, "an annotation suppresses a code that does not exist"},
}

// Rules returns a rule for each code, in the order of docs/lint/README.md. The slice is yours.
func Rules() []Rule { return slices.Clone(rules) }

// severityOf is NoSeverity for a code that does not exist.
func severityOf(code Code) Severity {
	for _, r := range rules {
		if r.Code == code {
			return r.Severity
		}
	}
	return NoSeverity
}

// AtLeast reports whether s is as bad as other, or worse. A text that is no severity is less than NoSeverity.
func (s Severity) AtLeast(other Severity) bool {
	order := []Severity{NoSeverity, Info, Warning, Error}
	return slices.Index(order, s) >= slices.Index(order, other)
}
