package disruption

import (
	"cmp"
	"maps"
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
		s = s.in(keys[0].Namespace)
		x := arrange(s, o, noBudget)
		for _, b := range []*policyv1.PodDisruptionBudget{oldObj, newObj} {
			if b == nil {
				continue
			}
			m, _ := newCompiler().matcher(b)
			for _, pod := range s.Pods {
				if pod != nil && pod.Name != "" && m.covers(pod) && len(x.coveredBy(pod)) > 0 {
					keys = append(keys, KeyOf(pod))
				}
			}
		}
	}
	return sortedKeys(keys)
}

func sameSelector(a, b *policyv1.PodDisruptionBudget) bool {
	return a != nil && b != nil && KeyOf(a) == KeyOf(b) && equality.Semantic.DeepEqual(a.Spec.Selector, b.Spec.Selector)
}

// AffectedByPod returns the keys of the budgets that cover the old or the new pod, if anything changed that
// they count: labels, readiness, deletion, controller; and the pod's own key if it has a plan
// of its own, or had one.
//
// Upstream plans one of these budgets only, whichever its cache returns first, and only those that
// cover the new pod. With MatchUpstream every event of a pod names its budgets.
func AffectedByPod(s Snapshot, oldObj, newObj *corev1.Pod, o Options) []Key {
	var before, after []*corev1.Pod
	namespace := ""
	if oldObj != nil && oldObj.Name != "" {
		before, namespace = []*corev1.Pod{oldObj}, oldObj.Namespace
	}
	if newObj != nil && newObj.Name != "" {
		after, namespace = []*corev1.Pod{newObj}, newObj.Namespace
	}
	x := arrange(Snapshot{Budgets: inNamespace(s.Budgets, namespace)}, o, noBudget)
	return affectedByPod(o, change[*corev1.Pod]{before, after}, x.coveredBy)
}

// affectedByPod are the keys to plan again after a name became another pod's, or several pods'.
func affectedByPod(o Options, c change[*corev1.Pod], coveredBy func(*corev1.Pod) []*budgetState) []Key {
	alike := len(c.before) == 1 && len(c.after) == 1 && !o.matchUpstream() && countsAlike(c.before[0], c.after[0])
	twice := len(c.before) > 1 || len(c.after) > 1
	var keys []Key
	for _, pod := range slices.Concat(c.before, c.after) {
		covering := coveredBy(pod)
		if twice || hasDisruptionTarget(pod) || o.matchUpstream() && len(covering) > 1 {
			keys = append(keys, KeyOf(pod))
		}
		for _, st := range covering {
			// The event about an entry of status.disruptedPods names the version of the pod.
			if _, listed := st.budget.Status.DisruptedPods[pod.Name]; listed || !alike {
				keys = append(keys, KeyOf(st.budget))
			}
		}
	}
	return sortedKeys(keys)
}

// countsAlike reports whether no budget counts the one pod otherwise than the other.
func countsAlike(a, b *corev1.Pod) bool {
	return a != nil && b != nil && KeyOf(a) == KeyOf(b) &&
		(a.DeletionTimestamp == nil) == (b.DeletionTimestamp == nil) &&
		podstate.Ready(a) == podstate.Ready(b) &&
		maps.Equal(a.Labels, b.Labels) &&
		sameController(metav1.GetControllerOfNoCopy(a), metav1.GetControllerOfNoCopy(b))
}

// sameCoverage reports whether the same budgets cover the two pods of one name.
func sameCoverage(a, b *corev1.Pod) bool { return maps.Equal(a.Labels, b.Labels) }

func sameController(a, b *metav1.OwnerReference) bool {
	return (a == nil) == (b == nil) && (a == nil || referenceKey(a) == referenceKey(b))
}

// AffectedByReplicationController returns the keys of the budgets whose status rests on its scale.
func AffectedByReplicationController(s Snapshot, oldObj, newObj *corev1.ReplicationController, o Options) []Key {
	return affectedByWorkload(s, replicationControllerChange(oldObj, newObj), o)
}

// AffectedByStatefulSet returns the keys of the budgets whose status rests on its scale.
func AffectedByStatefulSet(s Snapshot, oldObj, newObj *appsv1.StatefulSet, o Options) []Key {
	return affectedByWorkload(s, statefulSetChange(oldObj, newObj), o)
}

// AffectedByReplicaSet returns the keys of the budgets whose status rests on its scale or on that of the
// Deployment that controls it.
func AffectedByReplicaSet(s Snapshot, oldObj, newObj *appsv1.ReplicaSet, o Options) []Key {
	return affectedByWorkload(s, replicaSetChange(oldObj, newObj), o)
}

// AffectedByDeployment returns the keys of the budgets whose status rests on its scale: those of the
// pods of its ReplicaSets.
func AffectedByDeployment(s Snapshot, oldObj, newObj *appsv1.Deployment, o Options) []Key {
	return affectedByWorkload(s, deploymentChange(oldObj, newObj), o)
}

// AffectedByScale returns the keys of the budgets whose status rests on the answer to a Need: call it
// when an answer is put into Snapshot.Scales or taken out of it. An answer that says that the kind has no scale counts
// for all objects of the kind while s holds it: before you take it out, or replace it, call this as well.
func AffectedByScale(s Snapshot, changed ScaleKey, o Options) []Key {
	return sortedKeys(append(budgetsOfControllers(s, changed.Namespace, scaleSources(changed), o), budgetsOfKind(s, changed, o)...))
}

// workloadChange is what a workload's event means for budgets.
type workloadChange struct {
	before, after *scaled
	// sources are by what pods name it.
	sources []source
}

// scaled is what budgets read of a workload.
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

// source is a controller that pods name, or a Deployment whose ReplicaSets they name.
type source struct {
	kind, name  string
	groups      []string
	replicaSets bool // those of the Deployment of that name
}

func scaleSources(k ScaleKey) []source {
	own := []source{{kind: k.Kind, name: k.Name, groups: []string{k.Group}}}
	switch {
	case k.Kind == deploymentKind && appsGroup(k.Group):
		return append(own, deploymentSource(k.Name))
	case k.Kind == replicaSetKind && k.Group == "apps":
		// A ReplicaSet is looked up in this group, whatever the group that pods name it by.
		own[0].groups = appsGroups
	}
	return own
}

func deploymentSource(name string) source {
	return source{kind: deploymentKind, name: name, groups: appsGroups, replicaSets: true}
}

func replicationControllerChange(oldObj, newObj *corev1.ReplicationController) (c workloadChange) {
	if oldObj != nil {
		c.before = scaledOf(oldObj, oldObj.Spec.Replicas)
	}
	if newObj != nil {
		c.after = scaledOf(newObj, newObj.Spec.Replicas)
	}
	c.sources = []source{{kind: replicationControllerKind, name: c.name().Name, groups: []string{""}}}
	return c
}

func statefulSetChange(oldObj, newObj *appsv1.StatefulSet) (c workloadChange) {
	if oldObj != nil {
		c.before = scaledOf(oldObj, oldObj.Spec.Replicas)
	}
	if newObj != nil {
		c.after = scaledOf(newObj, newObj.Spec.Replicas)
	}
	c.sources = []source{{kind: statefulSetKind, name: c.name().Name, groups: []string{"apps"}}}
	return c
}

func replicaSetChange(oldObj, newObj *appsv1.ReplicaSet) (c workloadChange) {
	if oldObj != nil {
		c.before = scaledOf(oldObj, oldObj.Spec.Replicas)
	}
	if newObj != nil {
		c.after = scaledOf(newObj, newObj.Spec.Replicas)
	}
	c.sources = []source{{kind: replicaSetKind, name: c.name().Name, groups: appsGroups}}
	return c
}

func deploymentChange(oldObj, newObj *appsv1.Deployment) (c workloadChange) {
	if oldObj != nil {
		c.before = scaledOf(oldObj, oldObj.Spec.Replicas)
	}
	if newObj != nil {
		c.after = scaledOf(newObj, newObj.Spec.Replicas)
	}
	c.sources = []source{deploymentSource(c.name().Name)}
	return c
}

func (c workloadChange) name() types.NamespacedName {
	if x := cmp.Or(c.after, c.before); x != nil {
		return x.name
	}
	return types.NamespacedName{}
}

// counts reports whether any budget can tell the difference.
func (c workloadChange) counts() bool {
	return c.name().Name != "" && (c.before == nil || c.after == nil || *c.before != *c.after)
}

func affectedByWorkload(s Snapshot, c workloadChange, o Options) []Key {
	if !c.counts() {
		return nil
	}
	return budgetsOfControllers(s, c.name().Namespace, c.sources, o)
}

// names reports whether the owner reference is one of that kind, in one of these groups.
func names(ref *metav1.OwnerReference, kind, name string, groups ...string) bool {
	return ref.Kind == kind && ref.Name == name && slices.Contains(groups, groupOf(ref.APIVersion))
}

// budgetsOfControllers are the keys of the budgets that ask for a scale and cover a pod whose
// controller it is.
func budgetsOfControllers(s Snapshot, namespace string, sources []source, o Options) []Key {
	s = s.in(namespace)
	replicaSets := map[string]bool{}
	for _, src := range sources {
		if src.replicaSets {
			w := newWorkloads(s, o)
			for rs := range w.byDeployment().From(deploymentReplicaSet{namespace: namespace, deployment: src.name}) {
				if rs.namespace != namespace || rs.deployment != src.name {
					break
				}
				replicaSets[rs.replicaSet] = true
			}
		}
	}
	of := func(ref *metav1.OwnerReference) bool {
		for _, src := range sources {
			if src.replicaSets && replicaSets[ref.Name] && names(ref, replicaSetKind, ref.Name, appsGroups...) ||
				!src.replicaSets && names(ref, src.kind, src.name, src.groups...) {
				return true
			}
		}
		return false
	}
	x := arrange(Snapshot{Budgets: s.Budgets}, o, noBudget)
	var keys []Key
	for _, pod := range s.Pods {
		if pod == nil || pod.Name == "" {
			continue
		}
		if ref := metav1.GetControllerOfNoCopy(pod); ref != nil && of(ref) {
			keys = append(keys, scaleKeysOf(x.coveredBy(pod))...)
		}
	}
	return sortedKeys(keys)
}

// scaleKeysOf are the keys of those budgets that ask for a scale.
func scaleKeysOf(states []*budgetState) []Key {
	var keys []Key
	for _, st := range states {
		if scaleDecides(&st.budget.Spec) {
			keys = append(keys, KeyOf(st.budget))
		}
	}
	return keys
}
