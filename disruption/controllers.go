package disruption

import (
	"errors"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/persistent"
	"github.com/purekube/purekube/internal/snapshot"
)

// From an owner reference to a scale. Upstream asks five finders in turn; the switch in controllerOf has the same order
// and the same conditions:
//
//	owner reference of the pod      in the snapshot                       otherwise
//	v1 ReplicationController        its spec.replicas                     Need of its scale
//	apps|extensions ReplicaSet      its Deployment's or own replicas      Need of the ReplicaSet, then of a scale
//	apps StatefulSet                its spec.replicas                     Need of its scale
//	anything else                   –                                     Need of its scale
//
// A UID must agree at every step. A pod whose StatefulSet was deleted and recreated under its name has no controller
// until the garbage collector deletes the pod.

// workloads answers what controls a pod, and how many replicas it wants. It never changes. An Index that With or
// Without returns has the same pointer if the call had neither workloads nor answers; wantedScale relies on that.
type workloads struct {
	answers
	replicationControllers *persistent.Objects[corev1.ReplicationController, *corev1.ReplicationController]
	replicaSets            *persistent.Objects[appsv1.ReplicaSet, *appsv1.ReplicaSet]
	deployments            *persistent.Objects[appsv1.Deployment, *appsv1.Deployment]
	statefulSets           *persistent.Objects[appsv1.StatefulSet, *appsv1.StatefulSet]
	// byDeployment finds the ReplicaSets that a Deployment controls: pods name the ReplicaSet and not the Deployment, so a
	// change of the Deployment finds its budgets in two steps. All versions of an ambiguous name are found: too many
	// affected keys cost a plan, and a missing key costs a wrong status.
	byDeployment *persistent.TermIndex[appsv1.ReplicaSet, *appsv1.ReplicaSet]
	hash         persistent.Hash
	options      Options
}

// newWorkloads arranges the workloads and answers of a snapshot in one pass. It keeps the objects and no slice or map.
func newWorkloads(s Snapshot, o Options) *workloads {
	w := &workloads{
		answers:                newAnswers(s.Answers),
		replicationControllers: persistent.NewObjects(replicationControllerKind, s.ReplicationControllers),
		replicaSets:            persistent.NewObjects(replicaSetKind, s.ReplicaSets),
		deployments:            persistent.NewObjects(deploymentKind, s.Deployments),
		statefulSets:           persistent.NewObjects(statefulSetKind, s.StatefulSets),
		hash:                   persistent.NewHash(),
		options:                o,
	}
	w.byDeployment = persistent.NewTermIndex(w.replicaSets, func(terms []uint64, rs *appsv1.ReplicaSet) []uint64 {
		return append(terms, w.hash.Term(0, rs.Namespace, deploymentOf(rs)))
	})
	return w
}

// workloadChanges is what became of workloads and of answers about them. indexEdit.workloads translates the changes
// into affected budgets. The lists are sorted.
type workloadChanges struct {
	replicationControllers []persistent.Change[*corev1.ReplicationController]
	replicaSets            []persistent.Change[*appsv1.ReplicaSet]
	deployments            []persistent.Change[*appsv1.Deployment]
	statefulSets           []persistent.Change[*appsv1.StatefulSet]
	// answers are the lookups, in any version, whose answer now says something else.
	answers []lookupKey
	// kinds are the kinds about which the answers now say something else.
	kinds []schema.GroupKind
}

// changed returns the workloads and answers with these added, or without them. If by has none of them, it returns w
// itself, so that sums computed from w stay valid.
func (w *workloads) changed(by Snapshot, keep bool) (*workloads, workloadChanges) {
	var c workloadChanges
	if len(by.ReplicationControllers)+len(by.ReplicaSets)+len(by.Deployments)+len(by.StatefulSets)+len(by.Answers) == 0 {
		return w, c
	}
	next := *w
	// Each collection is replaced even if it did not change, which costs nothing: With of no objects returns the
	// collection.
	next.replicationControllers, c.replicationControllers = w.replicationControllers.Changed(by.ReplicationControllers,
		keep)
	next.replicaSets, c.replicaSets = w.replicaSets.Changed(by.ReplicaSets, keep)
	next.byDeployment = w.byDeployment.With(next.replicaSets, c.replicaSets)
	next.deployments, c.deployments = w.deployments.Changed(by.Deployments, keep)
	next.statefulSets, c.statefulSets = w.statefulSets.Changed(by.StatefulSets, keep)
	next.answers, c.answers, c.kinds = w.answers.changed(by.Answers, keep)
	return &next, c
}

// duplicates are the names that several workloads of a kind have: no answer is possible for these names. The errors are
// sorted by name within each kind.
func (w *workloads) duplicates() []*purekube.ObjectError {
	return slices.Concat(w.replicationControllers.Duplicates(), w.replicaSets.Duplicates(),
		w.deployments.Duplicates(), w.statefulSets.Duplicates())
}

// addTo adds the nil pointers and objects without a name to problems. Unlike a pod without a name, such a workload
// makes no budget stricter by itself: a pod that names a missing workload causes a Need.
func (w *workloads) addTo(problems *snapshot.Problems) {
	w.replicationControllers.AddTo(problems)
	w.replicaSets.AddTo(problems)
	w.deployments.AddTo(problems)
	w.statefulSets.AddTo(problems)
}

// controller is what the pods of one owner reference are controlled by: the object whose scale counts, which may be the
// Deployment behind the ReplicaSet that the reference names. The type is comparable; Explain uses it as a map key.
type controller struct {
	kind, name string
	// group is empty for the kinds of Kubernetes itself.
	group string
	uid   types.UID
	scale int32
}

// finding is what is known about the controller that an owner reference names: exactly one of found, a problem, a need;
// or none of them, when there is no such controller.
//
// The fourth case is an error of the budget ("found no controllers for pod"), and not a scale of 0: the pod exists, so
// something wanted it, and its orphaned siblings must not count as a surplus.
type finding struct {
	found   controller // by its kind, which is never empty
	problem *purekube.ObjectError
	need    *purekube.Need
}

// foundController is the finding of a controller whose object is known.
func foundController(kind string, o metav1.Object, replicas *int32) finding {
	return finding{found: controller{kind: kind, name: o.GetName(), uid: o.GetUID(), scale: replicasOf(replicas)}}
}

// controllerOf looks for the controller that an owner reference of pods in the namespace names (upstream: the finders).
// It tries the snapshot's workloads first. For everything else, known kinds included, it asks for the scale
// subresource.
//
// It reads apiVersion, kind, name and UID of ref, and nothing else; referenceKey keeps exactly these fields. It costs
// O(log n), and a budget with n references calls it n times, so it allocates little.
func (w *workloads) controllerOf(namespace string, ref *metav1.OwnerReference) finding {
	// Upstream's first finder parses the apiVersion before it looks at the kind, so a reference with the apiVersion
	// "a/b/c" is an error for every kind.
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return finding{problem: &purekube.ObjectError{
			Kind: ref.Kind, Namespace: namespace, Name: ref.Name, Field: "apiVersion", Err: err}}
	}
	f := w.scaledBy(gv.Group, namespace, ref)
	if !w.options.admitsReplicas(f.found.scale) {
		return finding{problem: &purekube.ObjectError{
			Kind: f.found.kind, Namespace: namespace, Name: f.found.name, Field: "spec.replicas", Err: errNegative}}
	}
	return f
}

func (w *workloads) scaledBy(group, namespace string, ref *metav1.OwnerReference) finding {
	o, replicas, f, known := w.object(group, namespace, ref)
	rs, isReplicaSet := o.(*appsv1.ReplicaSet)
	switch {
	case !known:
		return w.scaleOf(group, namespace, ref)
	case o == nil:
		return f
	case isReplicaSet:
		return w.throughReplicaSet(rs, group, ref)
	}
	return foundController(ref.Kind, o, replicas)
}

// appsGroups are the API groups that ReplicaSets and Deployments have been in. No supported release serves extensions,
// but a pod that was created before keeps its owner reference.
var appsGroups = []string{"apps", "extensions"}

func appsGroup(group string) bool { return slices.Contains(appsGroups, group) }

// object returns the object that an owner reference names, and its replicas. If there is none, the finding says why.
// known is false if the scale has to be asked for: the kind is another, or the snapshot has no such object, or one of
// that name with another UID, since the cache may be behind.
//
// If several objects have the name, the finding is a problem and nothing is asked: no lookup shows which object is
// real.
func (w *workloads) object(
	group, namespace string, ref *metav1.OwnerReference,
) (o metav1.Object, replicas *int32, f finding, known bool) {
	key := types.NamespacedName{Namespace: namespace, Name: ref.Name}
	switch {
	case ref.Kind == replicationControllerKind && group == "":
		return ofSnapshot(w.replicationControllers, key, ref.UID, func(rc *corev1.ReplicationController) *int32 {
			return rc.Spec.Replicas
		})
	case ref.Kind == statefulSetKind && group == "apps":
		return ofSnapshot(w.statefulSets, key, ref.UID, func(ss *appsv1.StatefulSet) *int32 { return ss.Spec.Replicas })
	case ref.Kind == replicaSetKind && appsGroup(group):
		o, replicas, f, known = ofSnapshot(w.replicaSets, key, ref.UID, func(rs *appsv1.ReplicaSet) *int32 {
			return rs.Spec.Replicas
		})
	}
	if known || ref.Kind != replicaSetKind || !appsGroup(group) || !w.options.looksUpOwners() {
		return o, replicas, f, known
	}
	// D-22: its own scale says nothing if a Deployment controls it, so the object is asked for. Its Scale has no owner
	// references. The group is apps, whatever group the pod names: no supported release serves another.
	need := purekube.Need{APIVersion: "apps/v1", Kind: replicaSetKind, Namespace: namespace, Name: ref.Name}
	answered, asked := w.find(lookupKeyOf(need))
	if !asked {
		return nil, nil, needed(need), true
	}
	rs, err := objectOf[appsv1.ReplicaSet](answered)
	switch {
	// The lookup failed, or its answer is of another type, for example a Scale under the key of the object.
	case err != nil:
		return nil, nil, scaleProblem(replicaSetKind, key, err), true
	// The ReplicaSet is gone, or was replaced by another of its name. The pods wait for the garbage collector.
	case rs == nil || rs.UID != ref.UID:
		return nil, nil, finding{}, true
	}
	return rs, rs.Spec.Replicas, finding{}, true
}

// ofSnapshot is object for a kind that snapshots have.
func ofSnapshot[T any, P snapshot.Object[T]](objects *persistent.Objects[T, P], key types.NamespacedName, uid types.UID,
	replicas func(P) *int32) (metav1.Object, *int32, finding, bool) {
	o, problem := objects.Lookup(key)
	if problem != nil {
		return nil, nil, finding{problem: problem}, true
	}
	if o == nil || o.GetUID() != uid {
		return nil, nil, finding{}, false
	}
	return o, replicas(o), finding{}, true
}

// throughReplicaSet finds the Deployment that controls the ReplicaSet of a reference, or else the ReplicaSet itself.
// The scale of the Deployment counts, because a rollout moves replicas between ReplicaSets: of Deployment web with 10
// replicas, the old ReplicaSet has 3 and the new one 8 (maxSurge 1), and neither number is what web wants.
func (w *workloads) throughReplicaSet(rs *appsv1.ReplicaSet, group string, ref *metav1.OwnerReference) finding {
	itself := foundController(replicaSetKind, rs, rs.Spec.Replicas)
	owner := metav1.GetControllerOfNoCopy(rs)
	if owner == nil {
		return itself
	}
	// As in controllerOf, the apiVersion is parsed before the kind is compared.
	gv, err := schema.ParseGroupVersion(owner.APIVersion)
	if err != nil {
		return finding{problem: &purekube.ObjectError{
			Kind: replicaSetKind, Namespace: rs.Namespace, Name: rs.Name, Field: "metadata.ownerReferences", Err: err}}
	}
	// Another controller, for example a Rollout of Argo or a Deployment of a foreign group, manages the ReplicaSet.
	// Upstream follows neither: it reads the scale of a ReplicaSet that any Deployment controls.
	if owner.Kind != deploymentKind || !appsGroup(gv.Group) && w.options.looksUpOwners() {
		return itself
	}
	if appsGroup(gv.Group) {
		d, replicas, f, known := ofSnapshot(w.deployments, types.NamespacedName{Namespace: rs.Namespace, Name: owner.Name},
			owner.UID,
			func(d *appsv1.Deployment) *int32 { return d.Spec.Replicas })
		if d != nil {
			return foundController(deploymentKind, d, replicas)
		}
		if known {
			return f
		}
	}
	if !w.options.looksUpOwners() {
		return w.scaleOf(group, rs.Namespace, ref)
	}
	// There is no such Deployment: it was deleted with --cascade=orphan, and its ReplicaSet keeps its replicas.
	if f := w.scaleOf(gv.Group, rs.Namespace, owner); f != (finding{}) {
		return f
	}
	return itself
}

// scaleProblem is the finding for a controller whose scale cannot be read. err is what the budget's condition shows.
func scaleProblem(kind string, key types.NamespacedName, err error) finding {
	return finding{
		problem: &purekube.ObjectError{Kind: kind, Namespace: key.Namespace, Name: key.Name, Field: "scale", Err: err}}
}

// needed is a lookup, or the problem that it cannot be made: users choose the names in owner references, and a name
// such as "../secrets" must not become part of a request's path.
func needed(n purekube.Need) finding {
	if problem := snapshot.CheckNeed(n); problem != nil {
		return finding{problem: problem}
	}
	return finding{need: &n}
}

// scaleOf finds the scale subresource of the controller (upstream: getScaleController). group is the parsed
// group of ref.APIVersion. The order of the checks matters: an answer that the caller gave wins over what is known
// about the kind, and a name that no request can contain is reported before the kind is.
func (w *workloads) scaleOf(group, namespace string, ref *metav1.OwnerReference) finding {
	need := purekube.Need{APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: namespace, Name: ref.Name,
		Subresource: scaleSubresource}
	key := types.NamespacedName{Namespace: namespace, Name: ref.Name}
	answered, asked := w.find(lookupKeyOf(need))
	if !asked {
		a := needed(need)
		// Without this shortcut, a budget over 1,000 Jobs would ask for 1,000 scales, each with the same answer.
		if why := w.withoutScale(group, ref); why != "" && a.problem == nil {
			return scaleProblem(ref.Kind, key, errors.New(why))
		}
		return a
	}
	scale, err := objectOf[autoscalingv1.Scale](answered)
	switch {
	case err != nil:
		return scaleProblem(ref.Kind, key, err)
	case scale == nil || scale.UID != ref.UID:
		return finding{}
	}
	found := controllerNamed(group, ref)
	found.scale = scale.Spec.Replicas
	return finding{found: found}
}

// controllerNamed is the controller that an owner reference of the group names, without its scale. group stays empty
// for a Deployment of apps: it must equal the controller that is found through a Deployment object, or the two would be
// added up. A Deployment of apps and one of a foreign group stay apart.
func controllerNamed(group string, ref *metav1.OwnerReference) controller {
	if appsGroup(group) {
		group = ""
	}
	return controller{kind: ref.Kind, name: ref.Name, group: group, uid: ref.UID}
}

// groupOf is the API group of an apiVersion. If the apiVersion does not parse, it is "?", which no group's name is, so
// such a reference never equals a reference of the core group "".
func groupOf(apiVersion string) string {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return "?"
	}
	return gv.Group
}

// replicaSetsOf returns the names of the ReplicaSets that a Deployment controls, in the snapshot or in an answer. The
// UID of the owner does not matter: a recreated Deployment affects the budgets as well, since it is no longer the
// owner.
func (w *workloads) replicaSetsOf(namespace, deployment string) (names []string) {
	for rs := range w.byDeployment.Versions(w.hash.Term(0, namespace, deployment)) {
		// An object is also found by what it was, since another Deployment may have adopted the ReplicaSet, and by a hash
		// that it has in common with another one.
		if rs.Namespace == namespace && deploymentOf(rs) == deployment {
			names = append(names, rs.Name)
		}
	}
	first := lookupKey{group: "apps", kind: replicaSetKind, namespace: namespace}
	for l, answer := range w.all.From(first) {
		if (lookupKey{group: l.group, kind: l.kind, subresource: l.subresource, namespace: l.namespace}) != first {
			break
		}
		// Pods name it by the name that was looked up, even if the answer has an object of another name.
		if rs, _ := objectOf[appsv1.ReplicaSet](answer); rs != nil && deploymentOf(rs) == deployment {
			names = append(names, l.name)
		}
	}
	return names
}

// deploymentOf is the name of the Deployment that controls a ReplicaSet, or empty.
func deploymentOf(rs *appsv1.ReplicaSet) string {
	if owner := metav1.GetControllerOfNoCopy(rs); owner != nil && owner.Kind == deploymentKind &&
		appsGroup(groupOf(owner.APIVersion)) {
		return owner.Name
	}
	return ""
}
