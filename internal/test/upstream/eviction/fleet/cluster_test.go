package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/persistent"
	"github.com/purekube/purekube/internal/test/apiserver"
	"github.com/purekube/purekube/internal/test/upstream/eviction"
	"github.com/purekube/purekube/internal/test/upstream/parity"
)

// cluster is an API server in memory with the real eviction handler, and the real controllers on it. Their caches are
// never behind. The scheduler and the kubelets are played by hand, between the rounds of a drain.
type cluster struct {
	t *testing.T
	w *parity.World
	r *rand.Rand // what the scheduler chooses

	nodes    []string
	cordoned map[string]bool
	// machines are the objects of the nodes, where pods need room, and filters are kube-scheduler's. Without them a pod
	// finds a node unless all are cordoned.
	machines []*corev1.Node
	filters  eviction.Filters
	// daemonSets exist; nothing runs their controller.
	daemonSets []*appsv1.DaemonSet
	// answers are the scales of widgets, of which nothing else runs the controller.
	answers map[purekube.Need]purekube.Answer
	widgets []widget
	made    int // pods of widgets
	// crowded: the scheduler likes the first node best.
	crowded bool
	// timers: controllers wait before they act, as those of Jobs do.
	timers bool
	began  time.Time

	mu      sync.Mutex // for all that follows
	api     *apiserver.Server
	known   map[purekube.Key]bool
	pods    map[types.NamespacedName]*corev1.Pod
	budgets map[types.NamespacedName]*policyv1.PodDisruptionBudget
	// left is the health of the pods that went, by what takes their places.
	left map[string][]health
	// replaced are pods, by UID, that were being deleted before the drain: their controller has made others in their place.
	replaced map[types.UID]bool
	// waits are pods that stay Pending, by UID.
	waits map[types.UID]bool
}

// play runs a script on a cluster, in a bubble whose time only sleeping changes.
func play(t *testing.T, r *rand.Rand, script func(c *cluster)) {
	t.Helper()
	c := &cluster{
		r: r, api: apiserver.New(), cordoned: map[string]bool{}, known: map[purekube.Key]bool{},
		pods: map[types.NamespacedName]*corev1.Pod{}, budgets: map[types.NamespacedName]*policyv1.PodDisruptionBudget{},
		left: map[string][]health{}, replaced: map[types.UID]bool{}, waits: map[types.UID]bool{}, answers: map[purekube.Need]purekube.Answer{},
	}
	c.api.Changed = c.changed
	start := parity.Before(startAll(c.answers), func(w *parity.World) { c.w, w.Serve = w, c.serve })
	parity.Run(t, nil, start, func(t *testing.T, w *parity.World) {
		c.t = t
		script(c)
	})
}

// changed tells the controllers.
func (c *cluster) changed(o apiserver.Object, gone bool) {
	key := purekube.Key{Kind: fmt.Sprintf("%T", o), Namespace: o.GetNamespace(), Name: o.GetName()}
	silent := false
	switch o := o.(type) {
	case *corev1.Pod:
		c.pods[eviction.KeyOf(o)] = o
		if gone {
			delete(c.pods, eviction.KeyOf(o))
		}
	case *policyv1.PodDisruptionBudget:
		before := c.budgets[eviction.KeyOf(o)]
		silent = before != nil && eviction.StillFails(before, o)
		c.budgets[eviction.KeyOf(o)] = o
	}
	switch {
	case gone:
		delete(c.known, key)
		c.w.Delete(o, false)
	case silent:
		c.w.Load(o)
	case c.known[key]:
		c.w.Update(o)
	default:
		c.known[key] = true
		c.w.Add(o)
	}
}

// put stores an object from outside of all controllers.
func (c *cluster) put(o apiserver.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.api.Put(o)
}

// serve answers the controllers and kubectl.
func (c *cluster) serve(action clienttesting.Action) (runtime.Object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.api.Now = time.Now()
	r := purekube.Request{
		Verb: action.GetVerb(), Resource: action.GetResource(), Subresource: action.GetSubresource(),
		Namespace: action.GetNamespace(),
	}
	switch a := action.(type) {
	case clienttesting.ListActionImpl:
		return c.list(a)
	case clienttesting.GetActionImpl:
		return c.get(a)
	case clienttesting.CreateActionImpl:
		switch o := a.Object.(type) {
		case *policyv1.Eviction:
			return nil, c.evict(eviction.KeyOf(o))
		case *corev1.Pod:
			o.Status.Phase = corev1.PodPending
		}
		r.Object = a.Object
		r.Name = a.Object.(metav1.Object).GetName()
	case clienttesting.UpdateActionImpl:
		r.Object = a.Object
		r.Name = a.Object.(metav1.Object).GetName()
	case clienttesting.PatchActionImpl:
		r.Name, r.PatchType, r.Patch = a.Name, a.PatchType, a.Patch
		r.FieldManager, r.Force = a.PatchOptions.FieldManager, ptr.Deref(a.PatchOptions.Force, false)
	case clienttesting.DeleteActionImpl:
		r.Name, r.Preconditions = a.Name, a.DeleteOptions.Preconditions
		if a.Resource.Resource == "pods" {
			return nil, c.deletePod(types.NamespacedName{Namespace: a.Namespace, Name: a.Name}, a.DeleteOptions)
		}
	}
	return c.api.Do(r)
}

func (c *cluster) list(a clienttesting.ListActionImpl) (runtime.Object, error) {
	if a.Resource.Resource != "pods" {
		return nil, apierrors.NewMethodNotSupported(a.Resource.GroupResource(), "list")
	}
	list := &corev1.PodList{}
	for _, key := range slices.SortedFunc(maps.Keys(c.pods), persistent.CompareNames) {
		pod := c.pods[key]
		if a.ListRestrictions.Labels.Matches(labels.Set(pod.Labels)) &&
			a.ListRestrictions.Fields.Matches(fields.Set{"spec.nodeName": pod.Spec.NodeName}) {
			list.Items = append(list.Items, *pod.DeepCopy())
		}
	}
	return list, nil
}

func (c *cluster) get(a clienttesting.GetActionImpl) (runtime.Object, error) {
	key := types.NamespacedName{Namespace: a.Namespace, Name: a.Name}
	switch a.Resource.Resource {
	case "pods":
		if pod := c.pods[key]; pod != nil {
			return pod.DeepCopy(), nil
		}
	case "poddisruptionbudgets":
		if b := c.budgets[key]; b != nil {
			return b.DeepCopy(), nil
		}
	case "daemonsets":
		for _, ds := range c.daemonSets {
			if eviction.KeyOf(ds) == key {
				return ds.DeepCopy(), nil
			}
		}
	default:
		for _, o := range c.api.All() {
			if apiserver.ResourceOf(o) == a.Resource && eviction.KeyOf(o) == key {
				return o, nil
			}
		}
	}
	return nil, apierrors.NewNotFound(a.Resource.GroupResource(), a.Name)
}

// evict asks the real handler.
func (c *cluster) evict(key types.NamespacedName) error {
	pod := c.pods[key]
	if pod == nil {
		return apierrors.NewNotFound(corev1.Resource("pods"), key.Name)
	}
	var budgets []*policyv1.PodDisruptionBudget
	for _, b := range slices.SortedFunc(maps.Keys(c.budgets), persistent.CompareNames) {
		if b.Namespace == key.Namespace {
			budgets = append(budgets, c.budgets[b])
		}
	}
	a, err := eviction.Evict(pod, budgets)
	if err != nil {
		return err
	}
	if a.Update != nil {
		c.api.Put(a.Update)
	}
	switch a.Code {
	case 201:
		c.api.Put(a.Pod)
		return c.deletePod(key, metav1.DeleteOptions{})
	case 429:
		return apierrors.NewTooManyRequests(a.Text, 0)
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: a.Code, Message: a.Text}}
}

// deletePod gives the pod its grace period. One that runs nowhere, or not any more, goes at once (upstream:
// pkg/registry/core/pod/strategy.go, CheckGracefulDelete).
func (c *cluster) deletePod(key types.NamespacedName, o metav1.DeleteOptions) error {
	before := c.pods[key]
	if before == nil {
		return apierrors.NewNotFound(corev1.Resource("pods"), key.Name)
	}
	if p := o.Preconditions; p != nil && p.UID != nil && *p.UID != before.UID {
		return apierrors.NewConflict(corev1.Resource("pods"), key.Name, fmt.Errorf("another UID"))
	}
	grace := ptr.Deref(o.GracePeriodSeconds, ptr.Deref(before.Spec.TerminationGracePeriodSeconds, 30))
	if before.Spec.NodeName == "" || terminal(before) {
		grace = 0
	}
	if before.DeletionTimestamp != nil && ptr.Deref(before.DeletionGracePeriodSeconds, 0) <= grace {
		return nil
	}
	pod := before.DeepCopy()
	pod.DeletionTimestamp = ptr.To(metav1.NewTime(time.Now().Add(time.Duration(grace) * time.Second)))
	pod.DeletionGracePeriodSeconds = &grace
	c.api.Put(pod)
	return nil
}

func terminal(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// settle lets the controllers do all that they can at this moment. The disruption controller hears of every budget, as
// from a resync: it looks after only one of several budgets by itself when a pod of theirs changes.
func (c *cluster) settle() {
	c.w.Settle()
	for _, w := range c.widgets {
		c.sync(w)
	}
	for _, key := range slices.SortedFunc(maps.Keys(c.budgets), persistent.CompareNames) {
		c.w.Update(c.budgets[key])
	}
	c.w.Settle()
	c.w.Client.ClearActions()
}

// widget is a workload of a kind that only its own controller knows, which is this one.
type widget struct {
	uid      types.UID
	replicas int
	pod      *corev1.Pod
}

func (c *cluster) sync(w widget) {
	missing := w.replicas
	for _, pod := range c.sorted() {
		ref := metav1.GetControllerOf(pod)
		if ref != nil && ref.UID == w.uid && pod.DeletionTimestamp == nil && !terminal(pod) {
			missing--
		}
	}
	for range missing {
		c.made++
		pod := w.pod.DeepCopy()
		pod.Name += fmt.Sprintf("-%05d", c.made)
		pod.UID = types.UID("uid-" + pod.Name)
		pod.CreationTimestamp = metav1.Now()
		c.put(pod)
	}
}

// converge plays scheduler, kubelets that start pods, and controllers, until none of them has anything left to do. It
// reports whether any pod was scheduled or started.
func (c *cluster) converge() (changed bool) {
	c.settle()
	for {
		if c.timers {
			// Longer than a Job waits after a pod that failed.
			c.w.Sleep(11 * time.Minute)
			c.settle()
		}
		if !c.schedule() && !c.start() {
			return changed
		}
		changed = true
		c.settle()
	}
}

// schedule puts pods on nodes that are not cordoned.
func (c *cluster) schedule() (changed bool) {
	if c.filters != nil {
		return c.scheduleByFilters()
	}
	nodes := slices.DeleteFunc(slices.Clone(c.nodes), func(n string) bool { return c.cordoned[n] })
	if len(nodes) == 0 {
		return false
	}
	for _, pod := range c.unscheduled() {
		pod = pod.DeepCopy()
		pod.Spec.NodeName = nodes[c.r.IntN(len(nodes))]
		if c.crowded && c.r.IntN(3) > 0 {
			pod.Spec.NodeName = nodes[0]
		}
		c.put(pod)
		changed = true
	}
	return changed
}

// scheduleByFilters puts each pod on the node with the fewest pods, of those that no filter refuses. Which pod comes first
// is the scheduler's choice, and the same as in drain.Node: pods of StatefulSets last, since they are made last; of the
// others, those that will not be ready; and then those with short names.
func (c *cluster) scheduleByFilters() (changed bool) {
	waiting := c.unscheduled()
	turns, before := map[*corev1.Pod]int{}, map[string]int{}
	for _, pod := range waiting {
		place := placeOf(pod)
		n := before[place]
		before[place]++
		switch {
		case strings.Contains(place, "/"):
			turns[pod] = 2
		case n >= len(c.left[place]) || c.left[place][n] == healthy:
			turns[pod] = 1
		}
	}
	slices.SortStableFunc(waiting, func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(turns[a], turns[b]), cmp.Compare(len(a.Name), len(b.Name)))
	})
	machines := c.machinesNow()
	for _, pod := range waiting {
		infos := eviction.NodeInfos(machines, c.sorted())
		attempt := c.filters.Attempt(c.t, pod, infos)
		var emptiest fwk.NodeInfo
		for _, info := range infos {
			if attempt.Refuses(c.t, info) == nil && (emptiest == nil || len(info.GetPods()) < len(emptiest.GetPods())) {
				emptiest = info
			}
		}
		if emptiest != nil {
			pod = pod.DeepCopy()
			pod.Spec.NodeName = emptiest.Node().Name
			c.put(pod)
			changed = true
		}
	}
	return changed
}

// machinesNow are the nodes as objects, with those that are cordoned; nil without objects.
func (c *cluster) machinesNow() []*corev1.Node {
	var nodes []*corev1.Node
	for _, n := range c.machines {
		n = n.DeepCopy()
		n.Spec.Unschedulable = c.cordoned[n.Name]
		nodes = append(nodes, n)
	}
	return nodes
}

// unscheduled are the pods that wait for a node.
func (c *cluster) unscheduled() []*corev1.Pod {
	return slices.DeleteFunc(c.sorted(), func(pod *corev1.Pod) bool {
		return pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil || terminal(pod)
	})
}

// sorted are the pods by name.
func (c *cluster) sorted() []*corev1.Pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	var pods []*corev1.Pod
	for _, key := range slices.SortedFunc(maps.Keys(c.pods), persistent.CompareNames) {
		pods = append(pods, c.pods[key])
	}
	return pods
}

// snapshot is what drain.Node gets to see.
func (c *cluster) snapshot() disruption.Snapshot {
	s := disruption.Snapshot{Now: time.Now(), Pods: c.sorted(), Answers: c.answers}
	for _, key := range slices.SortedFunc(maps.Keys(c.budgets), persistent.CompareNames) {
		s.Budgets = append(s.Budgets, c.budgets[key])
	}
	s.Deployments = apiserver.List[appsv1.Deployment](c.api)
	s.ReplicaSets = apiserver.List[appsv1.ReplicaSet](c.api)
	s.StatefulSets = apiserver.List[appsv1.StatefulSet](c.api)
	s.ReplicationControllers = apiserver.List[corev1.ReplicationController](c.api)
	return s
}
