package disruption

import (
	"errors"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// workloads answers what controls a pod, and how many replicas it wants.
type workloads struct {
	replicationControllers *snapshot.Table[corev1.ReplicationController, *corev1.ReplicationController]
	replicaSets            *snapshot.Table[appsv1.ReplicaSet, *appsv1.ReplicaSet]
	deployments            *snapshot.Table[appsv1.Deployment, *appsv1.Deployment]
	statefulSets           *snapshot.Table[appsv1.StatefulSet, *appsv1.StatefulSet]
	scales                 map[ScaleKey]Scale
	o                      Options
}

func newWorkloads(s Snapshot, o Options, problems *snapshot.Problems) *workloads {
	return &workloads{
		replicationControllers: newTable(replicationControllerKind, s.ReplicationControllers, problems),
		replicaSets:            newTable(replicaSetKind, s.ReplicaSets, problems),
		deployments:            newTable(deploymentKind, s.Deployments, problems),
		statefulSets:           newTable(statefulSetKind, s.StatefulSets, problems),
		scales:                 s.Scales,
		o:                      o,
	}
}

func newTable[T any, P snapshot.Object[T]](kind string, objects []P, problems *snapshot.Problems) *snapshot.Table[T, P] {
	return snapshot.NewTable(kind, snapshot.Named(kind, objects, problems))
}

// duplicates are the names that no answer can be given for.
func (w *workloads) duplicates() []*purekube.ObjectError {
	return slices.Concat(w.replicationControllers.Duplicates(), w.replicaSets.Duplicates(),
		w.deployments.Duplicates(), w.statefulSets.Duplicates())
}

// find returns the object of that name, or nil; and a problem if there is more than one.
func find[T any, P snapshot.Object[T]](kind string, t *snapshot.Table[T, P], key types.NamespacedName) (P, *purekube.ObjectError) {
	if t.Ambiguous(key) {
		return nil, snapshot.DuplicateError(kind, key)
	}
	return t.Find(key), nil
}

// controller is what the pods of one owner reference are controlled by.
type controller struct {
	kind, name string
	uid        types.UID
	scale      int32
}

// answer is what is known about the controller that an owner reference names: exactly one of
// found, a problem, a need; or none of them, when there is no such controller.
type answer struct {
	found   controller // by its kind, which is never empty
	problem *purekube.ObjectError
	need    *purekube.Need
}

// controllerOf looks for the controller that an owner reference of pods in the namespace names
// (upstream: the finders). The snapshot's workloads come first; whatever they do not answer is
// asked of the scale subresource, known kinds included.
func (w *workloads) controllerOf(namespace string, ref *metav1.OwnerReference) answer {
	key := types.NamespacedName{Namespace: namespace, Name: ref.Name}
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return answer{problem: &purekube.ObjectError{
			Kind: ref.Kind, Namespace: namespace, Name: ref.Name, Field: "apiVersion", Err: err}}
	}
	var a answer
	var known bool
	switch {
	case ref.Kind == replicationControllerKind && gv.Group == "":
		a, known = w.replicationController(key, ref.UID)
	case ref.Kind == replicaSetKind && appsGroup(gv.Group):
		a, known = w.replicaSet(key, ref.UID)
	case ref.Kind == statefulSetKind && gv.Group == "apps":
		a, known = w.statefulSet(key, ref.UID)
	}
	if !known {
		a = w.scaleOf(gv.Group, namespace, ref)
	}
	if a.found.kind != "" && a.found.scale < 0 && !w.o.matchUpstream() {
		// It would be subtracted from what the other workloads want.
		return answer{problem: &purekube.ObjectError{
			Kind: a.found.kind, Namespace: namespace, Name: a.found.name, Field: "spec.replicas", Err: errNegative}}
	}
	return a
}

func appsGroup(group string) bool { return group == "apps" || group == "extensions" }

func (w *workloads) replicationController(key types.NamespacedName, uid types.UID) (answer, bool) {
	rc, problem := find(replicationControllerKind, w.replicationControllers, key)
	if problem != nil {
		return answer{problem: problem}, true
	}
	if rc == nil || rc.UID != uid {
		return answer{}, false
	}
	return foundAnswer(replicationControllerKind, rc.Name, rc.UID, rc.Spec.Replicas), true
}

func (w *workloads) statefulSet(key types.NamespacedName, uid types.UID) (answer, bool) {
	ss, problem := find(statefulSetKind, w.statefulSets, key)
	if problem != nil {
		return answer{problem: problem}, true
	}
	if ss == nil || ss.UID != uid {
		return answer{}, false
	}
	return foundAnswer(statefulSetKind, ss.Name, ss.UID, ss.Spec.Replicas), true
}

// replicaSet answers with the Deployment that controls the ReplicaSet, or else with itself.
func (w *workloads) replicaSet(key types.NamespacedName, uid types.UID) (answer, bool) {
	rs, problem := find(replicaSetKind, w.replicaSets, key)
	if problem != nil {
		return answer{problem: problem}, true
	}
	if rs == nil || rs.UID != uid {
		return answer{}, false
	}
	owner := metav1.GetControllerOfNoCopy(rs)
	if owner == nil {
		return foundAnswer(replicaSetKind, rs.Name, rs.UID, rs.Spec.Replicas), true
	}
	gv, err := schema.ParseGroupVersion(owner.APIVersion)
	if err != nil {
		return answer{problem: &purekube.ObjectError{
			Kind: replicaSetKind, Namespace: rs.Namespace, Name: rs.Name, Field: "metadata.ownerReferences", Err: err}}, true
	}
	if owner.Kind != deploymentKind {
		return foundAnswer(replicaSetKind, rs.Name, rs.UID, rs.Spec.Replicas), true
	}
	// From here on the ReplicaSet does not stand for itself, whatever becomes of the
	// Deployment: its scale is the Deployment's business.
	if !appsGroup(gv.Group) {
		return answer{}, false
	}
	deployment, problem := find(deploymentKind, w.deployments, types.NamespacedName{Namespace: key.Namespace, Name: owner.Name})
	if problem != nil {
		return answer{problem: problem}, true
	}
	if deployment == nil || deployment.UID != owner.UID {
		return answer{}, false
	}
	return foundAnswer(deploymentKind, deployment.Name, deployment.UID, deployment.Spec.Replicas), true
}

// foundAnswer takes absent replicas for 1, the API's default (D-12).
func foundAnswer(kind, name string, uid types.UID, replicas *int32) answer {
	scale := int32(1)
	if replicas != nil {
		scale = *replicas
	}
	return answer{found: controller{kind: kind, name: name, uid: uid, scale: scale}}
}

func (w *workloads) scaleOf(group, namespace string, ref *metav1.OwnerReference) answer {
	scale, asked := w.scales[ScaleKey{Group: group, Kind: ref.Kind, Namespace: namespace, Name: ref.Name}]
	switch {
	case !asked:
		return answer{need: &purekube.Need{
			APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: namespace, Name: ref.Name, Subresource: "scale"}}
	case scale.Err != "":
		return answer{problem: &purekube.ObjectError{
			Kind: ref.Kind, Namespace: namespace, Name: ref.Name, Field: "scale", Err: errors.New(scale.Err)}}
	case !scale.Found || scale.UID != ref.UID:
		return answer{}
	}
	return answer{found: controller{kind: ref.Kind, name: ref.Name, uid: scale.UID, scale: scale.Replicas}}
}

// groupOf is the API group of an apiVersion, and no group if it does not parse.
func groupOf(apiVersion string) string {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return "?"
	}
	return gv.Group
}
