package eviction

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/persistent"
	"github.com/purekube/purekube/internal/test/samplecluster"
	"github.com/purekube/purekube/internal/test/upstream/parity"
)

// cluster is an API server with the real eviction handler and the real disruption controller. The
// kubelets and the controllers that own the pods are played by hand.
//
// The disruption controller keeps up: it does all that it can between two evictions. The API server
// tells it of every budget each time, as a resync does, since it looks after only one of several
// budgets by itself when a pod of theirs changes.
type cluster struct {
	t       *testing.T
	w       *parity.World
	sample  samplecluster.Cluster
	pods    map[types.NamespacedName]*corev1.Pod
	budgets map[types.NamespacedName]*policyv1.PodDisruptionBudget
	// evicted are the active pods that were evicted, by UID. Their controllers have not replaced them yet.
	evicted map[types.UID]bool
	version int
}

// play runs the script on a cluster that holds the objects of the sample, in a bubble whose time
// only sleeping changes.
func play(t *testing.T, sample samplecluster.Cluster, script func(c *cluster)) {
	t.Helper()
	c := &cluster{
		t: t, sample: sample,
		pods:    map[types.NamespacedName]*corev1.Pod{},
		budgets: map[types.NamespacedName]*policyv1.PodDisruptionBudget{},
		evicted: map[types.UID]bool{},
	}
	var objects []runtime.Object
	for _, p := range sample.Pods {
		c.pods[KeyOf(p)] = p.DeepCopy()
		objects = append(objects, c.pods[KeyOf(p)])
	}
	for _, b := range sample.Budgets {
		c.budgets[KeyOf(b)] = b.DeepCopy()
		objects = append(objects, c.budgets[KeyOf(b)])
	}
	objects = append(objects, copies(sample.ReplicationControllers)...)
	objects = append(objects, copies(sample.ReplicaSets)...)
	objects = append(objects, copies(sample.Deployments)...)
	objects = append(objects, copies(sample.StatefulSets)...)
	start := parity.Before(parity.StartDisruption(parity.ScalesIn(sample.Answers)), func(w *parity.World) { w.Respond = c.respond })
	parity.Run(t, objects, start, func(t *testing.T, w *parity.World) {
		c.t, c.w = t, w
		c.settle()
		script(c)
	})
}

func copies[T runtime.Object](list []T) []runtime.Object {
	var objects []runtime.Object
	for _, o := range list {
		objects = append(objects, o.DeepCopyObject())
	}
	return objects
}

// respond carries out what the disruption controller writes.
func (c *cluster) respond(r parity.Request) (runtime.Object, error) {
	if r.Verb != "update" || r.Resource != "poddisruptionbudgets" {
		return nil, nil
	}
	written := &policyv1.PodDisruptionBudget{}
	if err := json.Unmarshal([]byte(r.Body), written); err != nil {
		return nil, err
	}
	c.write(written)
	return written, nil
}

// write stores a budget and tells the controller. A write that changes nothing is none, as for an
// API server.
func (c *cluster) write(b *policyv1.PodDisruptionBudget) {
	key := KeyOf(b)
	before := c.budgets[key]
	if reflect.DeepEqual(before.Status, b.Status) {
		return
	}
	c.version++
	b.ResourceVersion = strconv.Itoa(1000 + c.version)
	c.budgets[key] = b
	if StillFails(before, b) {
		c.w.Load(b)
		return
	}
	c.w.Update(b)
}

// settle lets the disruption controller do all that it can at this moment.
func (c *cluster) settle() {
	c.w.Settle()
	for _, key := range slices.SortedFunc(maps.Keys(c.budgets), persistent.CompareNames) {
		c.w.Update(c.budgets[key])
	}
	c.w.Settle()
}

// evict asks the handler and, if it agrees, leaves the pod terminating.
func (c *cluster) evict(key types.NamespacedName) Answer {
	c.t.Helper()
	var budgets []*policyv1.PodDisruptionBudget
	for _, key := range slices.SortedFunc(maps.Keys(c.budgets), persistent.CompareNames) {
		budgets = append(budgets, c.budgets[key])
	}
	a, err := Evict(c.pods[key], budgets)
	if err != nil {
		c.t.Fatal(err)
	}
	if a.Update != nil {
		c.write(a.Update)
	}
	if a.Code == 201 {
		pod := a.Pod
		if pod.DeletionTimestamp == nil {
			c.evicted[pod.UID] = pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
			pod.DeletionTimestamp = &metav1.Time{Time: time.Now().Add(30 * time.Second)}
		}
		c.version++
		pod.ResourceVersion = strconv.Itoa(1000 + c.version)
		c.pods[key] = pod
		c.w.Update(pod)
	}
	c.settle()
	return a
}

// finish plays the kubelets, which end the terminating pods that can end, and then the controllers of these, which
// make as many of them again as they still want: elsewhere, ready if they were, with another UID. Nobody acts in
// between. It reports whether any pod went.
func (c *cluster) finish() bool {
	gone := map[types.UID][]*corev1.Pod{} // by controller
	active := map[types.UID]int{}
	changed := false
	for _, key := range slices.SortedFunc(maps.Keys(c.pods), persistent.CompareNames) {
		pod := c.pods[key]
		ref := metav1.GetControllerOf(pod)
		switch {
		case pod.DeletionTimestamp != nil:
			if deadNode(pod) {
				continue
			}
			c.w.Unload(pod)
			delete(c.pods, key)
			changed = true
			if ref != nil {
				gone[ref.UID] = append(gone[ref.UID], pod)
			}
		case ref != nil && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed:
			active[ref.UID]++
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(gone)) {
		if set := c.sample.StatefulSet(uid); set != nil {
			c.syncStatefulSet(set, gone[uid])
			continue
		}
		if c.mayRecreate(gone[uid][0]) {
			// The worst is that budgets go on expecting them and never count them as healthy.
			for _, pod := range gone[uid] {
				if metav1.GetControllerOf(pod).Kind != "Job" || pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
					c.replace(pod, false)
				}
			}
			continue
		}
		wanted := min(max(int(c.sample.Replicas(uid))-active[uid], 0), len(gone[uid]))
		// Pods that ended or were being deleted before have been replaced. Which of the others come back is not known: the
		// worst is that those do that are not ready.
		place := func(pod *corev1.Pod) int {
			switch {
			case !c.evicted[pod.UID]:
				return 2
			case runningAndReady(pod):
				return 1
			}
			return 0
		}
		slices.SortStableFunc(gone[uid], func(a, b *corev1.Pod) int { return cmp.Compare(place(a), place(b)) })
		for _, pod := range gone[uid][:wanted] {
			c.replace(pod, runningAndReady(pod))
		}
	}
	c.settle()
	return changed
}

// mayRecreate reports whether nobody knows how many pods the pod's controller wants: a Job or a DaemonSet, which have no
// scale, or a custom controller whose scale cannot be read.
func (c *cluster) mayRecreate(pod *corev1.Pod) bool {
	ref := metav1.GetControllerOf(pod)
	return ref.Kind == "Job" || ref.Kind == "DaemonSet" && ref.APIVersion == "apps/v1" || c.sample.Answers[purekube.Need{
		APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: pod.Namespace, Name: ref.Name, Subresource: "scale",
	}].Err != nil
}

// deadNode reports whether nothing ends the terminating pod.
func deadNode(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp.Before(&metav1.Time{Time: parity.Epoch})
}

func runningAndReady(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodRunning &&
		slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue })
}

// syncStatefulSet makes the pods that are gone again, as the StatefulSet's controller does: ordinal by ordinal, and
// with OrderedReady no further than to the first that is not there, running and ready. Nobody makes those that were not
// there before.
func (c *cluster) syncStatefulSet(set *appsv1.StatefulSet, gone []*corev1.Pod) {
	for i := range int(*set.Spec.Replicas) {
		key := types.NamespacedName{Namespace: set.Namespace, Name: set.Name + "-" + strconv.Itoa(i)}
		at := slices.IndexFunc(gone, func(p *corev1.Pod) bool { return KeyOf(p) == key })
		if at >= 0 && c.pods[key] == nil {
			c.replace(gone[at], runningAndReady(gone[at]))
		}
		pod := c.pods[key]
		if set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement && (pod == nil || pod.DeletionTimestamp != nil || !runningAndReady(pod)) {
			return
		}
	}
}

// replace makes a pod like the one that is gone. A StatefulSet's pod has the same name.
func (c *cluster) replace(gone *corev1.Pod, runs bool) {
	c.version++
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: gone.Namespace, Name: gone.Name, UID: types.UID("uid-new-" + strconv.Itoa(c.version)), ResourceVersion: strconv.Itoa(1000 + c.version),
		Labels: gone.Labels, OwnerReferences: gone.OwnerReferences, CreationTimestamp: metav1.Now(),
	}}
	if metav1.GetControllerOf(gone).Kind != "StatefulSet" {
		pod.Name += "-new-" + strconv.Itoa(c.version)
	}
	pod.Spec = *gone.Spec.DeepCopy()
	pod.Spec.NodeName = "elsewhere"
	pod.Status.Phase = corev1.PodRunning
	if gone.Status.Phase == corev1.PodPending {
		pod.Status.Phase = corev1.PodPending
	}
	ready := corev1.ConditionFalse
	if runs {
		ready = corev1.ConditionTrue
	}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
	c.pods[KeyOf(pod)] = pod
	c.w.Load(pod)
}

// sleepToRecheck lets time pass until an entry of status.disruptedPods expires, if there is one.
func (c *cluster) sleepToRecheck() bool {
	if !SleepToRecheck(c.w, c.budgets, c.pods) {
		return false
	}
	c.settle()
	return true
}
