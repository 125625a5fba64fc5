package fleet

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/internal/test/upstream/eviction"
)

// health is how well a pod does, from worst to best. A pod that takes the place of another does as well as that.
type health int

const (
	pending health = iota
	unready
	healthy
)

func healthOf(pod *corev1.Pod) health {
	ready := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
	switch {
	case pod.Status.Phase == corev1.PodPending:
		return pending
	case ready && pod.Status.Phase == corev1.PodRunning:
		return healthy
	}
	return unready
}

// placeOf says which pods may take the place of one: those of its controller, and of a StatefulSet only the one of its
// name.
func placeOf(pod *corev1.Pod) string {
	switch ref := metav1.GetControllerOf(pod); {
	case ref == nil:
		return ""
	case ref.Kind == "StatefulSet":
		return string(ref.UID) + "/" + pod.Name
	default:
		return string(ref.UID)
	}
}

// start is the kubelets of new pods: they run, and are ready if the pods in whose place they are were. Of several that
// went those that were not ready are replaced first.
func (c *cluster) start() (changed bool) {
	for _, pod := range c.sorted() {
		if pod.Spec.NodeName == "" || pod.Status.Phase != corev1.PodPending || pod.DeletionTimestamp != nil ||
			c.waits[pod.UID] {
			continue
		}
		as := healthy
		if left := c.left[placeOf(pod)]; len(left) > 0 {
			as, c.left[placeOf(pod)] = left[0], left[1:]
		}
		c.put(c.as(pod, as))
		changed = true
	}
	return changed
}

// as is the pod as its kubelet reports it.
func (c *cluster) as(pod *corev1.Pod, h health) *corev1.Pod {
	pod = pod.DeepCopy()
	now := metav1.Now()
	ready := corev1.ConditionFalse
	c.waits[pod.UID] = h == pending
	switch h {
	case healthy:
		ready = corev1.ConditionTrue
		fallthrough
	case unready:
		pod.Status.Phase = corev1.PodRunning
	case pending:
		pod.Status.Phase = corev1.PodPending
	}
	pod.Status.StartTime = &now
	pod.Status.Conditions = append(
		slices.DeleteFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady }),
		corev1.PodCondition{Type: corev1.PodReady, Status: ready, LastTransitionTime: now},
	)
	return pod
}

// dead reports whether the pod is terminating on a node that is down.
func (c *cluster) dead(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil && pod.DeletionTimestamp.Time.Before(c.began)
}

// stop is the kubelets of terminating pods, which end those that can end. A pod of a Job has failed then, and is gone
// when the Job has counted it. It reports whether any pod went.
func (c *cluster) stop() (changed bool) {
	for _, pod := range c.sorted() {
		if pod.DeletionTimestamp == nil || c.dead(pod) {
			continue
		}
		if place := placeOf(pod); place != "" && !terminal(pod) && !c.replaced[pod.UID] {
			c.left[place] = append(c.left[place], healthOf(pod))
			slices.Sort(c.left[place])
		}
		pod = pod.DeepCopy()
		if !terminal(pod) {
			pod.Status.Phase = corev1.PodFailed
		}
		c.put(pod)
		pod = pod.DeepCopy()
		pod.DeletionGracePeriodSeconds = ptr.To[int64](0)
		c.put(pod)
		changed = true
	}
	return changed
}

// sleepToRecheck lets time pass until an entry of status.disruptedPods expires, of a budget that a pod waits for, if there
// is one.
func (c *cluster) sleepToRecheck(drains []*nodeDrain) bool {
	waited := map[types.NamespacedName]*policyv1.PodDisruptionBudget{}
	for key, b := range c.budgets {
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil {
			c.t.Fatal(err)
		}
		for _, d := range drains {
			if slices.ContainsFunc(d.waiting, func(i int) bool {
				return d.pods[i].Namespace == b.Namespace && selector.Matches(labels.Set(d.pods[i].Labels))
			}) {
				waited[key] = b
			}
		}
	}
	if !eviction.SleepToRecheck(c.w, waited, c.pods) {
		return false
	}
	c.settle()
	return true
}
