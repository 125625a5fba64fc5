package disruption

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/internal/podstate"
	"github.com/purekube/purekube/internal/snapshot"
)

// The functions named AffectedBy… return the keys to plan again after an object was added (oldObj is
// nil), changed, or deleted (newObj is nil). The snapshot is the one after the event. The keys are
// sorted, each once. Keys that the event changes nothing for are left out; the key of a budget that
// the event itself is about is not.

// AffectedByBudget returns the budget's own key.
//
// With MatchUpstream also those of the pods that more than one budget covers, if the selector
// changed: their plan has an event about that.
func AffectedByBudget(s Snapshot, oldObj, newObj *policyv1.PodDisruptionBudget, o Options) []Key {
	var keys []Key
	for _, b := range []*policyv1.PodDisruptionBudget{oldObj, newObj} {
		if b != nil && b.Name != "" {
			keys = append(keys, KeyOf(b))
		}
	}
	if len(keys) > 0 && o.matchUpstream() && !sameSelector(oldObj, newObj) {
		keys = append(keys, coveredTwice(s.in(keys[0].Namespace), oldObj, newObj)...)
	}
	return sortedKeys(keys)
}

func sameSelector(a, b *policyv1.PodDisruptionBudget) bool {
	return a != nil && b != nil && KeyOf(a) == KeyOf(b) && equality.Semantic.DeepEqual(a.Spec.Selector, b.Spec.Selector)
}

// coveredTwice are the keys of the pods that one of the two budgets covers, and another one does too.
func coveredTwice(s Snapshot, budgets ...*policyv1.PodDisruptionBudget) []Key {
	p := newPlanner(s, Options{})
	x := newBudgetIndex(p.matchers)
	var changed []matcher
	for _, b := range budgets {
		if b != nil {
			m, _ := newCompiler().matcher(b)
			changed = append(changed, m)
		}
	}
	var keys []Key
	for _, pod := range p.pods {
		if slices.ContainsFunc(changed, func(m matcher) bool { return m.covers(pod) }) && len(x.covering(nil, pod)) > 0 {
			keys = append(keys, KeyOf(pod))
		}
	}
	return keys
}

// AffectedByPod returns the keys of the budgets that cover the old or the new pod, if anything changed that
// they count: labels, readiness, deletion, controller; and the pod's own key if it has a plan
// of its own, or had one.
//
// Upstream plans one of these budgets only, whichever its cache returns first, and only those that
// cover the new pod. With MatchUpstream every event of a pod names its budgets.
func AffectedByPod(s Snapshot, oldObj, newObj *corev1.Pod, o Options) []Key {
	var keys []Key
	budgets := map[types.NamespacedName]*policyv1.PodDisruptionBudget{}
	covering := func(pod *corev1.Pod) (n int) {
		compile := newCompiler()
		for _, b := range s.Budgets {
			if b == nil || b.Name == "" || b.Namespace != pod.Namespace {
				continue
			}
			if m, problem := compile.matcher(b); problem == nil && m.covers(pod) {
				budgets[snapshot.KeyOf(b)] = b
				n++
			}
		}
		return n
	}
	counted := !o.matchUpstream() && countsAlike(oldObj, newObj)
	for _, pod := range []*corev1.Pod{oldObj, newObj} {
		if pod == nil || pod.Name == "" {
			continue
		}
		if n := covering(pod); hasDisruptionTarget(pod) || o.matchUpstream() && n > 1 {
			keys = append(keys, KeyOf(pod))
		}
	}
	for key, b := range budgets {
		// An entry of status.disruptedPods may be about the one and not about the other, and its
		// event names the version of the pod.
		_, listed := b.Status.DisruptedPods[podName(oldObj, newObj)]
		if !counted || listed {
			keys = append(keys, budgetKey(key))
		}
	}
	return sortedKeys(keys)
}

func podName(pods ...*corev1.Pod) string {
	for _, pod := range pods {
		if pod != nil {
			return pod.Name
		}
	}
	return ""
}

// countsAlike reports whether no budget counts the one pod otherwise than the other.
func countsAlike(a, b *corev1.Pod) bool {
	return a != nil && b != nil && KeyOf(a) == KeyOf(b) &&
		(a.DeletionTimestamp == nil) == (b.DeletionTimestamp == nil) &&
		podstate.Ready(a) == podstate.Ready(b) &&
		equality.Semantic.DeepEqual(a.Labels, b.Labels) &&
		sameController(metav1.GetControllerOfNoCopy(a), metav1.GetControllerOfNoCopy(b))
}

func sameController(a, b *metav1.OwnerReference) bool {
	return (a == nil) == (b == nil) && (a == nil || referenceKey(a) == referenceKey(b))
}

// scaled is what a workload's event means for budgets.
type scaled struct {
	name     types.NamespacedName
	uid      types.UID
	replicas int32
	owner    metav1.OwnerReference
}

func scaledOf(o metav1.Object, replicas *int32) *scaled {
	x := &scaled{name: snapshot.KeyOf(o), uid: o.GetUID(), replicas: ptr.Deref(replicas, 1)}
	if owner := metav1.GetControllerOfNoCopy(o); owner != nil {
		x.owner = referenceKey(owner)
	}
	return x
}

// AffectedByReplicationController returns the keys of the budgets whose status rests on its scale.
func AffectedByReplicationController(s Snapshot, oldObj, newObj *corev1.ReplicationController, o Options) []Key {
	var a, b *scaled
	if oldObj != nil {
		a = scaledOf(oldObj, oldObj.Spec.Replicas)
	}
	if newObj != nil {
		b = scaledOf(newObj, newObj.Spec.Replicas)
	}
	return affectedByWorkload(s, a, b, o, func(name types.NamespacedName) func(*metav1.OwnerReference) bool {
		return func(ref *metav1.OwnerReference) bool { return names(ref, replicationControllerKind, name.Name, "") }
	})
}

// AffectedByStatefulSet returns the keys of the budgets whose status rests on its scale.
func AffectedByStatefulSet(s Snapshot, oldObj, newObj *appsv1.StatefulSet, o Options) []Key {
	var a, b *scaled
	if oldObj != nil {
		a = scaledOf(oldObj, oldObj.Spec.Replicas)
	}
	if newObj != nil {
		b = scaledOf(newObj, newObj.Spec.Replicas)
	}
	return affectedByWorkload(s, a, b, o, func(name types.NamespacedName) func(*metav1.OwnerReference) bool {
		return func(ref *metav1.OwnerReference) bool { return names(ref, statefulSetKind, name.Name, "apps") }
	})
}

// AffectedByReplicaSet returns the keys of the budgets whose status rests on its scale or on that of the
// Deployment that controls it.
func AffectedByReplicaSet(s Snapshot, oldObj, newObj *appsv1.ReplicaSet, o Options) []Key {
	var a, b *scaled
	if oldObj != nil {
		a = scaledOf(oldObj, oldObj.Spec.Replicas)
	}
	if newObj != nil {
		b = scaledOf(newObj, newObj.Spec.Replicas)
	}
	return affectedByWorkload(s, a, b, o, func(name types.NamespacedName) func(*metav1.OwnerReference) bool {
		return func(ref *metav1.OwnerReference) bool {
			return names(ref, replicaSetKind, name.Name, "apps", "extensions")
		}
	})
}

// AffectedByDeployment returns the keys of the budgets whose status rests on its scale: those of the
// pods of its ReplicaSets.
func AffectedByDeployment(s Snapshot, oldObj, newObj *appsv1.Deployment, o Options) []Key {
	var a, b *scaled
	if oldObj != nil {
		a = scaledOf(oldObj, oldObj.Spec.Replicas)
	}
	if newObj != nil {
		b = scaledOf(newObj, newObj.Spec.Replicas)
	}
	return affectedByWorkload(s, a, b, o, func(name types.NamespacedName) func(*metav1.OwnerReference) bool {
		return ofDeployment(s, name)
	})
}

// AffectedByScale returns the keys of the budgets whose status rests on the scale that an answer to a
// Need brought: call it when an answer is put into Snapshot.Scales or taken out of it.
func AffectedByScale(s Snapshot, changed ScaleKey, o Options) []Key {
	name := types.NamespacedName{Namespace: changed.Namespace, Name: changed.Name}
	of := func(ref *metav1.OwnerReference) bool { return names(ref, changed.Kind, changed.Name, changed.Group) }
	if changed.Kind == deploymentKind && appsGroup(changed.Group) {
		own, through := of, ofDeployment(s, name)
		of = func(ref *metav1.OwnerReference) bool { return own(ref) || through(ref) }
	}
	return budgetsOfControllers(s, changed.Namespace, o, of)
}

func affectedByWorkload(s Snapshot, a, b *scaled, o Options, of func(types.NamespacedName) func(*metav1.OwnerReference) bool) []Key {
	if a == nil && b == nil || a != nil && b != nil && *a == *b {
		return nil
	}
	x := cmp.Or(b, a)
	if x.name.Name == "" {
		return nil
	}
	return budgetsOfControllers(s, x.name.Namespace, o, of(x.name))
}

// names reports whether the owner reference is one of that kind, in one of these groups.
func names(ref *metav1.OwnerReference, kind, name string, groups ...string) bool {
	return ref.Kind == kind && ref.Name == name && slices.Contains(groups, groupOf(ref.APIVersion))
}

// ofDeployment matches the ReplicaSets that name the Deployment as their controller.
func ofDeployment(s Snapshot, deployment types.NamespacedName) func(*metav1.OwnerReference) bool {
	replicaSets := map[string]bool{}
	for _, rs := range s.ReplicaSets {
		if rs == nil || rs.Namespace != deployment.Namespace {
			continue
		}
		if owner := metav1.GetControllerOfNoCopy(rs); owner != nil && names(owner, deploymentKind, deployment.Name, "apps", "extensions") {
			replicaSets[rs.Name] = true
		}
	}
	return func(ref *metav1.OwnerReference) bool {
		return replicaSets[ref.Name] && names(ref, replicaSetKind, ref.Name, "apps", "extensions")
	}
}

// budgetsOfControllers are the keys of the budgets that ask for a scale and cover a pod whose
// controller it is.
func budgetsOfControllers(s Snapshot, namespace string, o Options, of func(*metav1.OwnerReference) bool) []Key {
	p := newPlanner(Snapshot{Budgets: inNamespace(s.Budgets, namespace)}, o)
	x := newBudgetIndex(p.matchers)
	affected := map[Key]bool{}
	var hits []int
	for _, pod := range s.Pods {
		if pod == nil || pod.Name == "" || pod.Namespace != namespace {
			continue
		}
		if ref := metav1.GetControllerOfNoCopy(pod); ref == nil || !of(ref) {
			continue
		}
		hits = x.covering(hits[:0], pod)
		for _, i := range hits {
			if b := p.matchers[i].budget; scaleDecides(&b.Spec) {
				affected[KeyOf(b)] = true
			}
		}
	}
	var keys []Key
	for key := range affected {
		keys = append(keys, key)
	}
	return sortedKeys(keys)
}
