package disruption

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
)

// generator makes small snapshots in which everything that can go wrong does, often.
type generator struct {
	*rand.Rand
	// bad also makes what no API server would hand out: nil pointers and two objects of a name.
	bad bool
}

func (g generator) pick(from ...string) string { return from[g.IntN(len(from))] }

func (g generator) in(n int) bool { return g.IntN(n) == 0 }

func (g generator) meta(name string) metav1.ObjectMeta {
	m := meta(name)
	m.Namespace = g.pick("shop", "shop", "shop", "team")
	return m
}

func (g generator) labels() map[string]string {
	set := map[string]string{}
	for _, k := range []string{"app", "tier", "version", "example.com/x"} {
		if !g.in(3) {
			set[k] = g.pick("a", "b", "")
		}
	}
	return set
}

func (g generator) selector() *metav1.LabelSelector {
	if g.in(12) {
		return nil
	}
	s := &metav1.LabelSelector{}
	for range g.IntN(3) {
		if s.MatchLabels == nil {
			s.MatchLabels = map[string]string{}
		}
		s.MatchLabels[g.pick("app", "tier", "example.com/x")] = g.pick("a", "b")
	}
	for range g.IntN(2) {
		e := metav1.LabelSelectorRequirement{Key: g.pick("app", "tier", "version")}
		switch g.IntN(5) {
		case 0:
			e.Operator, e.Values = metav1.LabelSelectorOpIn, []string{g.pick("a", "b"), g.pick("a", "")}
		case 1:
			e.Operator, e.Values = metav1.LabelSelectorOpNotIn, []string{g.pick("a", "b")}
		case 2:
			e.Operator = metav1.LabelSelectorOpExists
		case 3:
			e.Operator = metav1.LabelSelectorOpDoesNotExist
		default:
			if e.Operator = metav1.LabelSelectorOpExists; g.in(4) {
				e.Operator = "Like"
			}
		}
		s.MatchExpressions = append(s.MatchExpressions, e)
	}
	if g.in(30) {
		s.MatchLabels = map[string]string{"-not a key-": "a"}
	}
	return s
}

func (g generator) owners() []metav1.OwnerReference {
	if g.in(6) {
		return nil
	}
	apiVersion, kind := "apps/v1", "ReplicaSet"
	switch g.IntN(12) {
	case 0:
		apiVersion, kind = "v1", "ReplicationController"
	case 1:
		kind = "StatefulSet"
	case 2:
		apiVersion, kind = g.pick("db.example.com/v1", "db.example.com/v2"), "Cluster"
	case 3:
		apiVersion, kind = "v1", "Node"
	case 4:
		if g.in(4) {
			apiVersion = "a/b/c"
		} else {
			apiVersion = "extensions/v1beta1"
		}
	case 5:
		kind = "Deployment"
	}
	name := g.pick("one", "one", "two")
	ref := metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: name, UID: g.uid(kind, name), Controller: ptr.To(true)}
	if g.in(20) {
		ref.Controller = nil
	}
	return []metav1.OwnerReference{ref}
}

func (g generator) uid(kind, name string) types.UID {
	if g.in(25) {
		return "another"
	}
	return types.UID(kind + "-" + name)
}

func (g generator) replicas() *int32 {
	switch g.IntN(10) {
	case 0:
		return nil
	case 1:
		return ptr.To(int32(1<<31 - 1))
	}
	return ptr.To(g.Int32N(6))
}

func (g generator) age() metav1.Time {
	return ago([]time.Duration{0, time.Second, time.Minute, 2*time.Minute - time.Second, 2 * time.Minute, 2*time.Minute + time.Second, time.Hour, -time.Minute}[g.IntN(8)])
}

func (g generator) pod(name string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: g.meta(name)}
	p.Labels, p.OwnerReferences = g.labels(), g.owners()
	p.Generation = g.Int64N(3)
	p.Status.Phase = []corev1.PodPhase{"Running", "Running", "Running", "Pending", "Succeeded", "Failed"}[g.IntN(6)]
	if g.in(6) {
		p.DeletionTimestamp = ptr.To(g.age())
	}
	if g.in(5) {
		p.CreationTimestamp = g.age()
	}
	for _, c := range []corev1.PodConditionType{corev1.PodReady, corev1.DisruptionTarget, corev1.PodReady} {
		if g.in(4) {
			continue
		}
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: c, Status: corev1.ConditionStatus(g.pick("True", "True", "False", "Unknown")), LastTransitionTime: g.age(),
			Reason: g.pick("EvictionByEvictionAPI", corev1.PodReasonTerminationByKubelet, ""),
		})
	}
	return p
}

func (g generator) budget(name string) *policyv1.PodDisruptionBudget {
	b := &policyv1.PodDisruptionBudget{ObjectMeta: g.meta(name)}
	b.Generation = g.Int64N(3)
	b.Spec.Selector = g.selector()
	amount := func() *intstr.IntOrString {
		return ptr.To(intstr.Parse(g.pick("0", "1", "2", "5", "0%", "30%", "50%", "100%", "x%")))
	}
	switch g.IntN(9) {
	case 0:
	case 1, 2, 3:
		b.Spec.MinAvailable = amount()
	case 4:
		b.Spec.MinAvailable, b.Spec.MaxUnavailable = amount(), amount()
	default:
		b.Spec.MaxUnavailable = amount()
	}
	if g.in(3) {
		b.Spec.UnhealthyPodEvictionPolicy = ptr.To(policyv1.UnhealthyPodEvictionPolicyType(g.pick("AlwaysAllow", "IfHealthyBudget", "?")))
	}
	st := &b.Status
	st.ObservedGeneration = g.Int64N(3)
	st.CurrentHealthy, st.DesiredHealthy, st.ExpectedPods = g.Int32N(4), g.Int32N(4), g.Int32N(4)
	st.DisruptionsAllowed = g.Int32N(4) - g.Int32N(2)
	for i := range g.IntN(5) {
		if st.DisruptedPods == nil {
			st.DisruptedPods = map[string]metav1.Time{}
		}
		st.DisruptedPods[fmt.Sprintf("pod-%d", 2*i)] = g.age()
	}
	for _, c := range []string{"example.com/Other", policyv1.DisruptionAllowedCondition} {
		if !g.in(3) {
			st.Conditions = append(st.Conditions, metav1.Condition{Type: c, Status: metav1.ConditionStatus(g.pick("True", "False")),
				Reason: g.pick("SufficientPods", "InsufficientPods", "SyncFailed"), Message: g.pick("", "text"), LastTransitionTime: g.age()})
		}
	}
	return b
}

func (g generator) replicaSet(m metav1.ObjectMeta) *appsv1.ReplicaSet {
	rs := &appsv1.ReplicaSet{ObjectMeta: m, Spec: appsv1.ReplicaSetSpec{Replicas: g.replicas()}}
	if !g.in(3) {
		rs.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: g.pick("apps/v1", "apps/v1", "apps/v1", "x/v1", "a/b/c"), Kind: g.pick("Deployment", "Deployment", "Rollout"),
			Name: "one", UID: "Deployment-one", Controller: ptr.To(!g.in(8))}}
	}
	return rs
}

func (g generator) snapshot() Snapshot {
	s := Snapshot{Now: now, Answers: map[purekube.Need]purekube.Answer{}}
	for i := range 1 + g.IntN(4) {
		s.Budgets = append(s.Budgets, g.budget(fmt.Sprintf("budget-%d", i)))
	}
	for i := range g.IntN(14) {
		s.Pods = append(s.Pods, g.pod(fmt.Sprintf("pod-%d", i)))
	}
	for _, name := range []string{"one", "two"} {
		for _, namespace := range []string{"shop", "team"} {
			m := func(kind string) metav1.ObjectMeta {
				m := meta(name)
				m.Namespace, m.UID = namespace, g.uid(kind, name)
				return m
			}
			if !g.in(10) {
				s.ReplicaSets = append(s.ReplicaSets, g.replicaSet(m("ReplicaSet")))
			}
			if !g.in(10) {
				s.Deployments = append(s.Deployments, &appsv1.Deployment{ObjectMeta: m("Deployment"), Spec: appsv1.DeploymentSpec{Replicas: g.replicas()}})
			}
			if !g.in(6) {
				s.StatefulSets = append(s.StatefulSets, &appsv1.StatefulSet{ObjectMeta: m("StatefulSet"), Spec: appsv1.StatefulSetSpec{Replicas: g.replicas()}})
			}
			if !g.in(6) {
				s.ReplicationControllers = append(s.ReplicationControllers, &corev1.ReplicationController{
					ObjectMeta: m("ReplicationController"), Spec: corev1.ReplicationControllerSpec{Replicas: g.replicas()}})
			}
			for _, gk := range [][2]string{{"db.example.com", "Cluster"}, {"", "Node"}, {"apps", "ReplicaSet"}, {"apps", "StatefulSet"}, {"apps", "Deployment"}, {"extensions", "ReplicaSet"}} {
				if g.in(3) {
					continue
				}
				answer := scaleOf(g.uid(gk[1], name), g.Int32N(5))
				switch {
				case g.in(8):
					answer = purekube.Answer{Err: errors.New(gk[1] + " does not implement the scale subresource")}
				case g.in(5):
					answer = purekube.Answer{}
				}
				s.Answers[scaleNeed(gk[0], gk[1], namespace, name)] = answer
				if gk[1] != "ReplicaSet" || g.in(4) {
					continue
				}
				if answer.Object != nil {
					answer.Object = g.replicaSet(m("ReplicaSet"))
				}
				s.Answers[objectNeed(namespace, name)] = answer
			}
		}
	}
	if g.bad {
		s.Budgets = g.spoilBudgets(s.Budgets)
		s.Pods = spoil(g, s.Pods)
		s.ReplicationControllers = spoil(g, s.ReplicationControllers)
		s.ReplicaSets = spoil(g, s.ReplicaSets)
		s.Deployments = spoil(g, s.Deployments)
		s.StatefulSets = spoil(g, s.StatefulSets)
	}
	return g.shuffled(s)
}

func (g generator) spoilBudgets(budgets []*policyv1.PodDisruptionBudget) []*policyv1.PodDisruptionBudget {
	if g.in(4) {
		b := g.budget("budget-0")
		budgets = append(budgets, b)
	}
	return spoil(g, budgets)
}

// spoil adds nil pointers, and second objects of a name.
func spoil[T any, P interface {
	*T
	metav1.Object
	DeepCopy() P
}](g generator, objects []P) []P {
	if g.in(4) {
		objects = append(objects, nil)
	}
	if len(objects) > 0 && g.in(4) {
		if o := objects[g.IntN(len(objects))]; o != nil {
			again := o.DeepCopy()
			again.SetLabels(g.labels())
			again.SetOwnerReferences(g.owners())
			if g.in(4) {
				again.SetName("")
			}
			objects = append(objects, again)
		}
	}
	return objects
}

func (g generator) shuffled(s Snapshot) Snapshot {
	s.Budgets = shuffle(g, s.Budgets)
	s.Pods = shuffle(g, s.Pods)
	s.ReplicationControllers = shuffle(g, s.ReplicationControllers)
	s.ReplicaSets = shuffle(g, s.ReplicaSets)
	s.Deployments = shuffle(g, s.Deployments)
	s.StatefulSets = shuffle(g, s.StatefulSets)
	return s
}

func shuffle[T any](g generator, objects []T) []T {
	objects = slices.Clone(objects)
	g.Shuffle(len(objects), func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
	return objects
}

func copied[T any, P interface {
	*T
	DeepCopy() P
}](objects []P) []P {
	var all []P
	for _, o := range objects {
		all = append(all, o.DeepCopy())
	}
	return all
}

func deepCopy(s Snapshot) Snapshot {
	return Snapshot{
		Now: s.Now, Budgets: copied(s.Budgets), Pods: copied(s.Pods), ReplicationControllers: copied(s.ReplicationControllers),
		ReplicaSets: copied(s.ReplicaSets), Deployments: copied(s.Deployments), StatefulSets: copied(s.StatefulSets), Answers: maps.Clone(s.Answers),
	}
}
