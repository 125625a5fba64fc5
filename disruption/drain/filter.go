package drain

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/persistent"
	"github.com/purekube/purekube/internal/podstate"
	"github.com/purekube/purekube/internal/snapshot"
)

// treatment is what a drain does with a pod before it asks the API server. Without a code the pod
// is to be evicted.
type treatment struct {
	code    Code
	message string
	// stops: the drain does not start.
	stops bool
}

// treat sorts a pod into the classes of kubectl drain (upstream: k8s.io/kubectl/pkg/drain/filters.go),
// the first that fits.
func (o Options) treat(pod *corev1.Pod) treatment {
	switch {
	case o.SkipPod != nil && o.SkipPod(pod):
		return treatment{code: ReasonSkipPod, message: "skipped by SkipPod"}
	// A DaemonSet's pod that ended goes like any other: nothing of it runs on the node.
	case ofDaemonSet(pod) && !podstate.Terminal(pod):
		// kubectl looks the DaemonSet up, to delete its pods if it is gone. A snapshot has no DaemonSets: the DaemonSet
		// that the pod names is assumed to exist.
		if o.IgnoreDaemonSets {
			return treatment{code: ReasonDaemonSetPod, message: "ignoring DaemonSet-managed Pods"}
		}
		return treatment{stops: true, code: ReasonDaemonSetPod,
			message: "cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore)"}
	case ofFile(pod):
		return treatment{code: ReasonMirrorPod, message: "mirror pod: the kubelet runs it from a file"}
	case podstate.Terminal(pod):
		return treatment{}
	case !o.DeleteEmptyDirData && slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.EmptyDir != nil
	}):
		return treatment{stops: true, code: ReasonLocalStorage,
			message: "cannot delete Pods with local storage (use --delete-emptydir-data to override)"}
	case !o.Force && metav1.GetControllerOfNoCopy(pod) == nil:
		return treatment{stops: true, code: ReasonNoController,
			message: "cannot delete Pods that declare no controller (use --force to override)"}
	}
	return treatment{}
}

// ofDaemonSet reports whether a DaemonSet of apps/v1 controls the pod (upstream: isControllerRefDaemonSet, of kubectl
// v0.35 to v0.37). kubectl evicts the pods of DaemonSets of other groups and versions like any others.
func ofDaemonSet(pod *corev1.Pod) bool {
	ref := metav1.GetControllerOfNoCopy(pod)
	return ref != nil && ref.Kind == "DaemonSet" && ref.APIVersion == appsv1.SchemeGroupVersion.String()
}

// stuck reports whether the pod has been terminating for so long that it is not going to end. The deletion timestamp
// has the grace period in it already. Without a time, a pod that is about to end looks like a pod that never ends.
func (o Options) stuck(pod *corev1.Pod, now time.Time) bool {
	if pod.DeletionTimestamp == nil {
		return false
	}
	if o.down(pod) != "" {
		return true
	}
	timeout := o.Stuck
	if timeout == 0 {
		timeout = DefaultStuck
	}
	return now.IsZero() || now.After(pod.DeletionTimestamp.Add(max(timeout, 0)))
}

// down is why the pod does not end when it is deleted: no kubelet confirms it. The pod garbage collector deletes pods
// of a node that is taken out of service (upstream: gcTerminating in pkg/controller/podgc), and the API server deletes
// pods that have ended at once. It is empty if the pod ends, or nothing is known of its node.
func (o Options) down(pod *corev1.Pod) string {
	if !o.checksNodes() || podstate.Terminal(pod) {
		return ""
	}
	i, found := o.inventory.find(pod.Spec.NodeName)
	if !found {
		return ""
	}
	n := o.inventory.nodes[i]
	outOfService := slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == corev1.TaintNodeOutOfService
	})
	if n.never == "" || n.never == notReady && outOfService {
		return ""
	}
	return "the pod does not end: node " + n.Name + " is not ready"
}

// ofFile reports whether the pod is the mirror of a pod that the kubelet runs by itself.
func ofFile(pod *corev1.Pod) bool {
	_, found := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return found
}

// sorted sorts the pods of the node: pods that are skipped, pods that stop the drain, and pods that are left to evict.
func sorted(x *disruption.Index, node string, o Options) (d Drain, left []*corev1.Pod) {
	d.Node = node
	pods, ambiguous := x.PodsOnNode(node)
	for _, name := range ambiguous {
		d.Refused = append(d.Refused, RefusedPod{Pod: name, Code: ReasonDuplicate, Message: purekube.ErrDuplicate.Error()})
	}
	for _, pod := range pods {
		key := snapshot.KeyOf(pod)
		switch t := o.treat(pod); {
		case t.code == "" && o.down(pod) != "":
			d.Refused = append(d.Refused, RefusedPod{Pod: key, Code: ReasonNodeNotReady, Message: o.down(pod)})
		case t.code == "" && o.stuck(pod, x.Now()):
			message := "the pod should have been gone by " + pod.DeletionTimestamp.UTC().Format(time.RFC3339) +
				" and is still there: " +
				"its node may be down, or a finalizer may keep it"
			if x.Now().IsZero() {
				message = "the pod is being deleted; Snapshot.Now is zero, so it is unknown whether it is stuck"
			}
			d.Refused = append(d.Refused, RefusedPod{Pod: key, Code: ReasonStuckPod, Message: message})
		case t.code == "":
			left = append(left, pod)
		case t.stops:
			d.Outcome = NotStarted
			d.Refused = append(d.Refused, RefusedPod{Pod: key, Code: t.code, Message: t.message})
		default:
			d.Skipped = append(d.Skipped, SkippedPod{Pod: key, Code: t.code, Message: t.message})
		}
	}
	slices.SortFunc(d.Refused, func(a, b RefusedPod) int { return persistent.CompareNames(a.Pod, b.Pod) })
	return d, left
}
