package disruption

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/internal/persistent"
)

// noScaleText ends upstream's error for a kind without the subresource scale. The resource comes before it.
const noScaleText = " does not implement the scale subresource"

// resourceWithoutScale is the resource of a kind of Kubernetes that controls pods and has no subresource scale in
// any supported release, and empty for every other kind. The version counts: upstream's error for a version that the
// API server does not serve is another one.
func resourceWithoutScale(apiVersion, kind string) string {
	switch [2]string{apiVersion, kind} {
	case [2]string{"batch/v1", "Job"}:
		return "jobs.batch"
	case [2]string{"batch/v1", "CronJob"}:
		return "cronjobs.batch"
	case [2]string{"apps/v1", daemonSetKind}:
		return "daemonsets.apps"
	case [2]string{"v1", "Node"}:
		return "nodes"
	}
	return ""
}

// saysNoScale reports whether the answer is about the whole kind: it has no scale. The API server serves the scale of
// the kinds that a snapshot holds in every release, so that no answer speaks for all objects of those.
func saysNoScale(key ScaleKey, answer Scale) bool {
	if !strings.HasSuffix(answer.Err, noScaleText) {
		return false
	}
	switch key.Kind {
	case replicationControllerKind:
		return key.Group != ""
	case replicaSetKind, deploymentKind:
		return !appsGroup(key.Group)
	case statefulSetKind:
		return key.Group != "apps"
	}
	return true
}

// compareByKind sorts answers by their group and kind first.
func compareByKind(a, b ScaleKey) int {
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// scalelessAnswers are those of the answers that say that their kind has no scale, by kind.
func scalelessAnswers(scales map[ScaleKey]Scale) *persistent.Map[ScaleKey, string] {
	edit := lazily(persistent.NewMap[ScaleKey, string](compareByKind))
	for key, answer := range scales {
		if saysNoScale(key, answer) {
			edit.set(key, answer.Err)
		}
	}
	return edit.result()
}

// kindWithoutScale is why no object of that kind has a scale, and empty if nothing says so. Of several answers
// the first by namespace and name counts.
func kindWithoutScale(answers *persistent.Map[ScaleKey, string], kind schema.GroupKind) string {
	if answers.Len() == 0 {
		return ""
	}
	for key, why := range answers.From(ScaleKey{Group: kind.Group, Kind: kind.Kind}) {
		if key.Group != kind.Group || key.Kind != kind.Kind {
			break
		}
		return why
	}
	return ""
}

// withoutScale is why the controller of that reference has no scale, where that is known without a look-up.
func (w *workloads) withoutScale(group string, ref *metav1.OwnerReference) string {
	if resource := resourceWithoutScale(ref.APIVersion, ref.Kind); resource != "" {
		return resource + noScaleText
	}
	return kindWithoutScale(w.scaleless, schema.GroupKind{Group: group, Kind: ref.Kind})
}

// changeScaleless is what the answers say with the changed ones, and the kinds of which something else is known then.
func (w *workloads) changeScaleless(changes []scaleChange) (after *persistent.Map[ScaleKey, string], changed []schema.GroupKind) {
	before := w.scaleless
	edit := lazily(before)
	var kinds []schema.GroupKind
	for _, c := range changes {
		had, has := saysNoScale(c.key, c.before), saysNoScale(c.key, c.after)
		if had {
			edit.delete(c.key)
		}
		if has {
			edit.set(c.key, c.after.Err)
		}
		if had || has {
			kinds = append(kinds, schema.GroupKind{Group: c.key.Group, Kind: c.key.Kind})
		}
	}
	after = edit.result()
	// Each kind once: thousands of answers can say it of one kind, and each look at it is at all of its objects.
	slices.SortFunc(kinds, func(a, b schema.GroupKind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
	})
	for _, kind := range slices.Compact(kinds) {
		if kindWithoutScale(before, kind) != kindWithoutScale(after, kind) {
			changed = append(changed, kind)
		}
	}
	return after, changed
}

// budgetsOfKind are the keys of the budgets that ask for a scale and cover a pod whose controller is of that kind.
func (e *indexEdit) budgetsOfKind(kind schema.GroupKind) []Key {
	var keys []Key
	for r := range e.references.since(budgetReference{kind: kind.Kind}) {
		if r.kind != kind.Kind {
			break
		}
		if groupOf(r.apiVersion) != kind.Group {
			continue
		}
		if st := e.state(types.NamespacedName{Namespace: r.namespace, Name: r.budget}); st != nil {
			keys = append(keys, scaleKeysOf([]*budgetState{st})...)
		}
	}
	for _, same := range e.next.pods.double.All() {
		for _, pod := range same {
			if controlledByKind(pod, kind) {
				keys = append(keys, scaleKeysOf(e.coveredBy(pod))...)
			}
		}
	}
	return keys
}

func controlledByKind(pod *corev1.Pod, kind schema.GroupKind) bool {
	ref := metav1.GetControllerOfNoCopy(pod)
	return ref != nil && ref.Kind == kind.Kind && groupOf(ref.APIVersion) == kind.Group
}

// budgetsOfKind are the keys of the budgets that the answer under that key concerns beyond those of its own object:
// those of its kind, if the answer is all that says that the kind has no scale.
func budgetsOfKind(s Snapshot, changed ScaleKey, o Options) []Key {
	answers := scalelessAnswers(s.Scales)
	kind := schema.GroupKind{Group: changed.Group, Kind: changed.Kind}
	if kindWithoutScale(answers, kind) == kindWithoutScale(answers.Without(changed), kind) {
		return nil
	}
	x := arrange(Snapshot{Budgets: s.Budgets}, o, noBudget)
	var keys []Key
	for _, pod := range s.Pods {
		if pod != nil && pod.Name != "" && controlledByKind(pod, kind) {
			keys = append(keys, scaleKeysOf(x.coveredBy(pod))...)
		}
	}
	return keys
}
