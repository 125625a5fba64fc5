package lint

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/manifests"
)

// health is the set with the pods that its workloads have when all is well. Pods that no budget can tell apart, the
// replicas of one workload, are one pod of the Index: what a budget demands is compared with the scales of workloads.
// That keeps the cost at workloads × budgets, whatever the number of replicas is.
type health struct {
	index *disruption.Index
	// lasting has no pods of Jobs, CronJobs and DaemonSets. They come and go, or a drain leaves them where they are, so a
	// budget is no better for having them.
	lasting *disruption.Index
	// pods are the pods of the Index, sorted, and count says how many pods each of them is.
	pods  []*corev1.Pod
	count map[purekube.Key]int
	// leftOut are the pods that count for no budget: pods that have ended, that are being deleted, or that a Helm hook
	// makes. A hook that an API server returned is there for a moment only, so it makes no budget better either.
	leftOut []*corev1.Pod
	// workloadOf is what makes a pod: a Deployment, not its ReplicaSet.
	workloadOf map[purekube.Key]purekube.Key
	// beyond is how many more pods of a workload an autoscaler may make than maxReplicas.
	beyond map[purekube.Key]int32
	// unknown are the workloads whose scale is unknown. The Index has one pod of each.
	unknown map[purekube.Key]bool
}

// maxReplicas bounds the pods that are made for an autoscaler's maximum; beyond has the others. So many are enough to
// judge a percentage: each one below 100% of them leaves a pod. All maxima together may be far more than
// manifests.MaxPods.
const maxReplicas = 100

// fullHealth is the set with as many pods as autoscalers want at least, and at most.
func (l *linter) fullHealth() (least, most health) {
	bounds := l.autoscaled()
	least = l.healthAt(bounds, func(b replicas) int32 { return b.least })
	if len(bounds) == 0 {
		return least, least
	}
	most = l.healthAt(bounds, func(b replicas) int32 { return max(b.least, min(b.most, maxReplicas)) })
	most.beyond = map[purekube.Key]int32{}
	for of, b := range bounds {
		most.beyond[of] = max(0, b.most-max(b.least, maxReplicas))
	}
	return least, most
}

// replicas are the bounds of an autoscaler, and fromZero says whether it also scales a workload with 0 replicas.
type replicas struct {
	least, most int32
	fromZero    bool
}

// wider are bounds within which both are.
func (r replicas) wider(other replicas) replicas {
	return replicas{min(r.least, other.least), max(r.most, other.most), r.fromZero || other.fromZero}
}

// autoscaled are the bounds of the workloads that have an autoscaler: the widest, where they have several.
func (l *linter) autoscaled() map[purekube.Key]replicas {
	all := map[purekube.Key]replicas{}
	add := func(namespace string, target autoscalingv2.CrossVersionObjectReference, b replicas) {
		of := purekube.Key{Kind: target.Kind, Namespace: namespace, Name: target.Name}
		if other, found := all[of]; found {
			b = b.wider(other)
		}
		all[of] = b
	}
	for _, a := range l.set.HorizontalPodAutoscalers {
		if a == nil {
			continue
		}
		// With minReplicas 0 nothing runs when nothing is to do. Then no pod is in the way; with one there may be.
		least := max(1, ptr.Deref(a.Spec.MinReplicas, 1))
		add(a.Namespace, a.Spec.ScaleTargetRef,
			replicas{least: least, most: max(least, a.Spec.MaxReplicas)})
	}
	for _, o := range l.set.ScaledObjects {
		if o == nil {
			continue
		}
		// One that is paused at 0 replicas keeps no pod. The workload is judged as it is without KEDA.
		if b, scales := o.Replicas(); scales && b.Most > 0 {
			add(o.Namespace, o.Target, replicas{b.Least, max(b.Least, b.Most), true})
		}
	}
	return all
}

// healthAt makes the pods at these scales, with one pod of each workload whose pods nodes or time call for.
func (l *linter) healthAt(bounds map[purekube.Key]replicas, scale func(replicas) int32) health {
	set := *l.set
	set.Nodes, set.HorizontalPodAutoscalers, set.ScaledObjects = nil, nil, nil // where the pods run does not matter
	at := func(of purekube.Key, now *int32) *int32 {
		b, found := bounds[of]
		// A HorizontalPodAutoscaler leaves a workload with 0 replicas alone.
		if !found || ptr.Deref(now, 1) == 0 && !b.fromZero {
			return now
		}
		return ptr.To(scale(b))
	}
	rescaled := func(o manifests.Object, now *int32) *int32 { return at(manifests.KeyOf(o), now) }
	set.Deployments = replaced(set.Deployments, func(d *appsv1.Deployment) {
		d.Spec.Replicas = rescaled(d, d.Spec.Replicas)
	})
	set.ReplicaSets = replaced(set.ReplicaSets, func(r *appsv1.ReplicaSet) {
		r.Spec.Replicas = rescaled(r, r.Spec.Replicas)
	})
	set.StatefulSets = replaced(set.StatefulSets, func(s *appsv1.StatefulSet) {
		s.Spec.Replicas = rescaled(s, s.Spec.Replicas)
	})
	set.ReplicationControllers = replaced(set.ReplicationControllers, func(r *corev1.ReplicationController) {
		r.Spec.Replicas = rescaled(r, r.Spec.Replicas)
	})
	set.CustomWorkloads = slices.Clone(set.CustomWorkloads)
	for i, w := range set.CustomWorkloads {
		if w != nil {
			scaled := *w
			scaled.Replicas = at(keyOf(w), w.Replicas)
			if scaled.Replicas == nil {
				scaled.Template = nil // to make no pods of it is no error here
			}
			set.CustomWorkloads[i] = &scaled
		}
	}
	full, err := set.AtFullHealth()
	l.workloads(err)
	h := health{
		count: map[purekube.Key]int{}, workloadOf: map[purekube.Key]purekube.Key{}, unknown: map[purekube.Key]bool{},
	}
	made := map[purekube.Key]bool{}
	for _, p := range full.Pods {
		if p != nil {
			made[owner(p)] = true
		}
	}
	for s := range sources(l.set) {
		if s.replicas == nil && s.key.Kind != manifests.Pod.Kind && !made[s.key] {
			full.Pods = append(full.Pods, s.pod())
		}
	}
	for i, w := range l.set.CustomWorkloads {
		if w == nil || w.Template == nil || set.CustomWorkloads[i].Template != nil || manifests.IsHelmHook(w.Annotations) {
			continue
		}
		if of := keyOf(w); !made[of] && !h.unknown[of] {
			full.Pods = append(full.Pods, podOf(w))
			h.unknown[of] = true
		}
	}
	// A selector that is not valid is a finding, and selects no pod.
	full.Budgets = slices.DeleteFunc(slices.Clone(full.Budgets), func(b *policyv1.PodDisruptionBudget) bool {
		if b == nil {
			return true
		}
		_, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		return err != nil
	})
	h.represent(full, l.set)
	full.Pods = h.pods
	h.index = disruption.NewIndex(full.Disruption(time.Time{}), disruption.Options{})
	others := slices.DeleteFunc(slices.Clone(h.pods), func(p *corev1.Pod) bool { return !comesAndGoes(p) })
	if h.lasting = h.index; len(others) > 0 {
		h.lasting, _ = h.index.Without(disruption.Snapshot{Pods: others})
	}
	return h
}

// represent puts one pod into h.pods for all pods of a workload that no budget can tell apart: they have the same
// values of the labels that selectors of budgets name. A pod without a controller is a pod of its own.
func (h *health) represent(full, input *manifests.Set) {
	hooks, deployment := map[purekube.Key]bool{}, map[purekube.Key]purekube.Key{}
	for _, o := range input.Objects() {
		// a nil object has no key
		if key := manifests.KeyOf(o); key != (purekube.Key{}) && manifests.IsHelmHook(o.GetAnnotations()) {
			hooks[key] = true
		}
	}
	// A pod that is a hook is not there at full health, and yet a budget selects it.
	for _, p := range input.Pods {
		if p != nil && manifests.IsHelmHook(p.Annotations) {
			h.leftOut = append(h.leftOut, p)
		}
	}
	for _, r := range full.ReplicaSets {
		if r != nil {
			deployment[manifests.KeyOf(r)] = owner(r)
		}
	}
	asked := labelsOf(full.Budgets)
	representative := map[string]purekube.Key{}
	sorted := slices.DeleteFunc(slices.Clone(full.Pods), func(p *corev1.Pod) bool { return p == nil })
	slices.SortStableFunc(sorted, func(a, b *corev1.Pod) int { return disruption.KeyOf(a).Compare(disruption.KeyOf(b)) })
	for _, p := range sorted {
		key, of := disruption.KeyOf(p), owner(p)
		if above := deployment[of]; above != (purekube.Key{}) {
			of = above
		}
		h.workloadOf[key] = of
		if manifests.IsHelmHook(p.Annotations) {
			continue
		}
		ended := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
		if ended || p.DeletionTimestamp != nil || hooks[of] {
			h.leftOut = append(h.leftOut, p)
			continue
		}
		alike := key.String()
		if controller := metav1.GetControllerOfNoCopy(p); controller != nil {
			alike = fmt.Sprintf("%q %q %q", p.Namespace,
				[]string{controller.APIVersion, controller.Kind, controller.Name, string(controller.UID)}, asked.of(p))
		}
		if first, found := representative[alike]; found {
			h.count[first]++
			continue
		}
		representative[alike] = key
		h.count[key]++
		h.pods = append(h.pods, p)
	}
}

// askedLabels are the labels that selectors of budgets name, by namespace.
type askedLabels map[types.NamespacedName]bool

func labelsOf(budgets []*policyv1.PodDisruptionBudget) askedLabels {
	asked := askedLabels{}
	for _, b := range budgets {
		if b == nil || b.Spec.Selector == nil {
			continue
		}
		for label := range b.Spec.Selector.MatchLabels {
			asked[types.NamespacedName{Namespace: b.Namespace, Name: label}] = true
		}
		for _, e := range b.Spec.Selector.MatchExpressions {
			asked[types.NamespacedName{Namespace: b.Namespace, Name: e.Key}] = true
		}
	}
	return asked
}

// of are the labels of the pod that selectors name, with their values.
func (a askedLabels) of(p *corev1.Pod) []string {
	var found []string
	for _, label := range slices.Sorted(maps.Keys(p.Labels)) {
		if a[types.NamespacedName{Namespace: p.Namespace, Name: label}] {
			found = append(found, label, p.Labels[label])
		}
	}
	return found
}

// comesAndGoes reports whether the number of such pods depends on nodes or on time.
func comesAndGoes(p *corev1.Pod) bool {
	switch owner(p).Kind {
	case manifests.Job.Kind, manifests.CronJob.Kind, manifests.DaemonSet.Kind, manifests.Node.Kind:
		return true
	}
	return false
}

// explain returns the explanation of a budget. It is nil for a name that two budgets have.
func (h health) explain(key purekube.Key) *disruption.BudgetExplanation {
	e, _ := h.index.Explain(key) // what is wrong with the objects is a finding, or an error of the input
	if e.Budget == nil || e.Budget.Failure == purekube.ErrDuplicate.Error() {
		return nil
	}
	if !e.Budget.Never && h.lasting != h.index {
		if lasting, _ := h.lasting.Explain(key); lasting.Budget != nil && lasting.Budget.Never {
			return lasting.Budget
		}
	}
	return e.Budget
}

// replaced is the list with copies of its objects, changed.
func replaced[T any, P interface {
	*T
	manifests.Object
}](list []P, change func(P)) []P {
	all := make([]P, len(list))
	for i, o := range list {
		if o == nil {
			continue
		}
		shallow := *o
		all[i] = &shallow
		change(all[i])
	}
	return all
}

// owner is the controller of the object. It is the zero key for an object without one.
func owner(o metav1.Object) purekube.Key {
	of := metav1.GetControllerOfNoCopy(o)
	if of == nil {
		return purekube.Key{}
	}
	return purekube.Key{Kind: of.Kind, Namespace: o.GetNamespace(), Name: of.Name}
}

// workloads notes the workloads whose pods could not be made.
func (l *linter) workloads(err error) {
	for _, e := range flattened(err) {
		var wrong *purekube.ObjectError
		if !errors.As(e, &wrong) {
			continue
		}
		if l.broken == nil {
			l.broken = map[string]bool{}
		}
		l.broken[wrong.Namespace] = true
		l.find(WorkloadInvalid, purekube.Key{Kind: wrong.Kind, Namespace: wrong.Namespace, Name: wrong.Name}, wrong.Field,
			oneLine(wrong.Err)+": it has no pods, and budgets that select them are not judged by them")
	}
}

func flattened(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// podOf is a pod of the template of a custom workload, as budgets see it.
func podOf(w *manifests.CustomWorkload) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: w.Namespace, Name: w.Name + "-of-" + w.Kind, Labels: w.Template.Labels,
		OwnerReferences: []metav1.OwnerReference{
			{APIVersion: w.APIVersion, Kind: w.Kind, Name: w.Name, UID: w.UID, Controller: ptr.To(true)},
		},
	}}
}

func keyOf(w *manifests.CustomWorkload) purekube.Key {
	return purekube.Key{Kind: w.Kind, Namespace: w.Namespace, Name: w.Name}
}

// selected are the budgets that select pods of a workload with 0 replicas, pods of a workload whose replicas are not
// known, as an object of a kind that no package knows may have none, or pods that count for no budget.
func (l *linter) selected(h health, input *disruption.Index) map[purekube.Key]bool {
	selected := map[purekube.Key]bool{}
	selects := func(p *corev1.Pod) {
		budgets, _ := input.BudgetsFor(p)
		for _, b := range budgets {
			selected[disruption.KeyOf(b)] = true
		}
	}
	for s := range sources(l.set) {
		if s.replicas != nil && *s.replicas == 0 {
			selects(s.pod())
		}
	}
	for _, w := range l.set.CustomWorkloads {
		if w != nil && w.Template != nil {
			selects(podOf(w))
		}
	}
	for _, p := range h.leftOut {
		selects(p)
	}
	return selected
}
