package manifests

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
)

// MaxPods is how many pods AtFullHealth makes at most. Kubernetes supports 150,000 in a cluster.
const MaxPods = 150_000

// MaxNodes is how many nodes WithNodes adds at most: as many as Kubernetes supports.
const MaxNodes = 5000

// AtFullHealth is the set with the pods that its workloads would have when all is well: running, ready, and controlled
// by their workload. Ask it about budgets, drains and claims of manifests that have no pods, as a chart has none.
//
//   - A Deployment has the ReplicaSets that it controls in the set, or else one that its template makes, and a
//     ReplicaSet, a StatefulSet or a ReplicationController has as many pods as replicas. A HorizontalPodAutoscaler
//     raises these to its minReplicas and lowers them to its maxReplicas. If there are several, the lowest numbers
//     count. A ScaledObject of KEDA does the same with its numbers, and raises a workload with 0 replicas to its
//     minReplicaCount or idleReplicaCount.
//   - A DaemonSet has a pod on each node whose labels, taints and name its template allows.
//   - A Job that is not suspended and has not ended has as many pods as may run in parallel. A CronJob has none: its
//     Jobs are made when they are due.
//   - An object of a kind that no package knows has as many pods as its spec.replicas, of its spec.template. A note
//     says so. With a spec.template alone, and no autoscaler, it is a workload without an answer.
//   - Hooks of Helm have none, and pods that are hooks are left out, unless an API server returned them: Helm creates
//     them at an event, and they end.
//   - Pods of DaemonSets and Jobs make no PodDisruptionBudget better. One that counts them beside pods of other
//     workloads does not select them in the result, and a note says so.
//
// The pods are spread over the nodes of the set that allow them: one after the other, beginning where the workload
// before ended. Cordoned nodes get pods of DaemonSets only. Without nodes the pods have none, and DaemonSets have no
// pods. Resources, affinity to pods, topology spread and volumes are not looked at: the scheduler may decide otherwise.
//
// Pods that are there already stay as they are, and count for the workload that controls them while they are neither
// being deleted nor ended. Names are made of ordinals, and UIDs of kind, namespace and name, so the result is the same
// every time. Workloads are copied to give them UIDs and the status that goes with the pods; s is not written to.
// Claims are not made: resourceclaim plans them.
//
// The error joins a [purekube.ObjectError] for each workload without an answer, for example one whose selector does not
// match its template; the pods of the others are there. More than [MaxPods] pods are not made. If there is an error, or
// if a workload or an autoscaler could not be read, the result hides pods: see [Set.Hides].
func (s *Set) AtFullHealth() (*Set, error) {
	f := newFiller(s)
	each(f.set.Deployments, f.deployment)
	each(f.set.ReplicaSets, f.replicaSet)
	each(f.set.ReplicationControllers, f.replicationController)
	each(f.set.StatefulSets, f.statefulSet)
	each(f.set.CustomWorkloads, f.customWorkload)
	each(f.set.DaemonSets, f.daemonSet)
	each(f.set.Jobs, f.job)
	f.set.see(Pod)
	f.set.see(ReplicaSet)
	if len(f.errs) > 0 || s.hidesWorkloads() {
		f.set.Hide(Pod)
	}
	return f.set, errors.Join(f.errs...)
}

// hidesWorkloads reports whether an object that could not be read has pods at full health, or says how many.
func (s *Set) hidesWorkloads() bool {
	for kind, n := range s.Unreadable {
		custom := !kind.Empty() && len(scheme.VersionsForGroupKind(kind)) == 0
		if n > 0 && (custom || slices.Contains(workloads, kind)) {
			return true
		}
	}
	return false
}

// workloads are the built-in kinds that say which pods there are at full health.
var workloads = []schema.GroupKind{
	Deployment, ReplicaSet, ReplicationController, StatefulSet, DaemonSet, Job, HorizontalPodAutoscaler,
}

// each replaces the objects of a list. Nil ones and hooks stay.
func each[T any, P interface {
	*T
	metav1.Object
}](list []P, by func(P) P) {
	for i, o := range list {
		if o != nil && !isHook(o) {
			list[i] = by(o)
		}
	}
}

// filler makes the pods that a set lacks.
type filler struct {
	set   *Set
	nodes []*corev1.Node
	// next is the number of the node that gets the next pod, counted over all workloads.
	next int
	// made counts the pods.
	made int
	errs []error
	// active are the pods that count, and owned the places of the input's ReplicaSets in
	// set.ReplicaSets, by their controller.
	active map[controller][]*corev1.Pod
	owned  map[controller][]int
	// taken are the names of pods and ReplicaSets.
	taken map[purekube.Key]bool
	// scales are the replicas that autoscalers bound, by the workload.
	scales map[purekube.Key]bounds
	// unscaled is nil until a DaemonSet or a Job needs it.
	unscaled *unscaled
}

// controller is one workload: under another UID it is another one.
type controller struct {
	purekube.Key
	uid types.UID
}

func controllerOf(o metav1.Object) (controller, bool) {
	owner := metav1.GetControllerOfNoCopy(o)
	if owner == nil {
		return controller{}, false
	}
	return controller{purekube.Key{Kind: owner.Kind, Namespace: o.GetNamespace(), Name: owner.Name}, owner.UID}, true
}

// bounds of an autoscaler. From 0 replicas, it scales to idle.
type bounds struct{ idle, min, max int32 }

func newFiller(s *Set) *filler {
	set := *s
	set.Deployments, set.ReplicaSets = slices.Clone(s.Deployments), slices.Clone(s.ReplicaSets)
	set.ReplicationControllers, set.StatefulSets = slices.Clone(s.ReplicationControllers), slices.Clone(s.StatefulSets)
	set.DaemonSets, set.Jobs, set.Budgets = slices.Clone(s.DaemonSets), slices.Clone(s.Jobs), slices.Clone(s.Budgets)
	set.CustomWorkloads, set.Notes = slices.Clone(s.CustomWorkloads), slices.Clone(s.Notes)
	set.Pods = slices.DeleteFunc(slices.Clone(s.Pods), func(p *corev1.Pod) bool { return p != nil && isHook(p) })
	set.Seen = map[schema.GroupKind]bool{}
	for kind, seen := range s.Seen {
		set.Seen[kind] = seen
	}
	f := &filler{
		set: &set, active: map[controller][]*corev1.Pod{}, owned: map[controller][]int{},
		taken: map[purekube.Key]bool{}, scales: map[purekube.Key]bounds{},
	}
	for _, n := range s.Nodes {
		if n != nil {
			f.nodes = append(f.nodes, n)
		}
	}
	slices.SortStableFunc(f.nodes, func(a, b *corev1.Node) int { return cmp.Compare(a.Name, b.Name) })
	for _, p := range set.Pods {
		if p == nil {
			continue
		}
		f.taken[key(Pod, p)] = true
		ended := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
		if of, found := controllerOf(p); found && p.DeletionTimestamp == nil && !ended {
			f.active[of] = append(f.active[of], p)
		}
	}
	for i, r := range s.ReplicaSets {
		if r == nil {
			continue
		}
		f.taken[key(ReplicaSet, r)] = true
		if of, found := controllerOf(r); found && r.DeletionTimestamp == nil {
			f.owned[of] = append(f.owned[of], i)
		}
	}
	for _, a := range s.HorizontalPodAutoscalers {
		if a == nil {
			continue
		}
		target := a.Spec.ScaleTargetRef
		of := purekube.Key{Kind: target.Kind, Namespace: a.Namespace, Name: target.Name}
		most := a.Spec.MaxReplicas
		if most <= 0 {
			most = math.MaxInt32 // the API server rejects it
		}
		least := ptr.Deref(a.Spec.MinReplicas, 1)
		if other, several := f.scales[of]; several { // with fewer pods, fewer may go
			least, most = min(least, other.min), min(most, other.max)
		}
		f.scales[of] = bounds{0, least, most}
	}
	// The HorizontalPodAutoscaler of a ScaledObject has the same bounds, and leaves workloads with 0 replicas alone.
	for of, b := range s.scaledReplicas() {
		f.scales[of] = bounds{b.Idle, b.Least, b.Most}
	}
	return f
}

// workload is what the kinds of workloads have in common.
type workload struct {
	apiVersion string
	key        purekube.Key
	uid        types.UID
	template   *corev1.PodTemplateSpec
	// labels are added to the labels of the template.
	labels map[string]string
	// at is the place of an object that Set.Refs does not know.
	at Ref
}

// fail adds an error about a field of the workload.
func (f *filler) fail(w workload, field, format string, args ...any) {
	f.errs = append(f.errs, &purekube.ObjectError{
		Kind: w.key.Kind, Namespace: w.key.Namespace, Name: w.key.Name, Field: field, Err: fmt.Errorf(format, args...),
	})
}

func (w workload) controller() controller { return controller{w.key, w.uid} }

// uidOf is the object's, or one that kind, namespace and name make.
func uidOf(k purekube.Key, o metav1.Object) types.UID {
	if uid := o.GetUID(); uid != "" {
		return uid
	}
	return types.UID(k.String())
}

// selects reports whether the selector matches the pods of the template, and adds an error if not.
func (f *filler) selects(w workload, selector *metav1.LabelSelector) bool {
	s, err := metav1.LabelSelectorAsSelector(selector)
	switch {
	case err != nil:
		f.fail(w, "spec.selector", "%w", err)
	case selector == nil:
		f.fail(w, "spec.selector", "required")
	case s.Empty():
		f.fail(w, "spec.selector", "must not be empty")
	case !s.Matches(labels.Set(w.template.Labels)):
		f.fail(w, "spec.template.metadata.labels", "must match spec.selector")
	default:
		return true
	}
	return false
}

// replicas are the replicas of the workload, within the bounds of its autoscaler.
func (f *filler) replicas(w workload, of *int32) (n int32, ok bool) {
	n = ptr.Deref(of, 1)
	if n < 0 {
		f.fail(w, "spec.replicas", "must be 0 or more, is %d", n)
		return 0, false
	}
	scale, autoscaled := f.scales[w.key]
	switch {
	case !autoscaled:
	case n == 0:
		n = scale.idle // a HorizontalPodAutoscaler leaves the workload alone
	default:
		n = min(scale.max, max(scale.min, n))
	}
	return n, f.room(w, "spec.replicas", int(n))
}

// room reports whether so many pods may still be made, and adds an error if not.
func (f *filler) room(w workload, field string, pods int) bool {
	if f.made+pods > MaxPods {
		f.fail(w, field, "%d pods, and %d of other workloads, are more than %d: none is made", pods, f.made, MaxPods)
		return false
	}
	return true
}

func (f *filler) deployment(d *appsv1.Deployment) *appsv1.Deployment {
	w := workload{apiVersion: "apps/v1", key: key(Deployment, d), template: &d.Spec.Template}
	w.uid = uidOf(w.key, d)
	replicas, ok := f.replicas(w, d.Spec.Replicas)
	if !ok || !f.selects(w, d.Spec.Selector) || d.DeletionTimestamp != nil {
		return d
	}
	d = d.DeepCopy()
	d.UID, d.Spec.Replicas = w.uid, ptr.To(replicas)
	d.Status.ObservedGeneration, d.Status.Replicas = d.Generation, replicas
	d.Status.UpdatedReplicas, d.Status.ReadyReplicas, d.Status.AvailableReplicas = replicas, replicas, replicas
	owned := f.owned[w.controller()]
	for _, i := range owned {
		if ptr.Deref(f.set.ReplicaSets[i].Spec.Replicas, 1) > 0 {
			f.newest(owned, replicas)
			return d
		}
	}
	f.newReplicaSet(d, w, replicas)
	return d
}

// newest gives the newest of the ReplicaSets of a Deployment the replicas that the others leave.
func (f *filler) newest(owned []int, replicas int32) {
	newest, others := -1, int32(0)
	for _, i := range owned {
		r := f.set.ReplicaSets[i]
		others += ptr.Deref(r.Spec.Replicas, 1)
		if newest < 0 || compareAge(f.set.ReplicaSets[newest], r) < 0 {
			newest = i
		}
	}
	r := f.set.ReplicaSets[newest].DeepCopy()
	others -= ptr.Deref(r.Spec.Replicas, 1)
	r.Spec.Replicas = ptr.To(max(0, replicas-others))
	f.set.ReplicaSets[newest] = r
}

func compareAge(a, b *appsv1.ReplicaSet) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}

// newReplicaSet adds the ReplicaSet that the Deployment's template makes.
func (f *filler) newReplicaSet(d *appsv1.Deployment, w workload, replicas int32) {
	hash := templateHash(&d.Spec.Template)
	r := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace}}
	for n := 0; r.Name == "" || f.taken[key(ReplicaSet, r)]; n++ {
		r.Name = d.Name + "-" + hash
		if n > 0 {
			r.Name = fmt.Sprintf("%s-%d", r.Name, n)
		}
	}
	f.taken[key(ReplicaSet, r)] = true
	r.UID = types.UID(key(ReplicaSet, r).String())
	r.OwnerReferences = controlledBy(w)
	r.Spec.Replicas = ptr.To(replicas)
	r.Spec.Selector, r.Spec.Template = d.Spec.Selector.DeepCopy(), *d.Spec.Template.DeepCopy()
	const label = appsv1.DefaultDeploymentUniqueLabelKey
	r.Labels = withLabels(d.Spec.Template.Labels, map[string]string{label: hash})
	r.Spec.Template.Labels = withLabels(d.Spec.Template.Labels, map[string]string{label: hash})
	r.Spec.Selector.MatchLabels = withLabels(r.Spec.Selector.MatchLabels, map[string]string{label: hash})
	f.set.ReplicaSets = append(f.set.ReplicaSets, r)
}

func (f *filler) replicaSet(r *appsv1.ReplicaSet) *appsv1.ReplicaSet {
	w := workload{apiVersion: "apps/v1", key: key(ReplicaSet, r), template: &r.Spec.Template}
	w.uid = uidOf(w.key, r)
	replicas, ok := f.replicas(w, r.Spec.Replicas)
	if !ok || replicas > 0 && !f.selects(w, r.Spec.Selector) || r.DeletionTimestamp != nil {
		return r
	}
	f.fill(w, int(replicas))
	r = r.DeepCopy()
	r.UID, r.Spec.Replicas = w.uid, ptr.To(replicas)
	r.Status.ObservedGeneration, r.Status.Replicas, r.Status.FullyLabeledReplicas = r.Generation, replicas, replicas
	r.Status.ReadyReplicas, r.Status.AvailableReplicas = replicas, replicas
	return r
}

func (f *filler) replicationController(r *corev1.ReplicationController) *corev1.ReplicationController {
	w := workload{apiVersion: "v1", key: key(ReplicationController, r), template: r.Spec.Template}
	w.uid = uidOf(w.key, r)
	replicas, ok := f.replicas(w, r.Spec.Replicas)
	switch {
	case !ok || r.DeletionTimestamp != nil:
		return r
	case w.template == nil:
		f.fail(w, "spec.template", "required")
		return r
	case len(r.Spec.Selector) > 0 && !labels.SelectorFromSet(r.Spec.Selector).Matches(labels.Set(w.template.Labels)):
		f.fail(w, "spec.template.metadata.labels", "must match spec.selector")
		return r
	}
	f.fill(w, int(replicas))
	r = r.DeepCopy()
	r.UID, r.Spec.Replicas = w.uid, ptr.To(replicas)
	r.Status.ObservedGeneration, r.Status.Replicas, r.Status.FullyLabeledReplicas = r.Generation, replicas, replicas
	r.Status.ReadyReplicas, r.Status.AvailableReplicas = replicas, replicas
	return r
}

func (f *filler) statefulSet(x *appsv1.StatefulSet) *appsv1.StatefulSet {
	w := workload{apiVersion: "apps/v1", key: key(StatefulSet, x), template: &x.Spec.Template}
	w.uid = uidOf(w.key, x)
	replicas, ok := f.replicas(w, x.Spec.Replicas)
	if !ok || !f.selects(w, x.Spec.Selector) || x.DeletionTimestamp != nil {
		return x
	}
	x = x.DeepCopy()
	x.UID, x.Spec.Replicas = w.uid, ptr.To(replicas)
	x.Status.ObservedGeneration, x.Status.Replicas, x.Status.ReadyReplicas = x.Generation, replicas, replicas
	x.Status.CurrentReplicas, x.Status.UpdatedReplicas, x.Status.AvailableReplicas = replicas, replicas, replicas
	start := int32(0)
	if x.Spec.Ordinals != nil {
		start = x.Spec.Ordinals.Start
	}
	if replicas == 0 {
		return x
	}
	nodes, ok := f.nodesFor(w)
	if !ok {
		return x
	}
	for i := range replicas {
		ordinal := fmt.Sprint(int64(start) + int64(i))
		p := f.pod(w, x.Name+"-"+ordinal)
		if f.taken[key(Pod, p)] {
			continue
		}
		p.Labels = withLabels(p.Labels, map[string]string{
			appsv1.StatefulSetPodNameLabel: p.Name, appsv1.PodIndexLabel: ordinal,
		})
		f.place(p, nodes)
	}
	return x
}

func (f *filler) daemonSet(d *appsv1.DaemonSet) *appsv1.DaemonSet {
	w := workload{apiVersion: "apps/v1", key: key(DaemonSet, d), template: &d.Spec.Template}
	w.uid = uidOf(w.key, d)
	if !f.selects(w, d.Spec.Selector) || d.DeletionTimestamp != nil || !f.room(w, "spec.template", len(f.nodes)) {
		return d
	}
	w = f.uncount(w)
	there := map[string]bool{}
	for _, p := range f.active[w.controller()] {
		there[p.Spec.NodeName] = true
	}
	running := int32(0)
	for _, n := range f.nodes {
		switch {
		case !daemonFits(&d.Spec.Template.Spec, n, f.set.added[n.Name]):
			continue
		case !there[n.Name]:
			f.place(f.pod(w, f.free(w, d.Name+"-"+n.Name, new(int))), []*corev1.Node{n})
		}
		running++
	}
	d = d.DeepCopy()
	d.UID = w.uid
	d.Status = appsv1.DaemonSetStatus{
		ObservedGeneration: d.Generation, CurrentNumberScheduled: running, DesiredNumberScheduled: running,
		NumberReady: running, NumberAvailable: running, UpdatedNumberScheduled: running,
	}
	return d
}

func (f *filler) job(j *batchv1.Job) *batchv1.Job {
	w := workload{apiVersion: "batch/v1", key: key(Job, j), template: &j.Spec.Template}
	w.uid = uidOf(w.key, j)
	w.labels = map[string]string{
		batchv1.JobNameLabel: j.Name, batchv1.ControllerUidLabel: string(w.uid), "job-name": j.Name,
		"controller-uid": string(w.uid),
	}
	parallel, done := ptr.Deref(j.Spec.Parallelism, 1), ptr.Deref(j.Spec.Suspend, false) || j.DeletionTimestamp != nil
	for _, c := range j.Status.Conditions {
		done = done || (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
	}
	if j.Spec.Completions != nil {
		parallel = min(parallel, *j.Spec.Completions-j.Status.Succeeded)
	}
	if done || parallel <= 0 || !f.room(w, "spec.parallelism", int(parallel)) {
		return j
	}
	f.fill(f.uncount(w), int(parallel))
	j = j.DeepCopy()
	j.UID = w.uid
	j.Status.Active, j.Status.Ready = parallel, ptr.To(parallel)
	return j
}
