package manifests

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// helmHook is the annotation of objects that Helm creates at an event, such as an upgrade or a test, and not with the chart.
const helmHook = "helm.sh/hook"

// isHook reports whether the object is a hook of a chart. One that an API server returned is there, whatever made it.
func isHook(o metav1.Object) bool {
	_, hook := o.GetAnnotations()[helmHook]
	return hook && !returned(o)
}

// unscaled says whose labels budgets see of pods that have no scale: of Jobs and DaemonSets.
//
// A budget with a number as minAvailable counts every healthy pod that it selects. Beside one pod of a Deployment, the pod of
// a Job is a second one, and the budget allows a disruption while the Job runs, but not before and after. So at full health
// such pods make no budget better: they are made without labels. Any other budget stays as bad as their kind makes it, since it
// needs the scale of every pod that it selects.
type unscaled struct {
	// scaled are the labels of pods that have a scale, or no controller, each once, by namespace.
	scaled map[string]map[string]labels.Set
	// budgets are those with a number as minAvailable, by namespace.
	budgets map[string][]countingBudget
}

type countingBudget struct {
	name     string
	selector labels.Selector
	// beside: it selects pods that have a scale, too.
	beside bool
}

func newUnscaled(budgets []*policyv1.PodDisruptionBudget, pods []*corev1.Pod) *unscaled {
	u := &unscaled{scaled: map[string]map[string]labels.Set{}, budgets: map[string][]countingBudget{}}
	for _, p := range pods {
		if p == nil {
			continue
		}
		if owner := metav1.GetControllerOfNoCopy(p); owner != nil && (owner.Kind == DaemonSet.Kind || owner.Kind == Job.Kind) {
			continue
		}
		if u.scaled[p.Namespace] == nil {
			u.scaled[p.Namespace] = map[string]labels.Set{}
		}
		u.scaled[p.Namespace][labels.FormatLabels(p.Labels)] = p.Labels
	}
	for _, b := range budgets {
		if b == nil || b.Spec.MaxUnavailable != nil || b.Spec.MinAvailable == nil || b.Spec.MinAvailable.Type != intstr.Int {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil {
			continue // it allows nothing
		}
		counting := countingBudget{name: b.Name, selector: selector}
		for _, of := range u.scaled[b.Namespace] {
			counting.beside = counting.beside || selector.Matches(of)
		}
		u.budgets[b.Namespace] = append(u.budgets[b.Namespace], counting)
	}
	return u
}

// better is a budget that pods with these labels would make better, and empty if there is none.
func (u *unscaled) better(namespace string, of labels.Set) (budget string) {
	for _, b := range u.budgets[namespace] {
		if b.beside && b.selector.Matches(of) {
			return b.name
		}
	}
	return ""
}

// withoutLabels is the workload with a template whose pods make no budget better. It is false if there is none: without labels
// a budget selects them, too.
func (f *filler) withoutLabels(w workload) (_ workload, ok bool) {
	if f.unscaled == nil {
		f.unscaled = newUnscaled(f.set.Budgets, f.set.Pods)
	}
	budget := f.unscaled.better(w.key.Namespace, withLabels(w.template.Labels, w.labels))
	if budget == "" {
		return w, true
	}
	w.template = w.template.DeepCopy()
	w.template.Labels, w.labels = nil, nil
	if f.unscaled.better(w.key.Namespace, nil) != "" {
		f.note(w, "", "its pods are not made: the PodDisruptionBudget %s selects them beside pods of other workloads", budget)
		return w, false
	}
	f.note(w, "", "its pods have no labels here, so that they make the PodDisruptionBudget %s no better than it is for other pods", budget)
	return w, true
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
	_, autoscaled := f.scales[w.key]
	if c.Template == nil || c.Replicas == nil && !autoscaled || c.DeletionTimestamp != nil {
		return c
	}
	replicas, ok := f.replicas(w, c.Replicas)
	if !ok || replicas > 0 && c.Selector != nil && !f.selects(w, c.Selector) {
		return c
	}
	f.fill(w, int(replicas))
	w.at = c.At
	f.note(w, "", "no package knows this kind: its pods are made of spec.template and spec.replicas")
	made := *c
	made.UID, made.Replicas = w.uid, &replicas
	return &made
}
