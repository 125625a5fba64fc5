package lint

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/message"
)

// budgets judges PodDisruptionBudgets at full health: with as many pods as the autoscalers want at least, and at
// most.
func (l *linter) budgets() {
	least, most := l.fullHealth()
	// At full health a budget does not select some of its pods, so that these do not make it better. The input's does.
	input := disruption.NewIndex(disruption.Snapshot{Budgets: l.set.Budgets}, disruption.Options{})
	selected, operated := l.selected(least, input), operatedIn(l.set)
	for _, b := range l.set.Budgets {
		if b == nil {
			continue
		}
		key := disruption.KeyOf(b)
		valid := l.value(key, b.Spec)
		if !l.selector(key, b.Spec.Selector) {
			continue
		}
		low := least.explain(key)
		if low == nil {
			continue // two budgets have the name, which is an error of the input
		}
		something := len(low.Pods) > 0 || selected[key]
		l.selects(key, b, something, operated)
		if !valid {
			continue
		}
		if something {
			l.unhealthy(key, b.Spec.UnhealthyPodEvictionPolicy)
		}
		high := judged{most, low}
		if most.index != least.index {
			high.BudgetExplanation = most.explain(key)
		}
		l.allows(key, b.Spec, judged{least, low}, high)
	}
	l.overlaps(least, input)
}

// value reports whether the API server accepts what the budget demands.
func (l *linter) value(key purekube.Key, spec policyv1.PodDisruptionBudgetSpec) bool {
	if spec.MinAvailable != nil && spec.MaxUnavailable != nil {
		l.find(BudgetValueInvalid, key, "spec",
			"minAvailable and maxUnavailable are both set: the API server accepts only one of them")
		return false
	}
	for _, v := range []struct {
		name  string
		value *intstr.IntOrString
		spec  policyv1.PodDisruptionBudgetSpec
	}{
		{"spec.minAvailable", spec.MinAvailable, policyv1.PodDisruptionBudgetSpec{MinAvailable: spec.MinAvailable}},
		{"spec.maxUnavailable", spec.MaxUnavailable, policyv1.PodDisruptionBudgetSpec{MaxUnavailable: spec.MaxUnavailable}},
	} {
		if v.value == nil {
			continue
		}
		_, err := disruption.DesiredHealthy(v.spec, 1, disruption.RoundUp)
		p, isPercent := percentage(v.value)
		// The API server takes digits and a percent sign. The controller takes "+5%", too, but never sees it.
		if err != nil || isPercent && (p > 100 || len(validation.IsValidPercent(v.value.StrVal)) > 0) {
			l.find(BudgetValueInvalid, key, v.name, fmt.Sprintf(
				`is %s: must be a number that is not negative, or a percentage from "0%%" to "100%%"`, quoted(v.value.String())))
			return false
		}
	}
	if p := spec.UnhealthyPodEvictionPolicy; p != nil && *p != policyv1.AlwaysAllow && *p != policyv1.IfHealthyBudget {
		l.find(BudgetValueInvalid, key, policyField,
			fmt.Sprintf("is %s: must be %s or %s", quoted(string(*p)), policyv1.AlwaysAllow, policyv1.IfHealthyBudget))
		return false
	}
	return true
}

const policyField = "spec.unhealthyPodEvictionPolicy"

// unhealthy judges a budget that leaves open what happens to pods that are not ready. One that names a policy has
// chosen.
func (l *linter) unhealthy(key purekube.Key, policy *policyv1.UnhealthyPodEvictionPolicyType) {
	if policy == nil {
		l.find(UnhealthyPodEvictionPolicy, key, policyField, "is not set: with the default, IfHealthyBudget, "+
			"crash-looping pods block the drain of their nodes while too few pods are healthy. "+
			"Set AlwaysAllow, or IfHealthyBudget if such pods must stay")
	}
}

// percentage is the number in front of the percent sign.
func percentage(v *intstr.IntOrString) (percent int, ok bool) {
	if v == nil || v.Type != intstr.String {
		return 0, false
	}
	percent, err := strconv.Atoi(strings.TrimSuffix(v.StrVal, "%"))
	return percent, err == nil && strings.HasSuffix(v.StrVal, "%")
}

// selector reports whether the selector of a budget is valid.
func (l *linter) selector(key purekube.Key, s *metav1.LabelSelector) bool {
	selector, err := metav1.LabelSelectorAsSelector(s)
	switch {
	case err != nil:
		l.find(SelectorInvalid, key, "spec.selector", "the API server rejects it, and it selects no pod: "+oneLine(err))
		return false
	case s != nil && selector.Empty():
		l.find(BudgetSelectorEmpty, key, "spec.selector",
			"is empty: it selects every pod of namespace "+quoted(key.Namespace)+", also pods of other charts")
	}
	return true
}

// selects judges a budget that selects no pod. An operator may make pods for it.
func (l *linter) selects(key purekube.Key, b *policyv1.PodDisruptionBudget, something bool, operated operated) {
	switch {
	case something:
	case b.Spec.Selector == nil:
		l.find(BudgetSelectsNothing, key, "spec.selector",
			"is not set: a PodDisruptionBudget without a selector selects no pod")
	case !l.whole || l.broken[key.Namespace]:
	default:
		if w := operated.by(b); w != nil {
			l.find(BudgetScaleUnknown, key, "spec.selector", fmt.Sprintf("matches no pod of the input. An operator may make "+
				"such pods for %s %s: whether the budget allows a disruption is not known", w.Kind, w.Name))
			return
		}
		l.find(BudgetSelectsNothing, key, "spec.selector",
			fmt.Sprintf("%s matches no pod that the input has in namespace %s, and no pod that a workload there makes",
				quoted(metav1.FormatLabelSelector(b.Spec.Selector)), quoted(key.Namespace)))
	}
}

// judged is a budget at some health.
type judged struct {
	health
	*disruption.BudgetExplanation
}

// allows judges whether the budget ever allows a disruption: with the fewest pods, and with the most.
func (l *linter) allows(key purekube.Key, spec policyv1.PodDisruptionBudgetSpec, low, high judged) {
	const blocks = ". Nodes with these pods cannot be drained"
	field, value := "spec.maxUnavailable", spec.MaxUnavailable
	if value == nil {
		field, value = "spec.minAvailable", spec.MinAvailable
	}
	percent, isPercent := percentage(value)
	// The Index has at most maxReplicas of the pods.
	if field == "spec.minAvailable" && !isPercent && high.mayHaveMore(key) {
		high.Never = false
	}
	unknown := low.unknownOf(key)
	switch {
	case value == nil:
		l.find(BudgetNeverAllows, key, "spec",
			"has neither minAvailable nor maxUnavailable, and so allows no disruption"+blocks)
	case field == "spec.minAvailable" && !isPercent && len(unknown) > 0:
		// A workload whose scale is unknown may have no pods. The Index has one of each.
		if total, _ := low.counts(key); max(1, total-int64(len(unknown))) <= int64(low.Computed.DesiredHealthy) {
			l.scaleUnknown(key, low.BudgetExplanation, unknown...)
		}
	// The value would be a share of the pods that controllers want, and there are no controllers.
	case high.Never && high.Computed.ExpectedPods <= 0 && len(high.Pods) > 0 && len(high.Unmanaged) == len(high.Pods) &&
		percent != 100 && !forbidsAll(spec.MaxUnavailable):
		l.find(BudgetNeverAllows, key, field, fmt.Sprintf(
			"is %s, and there %s without a controller: only minAvailable with a number ever lets such pods be evicted%s",
			value, high.thereAre(key), blocks))
	case field == "spec.maxUnavailable" && high.Never:
		l.find(BudgetNeverAllows, key, field, fmt.Sprintf("is %s: no pod may ever be evicted%s", value, blocks))
	case isPercent && percent == 100 && high.Never:
		l.find(BudgetNeverAllows, key, field, "is 100%: no pod may ever be evicted"+blocks)
	case isPercent && high.Never:
		l.find(BudgetRoundsToZero, key, field,
			fmt.Sprintf("%s of %d is rounded up to %d, so no pod may be evicted at full health, when there %s%s",
				value, high.Computed.ExpectedPods, high.Computed.DesiredHealthy, high.thereAre(key), blocks))
	case high.Never:
		l.find(BudgetNeverAllows, key, field,
			fmt.Sprintf("is %s, and at full health there %s: no pod may be evicted%s", value, high.thereAre(key), blocks))
	case low.Never:
		l.find(BudgetBlocksAtMinReplicas, key, field,
			fmt.Sprintf("is %s, which demands %s; while the autoscaler is at its minimum, there %s, and no pod may be evicted",
				value, message.Count(int(low.Computed.DesiredHealthy), "healthy pod"), low.thereAre(key)))
	default:
		l.scaleUnknown(key, low.BudgetExplanation)
	}
}

// forbidsAll reports whether maxUnavailable is 0 or 0%.
func forbidsAll(maxUnavailable *intstr.IntOrString) bool {
	percent, isPercent := percentage(maxUnavailable)
	return maxUnavailable != nil && (isPercent && percent == 0 || !isPercent && maxUnavailable.IntValue() == 0)
}

// mayHaveMore reports whether autoscalers may make more pods than the Index has, and so many that one of them may go.
func (j judged) mayHaveMore(key purekube.Key) bool {
	total, of := j.counts(key)
	more := false
	for workload := range of {
		more = more || j.beyond[workload] > 0
	}
	return more && total > int64(j.Computed.DesiredHealthy)
}

// unknownOf are the workloads with pods of the budget whose scale is unknown.
func (j judged) unknownOf(key purekube.Key) (names []string) {
	for _, p := range j.Pods {
		if of := j.workloadOf[disruption.PodKey(key.Namespace, p.Name)]; j.unknown[of] {
			names = append(names, of.Kind+" "+of.Name)
		}
	}
	return names
}

// counts is how many pods the budget has, and of which workloads.
func (j judged) counts(key purekube.Key) (total int64, of map[purekube.Key]int64) {
	of = map[purekube.Key]int64{}
	for _, p := range j.Pods {
		pod := disruption.PodKey(key.Namespace, p.Name)
		total += int64(j.count[pod])
		if workload := j.workloadOf[pod]; workload != (purekube.Key{}) {
			of[workload] += int64(j.count[pod])
		}
	}
	for workload := range of {
		of[workload] += int64(j.beyond[workload])
		total += int64(j.beyond[workload])
	}
	return total, of
}

// thereAre is how many pods the budget has, with a verb, and of which workloads.
func (j judged) thereAre(key purekube.Key) string {
	total, counts := j.counts(key)
	text := "are " + message.Count(int(total), "pod")
	if total == 1 {
		text = "is 1 pod"
	}
	var of []string
	for _, workload := range slices.SortedFunc(maps.Keys(counts), purekube.Key.Compare) {
		of = append(of, fmt.Sprintf("%s %s: %d", workload.Kind, workload.Name, counts[workload]))
	}
	if len(of) > 0 {
		text += " (" + list(of, 3) + ")"
	}
	return text
}

// scaleUnknown says why a budget is not judged whose number of pods depends on a scale that the input does not have.
func (l *linter) scaleUnknown(key purekube.Key, e *disruption.BudgetExplanation, unknown ...string) {
	var none []string
	for _, c := range e.Controllers {
		switch c.Code {
		case disruption.ReasonScaleNotAvailable:
			none = append(none, c.Kind+" "+c.Name)
		case disruption.ReasonScaleNotKnown, disruption.ReasonControllerNotFound:
			unknown = append(unknown, c.Kind+" "+c.Name)
		}
	}
	if len(none) > 0 {
		l.find(BudgetOfPodsWithoutScale, key, "spec",
			fmt.Sprintf(
				"%s needs the scale of %s, which has none, and so allows no disruption. Use minAvailable with a number, or "+
					"another selector",
				quoted(e.Rule), list(none, 3)))
	}
	if len(unknown) > 0 {
		l.find(BudgetScaleUnknown, key, "spec", fmt.Sprintf(
			"%s needs the scale of %s, which is not in the input: whether the budget allows a disruption is not known",
			quoted(e.Rule), list(unknown, 3)))
	}
}

// overlaps finds the budgets that select the same pod. Each budget names at most three others, so the cost grows with
// the pairs of pods and budgets, and not with the pairs of budgets of each pod.
func (l *linter) overlaps(h health, input *disruption.Index) {
	const most = 3
	others, sample := map[purekube.Key][]string{}, map[purekube.Key]string{}
	for _, p := range h.pods {
		budgets, _ := input.BudgetsFor(p) // the error is about budgets that select nothing
		if len(budgets) < 2 {
			continue
		}
		slices.SortFunc(budgets, func(a, b *policyv1.PodDisruptionBudget) int { return cmp.Compare(a.Name, b.Name) })
		for _, b := range budgets {
			key := disruption.KeyOf(b)
			if sample[key] == "" {
				sample[key] = p.Name
			}
			for _, other := range budgets {
				if len(others[key]) > most {
					break
				}
				if other.Name != b.Name && !slices.Contains(others[key], other.Name) {
					others[key] = append(others[key], other.Name)
				}
			}
		}
	}
	for key, names := range others {
		l.find(BudgetsOverlap, key, "spec.selector",
			fmt.Sprintf(
				"selects pods that PodDisruptionBudget %s selects too, such as %s: the API server evicts no pod that has more "+
					"than one",
				several(names, most), sample[key]))
	}
}

// several is "a, b, c and more".
func several(names []string, most int) string {
	if len(names) > most {
		return strings.Join(names[:most], ", ") + " and more"
	}
	return strings.Join(names, ", ")
}

// list is "a, b and 3 more".
func list(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

func quoted(s string) string { return strconv.Quote(s) }

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
