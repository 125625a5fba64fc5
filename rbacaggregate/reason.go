package rbacaggregate

import "github.com/purekube/purekube"

// The codes are stable: programs compare them, and people read the messages. A message may change in any version.

// Reason is one step on the way to a decision. Field is the selector that the step is about, Object the
// other ClusterRole.
type Reason = purekube.Reason[Code]

// Code is the machine-readable part of a [Reason]. It is one of the constants below; a new version may add codes.
type Code string

// What is known about the ClusterRole as a whole.
const (
	ReasonNotAggregated Code = "NotAggregated" // there is no aggregationRule: the ClusterRole keeps its rules
	ReasonDuplicate     Code = "Duplicate"     // several ClusterRoles have the name of Object: any selector may match it
	ReasonNoSelectors   Code = "NoSelectors"   // the aggregationRule has no selectors: no rules are collected
)

// What one selector contributes.
const (
	ReasonInvalidSelector Code = "InvalidSelector" // it does not convert to a label selector
	ReasonNothingSelected Code = "NothingSelected" // no other ClusterRole matches
	// an earlier selector already matches every ClusterRole that it matches
	ReasonSelectedBefore Code = "SelectedBefore"
	ReasonSelectsItself  Code = "SelectsItself" // the ClusterRole itself matches, which is ignored (BR-27-03)
	// a ClusterRole without an aggregationRule matches: its rules are added
	ReasonContributesRules Code = "ContributesRules"
	// a ClusterRole with an aggregationRule matches: the rules that it aggregates are added
	ReasonContributesNested Code = "ContributesNested"
	// a ClusterRole with an aggregationRule matches: the rules that are stored in it are added
	ReasonContributesStored Code = "ContributesStored"
	// a ClusterRole matches whose aggregation fails: no rules are added, and its stored rules are kept if they are stored
	// here too (D-35)
	ReasonSourceFails Code = "SourceFails"
	ReasonCycle       Code = "Cycle" // a ClusterRole matches that also aggregates this one
)

// What the plan is.
const (
	ReasonUpToDate     Code = "UpToDate"     // the stored rules are up to date
	ReasonRulesDiffer  Code = "RulesDiffer"  // other rules are written
	ReasonRulesUnknown Code = "RulesUnknown" // the rules cannot be computed: nothing is written
)
