package model

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
)

var (
	pods         = corev1.SchemeGroupVersion.WithResource("pods")
	budgets      = policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets")
	deployments  = appsv1.SchemeGroupVersion.WithResource("deployments")
	replicaSets  = appsv1.SchemeGroupVersion.WithResource("replicasets")
	statefulSets = appsv1.SchemeGroupVersion.WithResource("statefulsets")
)

// budgetController is the package as a controller.
func budgetController(o disruption.Options) Controller {
	snapshot := func(v *View) disruption.Snapshot {
		return disruption.Snapshot{Now: v.Now, Budgets: All[*policyv1.PodDisruptionBudget](v), Pods: All[*corev1.Pod](v),
			Deployments: All[*appsv1.Deployment](v), ReplicaSets: All[*appsv1.ReplicaSet](v), StatefulSets: All[*appsv1.StatefulSet](v)}
	}
	return Controller{
		Keys: func(v *View) []string {
			var keys []string
			for _, b := range All[*policyv1.PodDisruptionBudget](v) {
				keys = append(keys, disruption.KeyOf(b).String())
			}
			for _, p := range All[*corev1.Pod](v) {
				keys = append(keys, disruption.KeyOf(p).String())
			}
			return keys
		},
		Plan: func(v *View, key string, live *View) Decision {
			k, err := purekube.ParseKey(key)
			if err != nil {
				panic(err)
			}
			s := snapshot(v)
			r, err := disruption.Plan(s, k, o)
			for rounds := 0; live != nil && len(r.Needs) > 0 && rounds < 5; rounds++ {
				s.Answers = maps.Clone(s.Answers)
				for _, n := range r.Needs {
					if s.Answers == nil {
						s.Answers = map[purekube.Need]purekube.Answer{}
					}
					s.Answers[n] = answerOf(live, n)
				}
				r, err = disruption.Plan(s, k, o)
			}
			return Decision{Actions(r.Actions), r.Needs, r.RecheckAt, err}
		},
		Affected: func(v *View, oldObj, newObj Object) []string {
			x := disruption.NewIndex(snapshot(v), o)
			if newObj != nil { // the view may be from after the event
				x, _ = x.Without(budgetObject(newObj))
			}
			if oldObj != nil {
				x, _ = x.With(budgetObject(oldObj))
			}
			keys := changeIndex[disruption.Snapshot, disruption.Action](&x, budgetObject, oldObj, newObj)
			return texts(keys)
		},
	}
}

// changeIndex puts a change of an object into an Index, and returns the keys that it affects.
func changeIndex[S any, A purekube.Action, X purekube.Index[X, S, A]](x *X, snapshot func(Object) S, oldObj, newObj Object) (keys []purekube.Key) {
	if newObj == nil {
		*x, keys = (*x).Without(snapshot(oldObj))
	} else {
		*x, keys = (*x).With(snapshot(newObj))
	}
	return keys
}

// texts are the keys as the model has them.
func texts[K fmt.Stringer](keys []K) (out []string) {
	for _, k := range keys {
		out = append(out, k.String())
	}
	return out
}

// budgetObject is the snapshot of one object.
func budgetObject(o Object) (s disruption.Snapshot) {
	switch o := o.(type) {
	case *policyv1.PodDisruptionBudget:
		s.Budgets = append(s.Budgets, o)
	case *corev1.Pod:
		s.Pods = append(s.Pods, o)
	case *appsv1.Deployment:
		s.Deployments = append(s.Deployments, o)
	case *appsv1.ReplicaSet:
		s.ReplicaSets = append(s.ReplicaSets, o)
	case *appsv1.StatefulSet:
		s.StatefulSets = append(s.StatefulSets, o)
	}
	return s
}

// answerOf is what the API server answers to a lookup.
func answerOf(live *View, n purekube.Need) purekube.Answer {
	scale := func(o metav1.Object, replicas *int32) purekube.Answer {
		return purekube.Answer{Object: &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{UID: o.GetUID()}, Spec: autoscalingv1.ScaleSpec{Replicas: *replicas}}}
	}
	switch n.Kind {
	case "Deployment":
		if d := Get[*appsv1.Deployment](live, "ns", n.Name); d != nil {
			return scale(d, d.Spec.Replicas)
		}
	case "ReplicaSet":
		if rs := Get[*appsv1.ReplicaSet](live, "ns", n.Name); rs != nil && n.Subresource == "" {
			return purekube.Answer{Object: rs}
		} else if rs != nil {
			return scale(rs, rs.Spec.Replicas)
		}
	case "StatefulSet":
		if ss := Get[*appsv1.StatefulSet](live, "ns", n.Name); ss != nil {
			return scale(ss, ss.Spec.Replicas)
		}
	}
	return purekube.Answer{}
}

// budgetWorld is a StatefulSet db of two under a budget of maxUnavailable 1, and a Deployment web of one
// under a budget of minAvailable 50 %.
func budgetWorld(o disruption.Options) World {
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: UID(1)}, Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](1)}}
	replicaSet := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web-rs", UID: UID(2), OwnerReferences: controlledBy("Deployment", "web", 1)},
		Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To[int32](1)}}
	statefulSet := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "db", UID: UID(3)}, Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](2)}}
	db := newBudget("db", 4)
	db.Spec.MaxUnavailable = ptr.To(intstr.FromInt32(1))
	web := newBudget("web", 5)
	web.Spec.MinAvailable = ptr.To(intstr.FromString("50%"))
	return World{
		Name:    "PodDisruptionBudgets",
		Kinds:   []schema.GroupVersionResource{pods, budgets, deployments, replicaSets, statefulSets},
		Lag:     2,
		Current: []schema.GroupVersionResource{deployments, replicaSets, statefulSets},
		Until:   250 * time.Second,
		Objects: []Object{
			deployment, replicaSet, statefulSet, db, web,
			ready(newWorkloadPod("db-0", 6, "db", controlledBy("StatefulSet", "db", 3))),
			ready(newWorkloadPod("db-1", 7, "db", controlledBy("StatefulSet", "db", 3))),
			ready(newWorkloadPod("web-00008", 8, "web", controlledBy("ReplicaSet", "web-rs", 2))),
		},
		Events: []Event{
			{Name: "eviction", Do: evict},
			{Name: "eviction of a pod that is not ready", Do: evictNotReady},
			{Name: "eviction, second half", Settles: true, Do: deleteEvicted},
			{Name: "the API server dies in the middle of an eviction", Max: 1, Do: abandonEviction},
			{Name: "terminated", Settles: true, Do: terminate},
			{Name: "replaced", Settles: true, Do: replacePods},
			{Name: "ready", Settles: true, Do: becomeReady},
			{Name: "scaled", Max: 1, Do: func(v *View, do func(string, ...Change)) {
				d, rs := Get[*appsv1.Deployment](v, "ns", "web").DeepCopy(), Get[*appsv1.ReplicaSet](v, "ns", "web-rs").DeepCopy()
				d.Spec.Replicas, rs.Spec.Replicas = ptr.To[int32](2), ptr.To[int32](2)
				do("the user scales Deployment web to 2", Put(d), Put(rs))
			}},
			{Name: "budget changed", Max: 1, Do: func(v *View, do func(string, ...Change)) {
				b := Get[*policyv1.PodDisruptionBudget](v, "ns", "db").DeepCopy()
				b.Spec.MaxUnavailable = ptr.To(intstr.FromInt32(0))
				b.Generation++
				do("the user sets maxUnavailable of db to 0", Put(b))
			}},
			{Name: "preempted", Max: 1, Do: func(v *View, do func(string, ...Change)) {
				if p := Get[*corev1.Pod](v, "ns", "db-1"); p != nil && p.DeletionTimestamp == nil && condition(p, corev1.DisruptionTarget) == nil {
					p = p.DeepCopy()
					p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
						Reason: corev1.PodReasonPreemptionByScheduler, LastTransitionTime: metav1.NewTime(v.Now)})
					do("the scheduler is about to preempt db-1, and dies", Put(p))
				}
			}},
		},
		Controller: budgetController(o),
		Faults:     Faults{Refuse: true, LoseAnswer: true, Crash: true},
		Promises: []Promise{
			{"never more pods gone than the budget allows", evictionsLeaveEnough},
			{"nothing the user did is undone", workloadsKeepWhatIsTheirs},
		},
		Ghost:    rememberEvictions,
		Rest:     budgetsAreExact,
		Describe: describeWorkload,
	}
}

// workloadsKeepWhatIsTheirs: the controller writes nothing but the status of budgets and a pod's conditions.
func workloadsKeepWhatIsTheirs(s *Step) string {
	if s.Request == nil {
		return ""
	}
	return cmp.Or(
		writtenBeyond(s, "PodDisruptionBudget", "its status", func(b *policyv1.PodDisruptionBudget) { b.Status = policyv1.PodDisruptionBudgetStatus{} }),
		writtenBeyond(s, "pod", "its conditions", func(p *corev1.Pod) { p.Status.Conditions = nil }),
		writtenBeyond(s, "Deployment", "what its users write", func(*appsv1.Deployment) {}),
		writtenBeyond(s, "ReplicaSet", "what its users write", func(*appsv1.ReplicaSet) {}),
		writtenBeyond(s, "StatefulSet", "what its users write", func(*appsv1.StatefulSet) {}))
}

func controlledBy(kind, name string, numberOf int) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: name, UID: UID(numberOf), Controller: ptr.To(true)}}
}

func newBudget(name string, numberOf int) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: UID(numberOf), Generation: 1},
		Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}}}
}

func newWorkloadPod(name string, numberOf int, app string, owner []metav1.OwnerReference) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: UID(numberOf), Labels: map[string]string{"app": app},
		OwnerReferences: owner, CreationTimestamp: metav1.NewTime(Start)}, Spec: corev1.PodSpec{NodeName: "node"}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
}

func ready(p *corev1.Pod) *corev1.Pod {
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue})
	return p
}

func condition(p *corev1.Pod, t corev1.PodConditionType) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == t {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}

func isReady(p *corev1.Pod) bool {
	c := condition(p, corev1.PodReady)
	return c != nil && c.Status == corev1.ConditionTrue
}

// evict is the first half of the API server's eviction handler, written from its description: it counts the
// eviction in the status of the budget. Each pod here has one budget.
func evict(v *View, do func(string, ...Change)) {
	for _, p := range All[*corev1.Pod](v) {
		if p.DeletionTimestamp != nil || p.Labels["app"] == "" {
			continue
		}
		b := Get[*policyv1.PodDisruptionBudget](v, "ns", p.Labels["app"])
		st := b.Status
		if uncounted(p, b) || st.ObservedGeneration < b.Generation || st.DisruptionsAllowed <= 0 {
			continue
		}
		b = b.DeepCopy()
		b.Status.DisruptionsAllowed--
		if b.Status.DisruptedPods == nil {
			b.Status.DisruptedPods = map[string]metav1.Time{}
		}
		b.Status.DisruptedPods[p.Name] = metav1.NewTime(v.Now)
		do("an eviction of "+p.Name+" is granted", Put(b))
	}
}

// uncounted: a pod that is not ready may go while the healthy ones suffice.
func uncounted(p *corev1.Pod, b *policyv1.PodDisruptionBudget) bool {
	return !isReady(p) && b.Status.CurrentHealthy >= b.Status.DesiredHealthy && b.Status.DesiredHealthy > 0
}

func evictNotReady(v *View, do func(string, ...Change)) {
	for _, p := range All[*corev1.Pod](v) {
		b := Get[*policyv1.PodDisruptionBudget](v, "ns", p.Labels["app"])
		if b != nil && p.DeletionTimestamp == nil && uncounted(p, b) {
			do(fmt.Sprintf("%s is evicted; it is not ready and budget %s does not count it", p.Name, b.Name), deletePod(v, p))
		}
	}
}

// rememberEvictions: those that were granted and not carried out are remembered as "name/uid@seconds".
func rememberEvictions(s *Step) string {
	now := int(s.After.Now.Sub(Start) / time.Second)
	var kept []string
	for _, e := range strings.Fields(s.Ghost) {
		p, at := evicted(s.After, e)
		// An API server does not take that long between the two, and a cache is not older than the rest of two minutes.
		if p != nil && p.DeletionTimestamp == nil && now-at < 100 {
			kept = append(kept, e)
		}
	}
	if s.Event == "the API server dies in the middle of an eviction" {
		kept = nil
	}
	if s.Event == "eviction" {
		for _, after := range All[*policyv1.PodDisruptionBudget](s.After) {
			before := Get[*policyv1.PodDisruptionBudget](s.Before, "ns", after.Name)
			for name, at := range after.Status.DisruptedPods {
				if old, there := before.Status.DisruptedPods[name]; !there || !old.Equal(&at) {
					// A second eviction of a pod takes no other one.
					kept = slices.DeleteFunc(kept, func(e string) bool { return strings.HasPrefix(e, name+"/") })
					kept = append(kept, fmt.Sprintf("%s/%s@%d", name, Get[*corev1.Pod](s.After, "ns", name).UID, now))
				}
			}
		}
	}
	slices.Sort(kept)
	return strings.Join(slices.Compact(kept), " ")
}

// evicted is the pod of a remembered eviction, nil if it is gone.
func evicted(v *View, e string) (p *corev1.Pod, at int) {
	name, rest, _ := strings.Cut(e, "/")
	uid, seconds, _ := strings.Cut(rest, "@")
	if p = Get[*corev1.Pod](v, "ns", name); p != nil && string(p.UID) != uid {
		p = nil
	}
	_, err := fmt.Sscan(seconds, &at)
	if err != nil {
		panic(err)
	}
	return p, at
}

// deleteEvicted is the second half of the eviction handler.
func deleteEvicted(v *View, do func(string, ...Change)) {
	for _, e := range strings.Fields(v.Ghost) {
		if p, _ := evicted(v, e); p != nil && p.DeletionTimestamp == nil {
			do("the API server deletes the evicted "+p.Name, deletePod(v, p))
		}
	}
}

// abandonEviction changes nothing but what is remembered.
func abandonEviction(v *View, do func(string, ...Change)) {
	if v.Ghost != "" {
		do("the API server dies before it deletes the evicted pod")
	}
}

func deletePod(v *View, p *corev1.Pod) Change {
	p = p.DeepCopy()
	p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &metav1.Time{Time: v.Now}, ptr.To[int64](30)
	return Put(p)
}

func terminate(v *View, do func(string, ...Change)) {
	for _, p := range All[*corev1.Pod](v) {
		if p.DeletionTimestamp != nil {
			do("pod "+p.Name+" has terminated", Remove(p))
		}
	}
}

// replacePods is what the StatefulSet and ReplicaSet controllers do.
func replacePods(v *View, do func(string, ...Change)) {
	for _, s := range All[*appsv1.StatefulSet](v) {
		for i := range *s.Spec.Replicas {
			name := fmt.Sprintf("%s-%d", s.Name, i)
			if Get[*corev1.Pod](v, "ns", name) == nil {
				p := newWorkloadPod(name, v.Fresh, s.Name, controlledBy("StatefulSet", s.Name, uidNumber(s.UID)))
				p.CreationTimestamp = metav1.NewTime(v.Now)
				do("the StatefulSet makes "+name+" again", Put(p))
			}
		}
	}
	for _, rs := range All[*appsv1.ReplicaSet](v) {
		app := strings.TrimSuffix(rs.Name, "-rs")
		n := 0
		for _, p := range All[*corev1.Pod](v) {
			if p.Labels["app"] == app && p.DeletionTimestamp == nil {
				n++
			}
		}
		if n < int(*rs.Spec.Replicas) {
			p := newWorkloadPod(fmt.Sprintf("%s-%05d", app, v.Fresh), v.Fresh, app, controlledBy("ReplicaSet", rs.Name, uidNumber(rs.UID)))
			p.CreationTimestamp = metav1.NewTime(v.Now)
			do("the ReplicaSet makes "+p.Name, Put(p))
		}
	}
}

func becomeReady(v *View, do func(string, ...Change)) {
	for _, p := range All[*corev1.Pod](v) {
		if p.DeletionTimestamp == nil && p.Labels["app"] != "" && !isReady(p) {
			do(p.Name+" is ready", Put(ready(p.DeepCopy())))
		}
	}
}

// workload is what a budget covers, counted by hand.
type workload struct{ expected, desired, healthy int }

func workloadOf(v *View, b *policyv1.PodDisruptionBudget) workload {
	var w workload
	if s := Get[*appsv1.StatefulSet](v, "ns", b.Name); s != nil {
		w.expected = int(*s.Spec.Replicas)
	} else {
		w.expected = int(*Get[*appsv1.Deployment](v, "ns", b.Name).Spec.Replicas)
	}
	if b.Spec.MaxUnavailable != nil {
		w.desired = w.expected - b.Spec.MaxUnavailable.IntValue()
	} else { // of 50 %
		w.desired = (w.expected + 1) / 2
	}
	for _, p := range All[*corev1.Pod](v) {
		if p.Labels["app"] == b.Name && p.DeletionTimestamp == nil && isReady(p) {
			w.healthy++
		}
	}
	return w
}

// evictionsLeaveEnough: after an eviction is granted there are as many healthy pods as the budget
// wants, those not counted whose eviction is under way. In this world pods go by evictions only.
func evictionsLeaveEnough(s *Step) string {
	if s.Event != "eviction" {
		return ""
	}
	for _, b := range All[*policyv1.PodDisruptionBudget](s.After) {
		if Get[*policyv1.PodDisruptionBudget](s.Before, "ns", b.Name).ResourceVersion == b.ResourceVersion {
			continue
		}
		w := workloadOf(s.After, b)
		for _, e := range strings.Fields(s.Ghost) {
			if p, _ := evicted(s.After, e); p != nil && p.Labels["app"] == b.Name && isReady(p) && p.DeletionTimestamp == nil {
				w.healthy--
			}
		}
		if w.healthy < w.desired {
			return fmt.Sprintf("budget %s wants %d healthy pods, and %d are left", b.Name, w.desired, w.healthy)
		}
	}
	return ""
}

func budgetsAreExact(v *View) string {
	for _, b := range All[*policyv1.PodDisruptionBudget](v) {
		w := workloadOf(v, b)
		allowed := max(0, w.healthy-w.desired)
		st := b.Status
		if int(st.ExpectedPods) != w.expected || int(st.DesiredHealthy) != w.desired || int(st.CurrentHealthy) != w.healthy || int(st.DisruptionsAllowed) != allowed || len(st.DisruptedPods) > 0 {
			return fmt.Sprintf("at rest, a budget's status is what its pods say: %s, counted by hand %+v, %d allowed", describeWorkload(b), w, allowed)
		}
	}
	for _, p := range All[*corev1.Pod](v) {
		if c := condition(p, corev1.DisruptionTarget); c != nil && c.Status == corev1.ConditionTrue && p.DeletionTimestamp == nil {
			return "at rest, no pod carries DisruptionTarget for nothing: " + p.Name
		}
	}
	return ""
}

func describeWorkload(o Object) string {
	switch o := o.(type) {
	case *policyv1.PodDisruptionBudget:
		st := o.Status
		return fmt.Sprintf("budget %s: %d expected, %d desired, %d healthy, %d allowed, disrupted %v", o.Name, st.ExpectedPods, st.DesiredHealthy, st.CurrentHealthy, st.DisruptionsAllowed, sortedKeys(st.DisruptedPods))
	case *corev1.Pod:
		s := fmt.Sprintf("pod %s (%s)", o.Name, o.UID)
		if isReady(o) {
			s += " ready"
		} else {
			s += " not ready"
		}
		if c := condition(o, corev1.DisruptionTarget); c != nil {
			s += ", DisruptionTarget=" + string(c.Status)
		}
		if o.DeletionTimestamp != nil {
			s += ", being deleted"
		}
		return s
	case *appsv1.Deployment:
		return fmt.Sprintf("Deployment %s: %d replicas", o.Name, *o.Spec.Replicas)
	case *appsv1.ReplicaSet:
		return fmt.Sprintf("ReplicaSet %s: %d replicas", o.Name, *o.Spec.Replicas)
	case *appsv1.StatefulSet:
		return fmt.Sprintf("StatefulSet %s: %d replicas", o.Name, *o.Spec.Replicas)
	}
	return o.GetName()
}
