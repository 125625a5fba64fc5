package manifests

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// IsHelmHook reports whether an object with these annotations is a hook of a chart: Helm creates it at an event, such
// as an upgrade or a test, and not with the chart.
func IsHelmHook(annotations map[string]string) bool {
	_, hook := annotations["helm.sh/hook"]
	return hook
}

// isHook reports whether the object is a hook that is not there. One that an API server returned is there, and a drain
// meets it.
func isHook(o metav1.Object) bool { return IsHelmHook(o.GetAnnotations()) && !returned(o) }

// uncounted is the label of a pod that some budgets do not select here, although they select the other labels that it
// has.
const uncounted = "purekube.io/uncounted"

// unscaled says which budgets allow more because of pods that have no scale: pods of Jobs and DaemonSets.
//
// A budget with a number as minAvailable counts every healthy pod that it selects. Beside one pod of a Deployment, the
// pod of a Job is a second one, and the budget allows a disruption while the Job runs, but not before and after. So at
// full health such a budget selects no such pods. Any other budget keeps selecting them: it needs the scale of every
// pod that it selects, and such pods have none.
//
// The pods themselves are there with all their labels: a drain meets them, and other budgets select them. With a budget
// that allows n disruptions without them, the API server evicts all of them and n others, at full health, and so does a
// drain here. There is one exception: if the budget demands more healthy pods than there are other pods, the API server
// evicts fewer of these pods than a drain here. Such a budget never allows a disruption of the others, and answers say
// so.
type unscaled struct {
	// scaled are the labels of pods that have a scale, or no controller, each once, by namespace.
	scaled map[string]map[string]labels.Set
	// budgets are those with a number as minAvailable, by namespace.
	budgets map[string][]countingBudget
	// changed are the places of the budgets that no longer select such pods.
	changed map[int]bool
}

type countingBudget struct {
	// at is the place in Set.Budgets.
	at       int
	selector labels.Selector
	// beside: it selects pods that have a scale, too.
	beside bool
}

func newUnscaled(budgets []*policyv1.PodDisruptionBudget, pods []*corev1.Pod) *unscaled {
	u := &unscaled{scaled: map[string]map[string]labels.Set{}, budgets: map[string][]countingBudget{},
		changed: map[int]bool{}}
	for _, p := range pods {
		if p == nil {
			continue
		}
		if owner := metav1.GetControllerOfNoCopy(p); owner != nil &&
			(owner.Kind == DaemonSet.Kind || owner.Kind == Job.Kind) {
			continue
		}
		if u.scaled[p.Namespace] == nil {
			u.scaled[p.Namespace] = map[string]labels.Set{}
		}
		u.scaled[p.Namespace][labels.FormatLabels(p.Labels)] = p.Labels
	}
	for at, b := range budgets {
		if b == nil || b.Spec.MaxUnavailable != nil || b.Spec.MinAvailable == nil || b.Spec.MinAvailable.Type != intstr.Int {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil {
			continue // it allows nothing
		}
		counting := countingBudget{at: at, selector: selector}
		for _, of := range u.scaled[b.Namespace] {
			counting.beside = counting.beside || selector.Matches(of)
		}
		u.budgets[b.Namespace] = append(u.budgets[b.Namespace], counting)
	}
	return u
}

// better are the places of the budgets that pods with these labels would make better.
func (u *unscaled) better(namespace string, of labels.Set) (places []int) {
	for _, b := range u.budgets[namespace] {
		if b.beside && b.selector.Matches(of) {
			places = append(places, b.at)
		}
	}
	return places
}

// uncount is the workload with pods that make no budget better.
func (f *filler) uncount(w workload) workload {
	if f.unscaled == nil {
		f.unscaled = newUnscaled(f.set.Budgets, f.set.Pods)
	}
	places := f.unscaled.better(w.key.Namespace, withLabels(w.template.Labels, w.labels))
	if len(places) == 0 {
		return w
	}
	w.labels = withLabels(w.labels, map[string]string{uncounted: "true"})
	for _, at := range places {
		if !f.unscaled.changed[at] {
			f.unscaled.changed[at] = true
			f.set.Budgets[at] = withoutUncounted(f.set.Budgets[at])
		}
	}
	// One note for all: a file of a megabyte has thousands of workloads, and of budgets that select them all.
	first := f.set.Budgets[places[0]].Name
	if len(places) == 1 {
		f.note(w, "",
			"the PodDisruptionBudget %s does not select its pods here, so that it does not allow more disruptions because "+
				"of them",
			first)
	} else {
		f.note(w, "",
			"%d PodDisruptionBudgets, %s among them, do not select its pods here, so that they do not allow more "+
				"disruptions because of them",
			len(places), first)
	}
	return w
}

// withoutUncounted is the budget, selecting only pods that count for it.
func withoutUncounted(b *policyv1.PodDisruptionBudget) *policyv1.PodDisruptionBudget {
	if slices.ContainsFunc(b.Spec.Selector.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool {
		return r.Key == uncounted && r.Operator == metav1.LabelSelectorOpDoesNotExist
	}) {
		return b // the set was at full health before
	}
	b = b.DeepCopy()
	b.Spec.Selector.MatchExpressions = append(b.Spec.Selector.MatchExpressions,
		metav1.LabelSelectorRequirement{Key: uncounted, Operator: metav1.LabelSelectorOpDoesNotExist})
	return b
}

// note adds a note about the workload.
func (f *filler) note(w workload, field, format string, args ...any) {
	at := w.at
	if at == (Ref{}) {
		at = Ref{APIVersion: w.apiVersion, Kind: w.key.Kind, Namespace: w.key.Namespace, Name: w.key.Name}
	}
	if refs := f.set.Refs(w.key); at.File == "" && len(refs) > 0 {
		at = refs[0]
	}
	f.set.Notes = append(f.set.Notes, Note{At: at, Field: field, Text: fmt.Sprintf(format, args...), Objects: 1})
}

// customWorkload makes the pods of a workload of a kind that no package knows.
func (f *filler) customWorkload(c *CustomWorkload) *CustomWorkload {
	w := workload{apiVersion: c.APIVersion, key: c.purekubeKey(), template: c.Template}
	w.uid = uidOf(w.key, c)
	if c.Template == nil || c.DeletionTimestamp != nil {
		return c
	}
	if _, autoscaled := f.scales[w.key]; c.Replicas == nil && !autoscaled {
		f.fail(w, "spec.replicas", "must be a number, unless the input has an autoscaler: otherwise, how many pods there "+
			"are is not known")
		return c
	}
	replicas, ok := f.replicas(w, c.Replicas)
	if !ok || replicas > 0 && c.Selector != nil && !f.selects(w, c.Selector) {
		return c
	}
	f.fill(w, int(replicas))
	w.at = c.At
	f.note(w, "", "no package knows this kind: its pods are made from spec.template and spec.replicas")
	made := *c
	made.UID, made.Replicas = w.uid, &replicas
	return &made
}
