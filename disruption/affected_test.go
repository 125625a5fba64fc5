package disruption

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
)

func expression(key string, op metav1.LabelSelectorOperator, values ...string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: op, Values: values}}}
}

func TestBudgetsFor(t *testing.T) {
	other := budget()
	other.Namespace = "elsewhere"
	front := budget(named("front"), selecting(expression("tier", metav1.LabelSelectorOpExists)))
	all := budget(named("all"), selecting(&metav1.LabelSelector{}))
	none := budget(named("none"), selecting(nil))
	web := budget()
	budgets := []*policyv1.PodDisruptionBudget{web, other, front, none, all}

	got, err := NewIndex(Snapshot{Budgets: budgets}, Options{}).BudgetsFor(pod("a"))
	require.NoError(t, err)
	require.Equal(t, []*policyv1.PodDisruptionBudget{all, web}, got)
	require.Same(t, web, got[1], "the caller's own objects")

	got, err = NewIndex(Snapshot{Budgets: budgets}, Options{}).BudgetsFor(nil)
	require.NoError(t, err)
	require.Empty(t, got)
}

func TestBudgetsForBadInput(t *testing.T) {
	broken := budget(named("broken"), selecting(expression("app", "Like")))
	budgets := []*policyv1.PodDisruptionBudget{nil, broken, budget(named("twice")), budget(named("twice")), budget()}
	got, err := NewIndex(Snapshot{Budgets: budgets}, Options{}).BudgetsFor(pod("a"))
	require.Len(t, got, 1)
	require.ErrorIs(t, err, purekube.ErrNil)
	require.ErrorIs(t, err, purekube.ErrDuplicate)
	require.ErrorContains(t, err, "PodDisruptionBudget shop/broken: spec.selector")
}

func TestIndexPodEvents(t *testing.T) {
	db := budget(named("db"), selecting(&metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}))
	listing := budget(named("listing"), disrupted(map[string]metav1.Time{"a": ago(time.Hour)}))
	relabelled := labelled(map[string]string{"app": "db"})
	for _, tc := range []struct {
		name, reason   string
		oldObj, newObj *corev1.Pod
		more           []*policyv1.PodDisruptionBudget
		want           []purekube.Key
	}{
		{name: "neither", reason: "no event"},
		{name: "added", reason: "it counts from now on", newObj: pod("a"), want: []purekube.Key{key("web")}},
		{name: "deleted", reason: "it counts no more", oldObj: pod("a"), want: []purekube.Key{key("web")}},
		{name: "the same", reason: "a resync changes nothing", oldObj: pod("a"), newObj: pod("a")},
		{name: "readiness", reason: "one healthy pod less", oldObj: pod("a"), newObj: pod("a", unready), want: []purekube.Key{key("web")}},
		{name: "deletion", reason: "one healthy pod less", oldObj: pod("a"), newObj: pod("a", deleting), want: []purekube.Key{key("web")}},
		{name: "controller", reason: "other pods are expected", oldObj: pod("a"), newObj: pod("a", byWeb), want: []purekube.Key{key("web")}},
		{name: "labels", reason: "the one has a pod less, the other one more", oldObj: pod("a"), newObj: pod("a", relabelled), want: []purekube.Key{key("db"), key("web")}},
		{name: "an entry in disruptedPods", reason: "its event names the pod's version", more: []*policyv1.PodDisruptionBudget{listing},
			oldObj: pod("a"), newObj: pod("a"), want: []purekube.Key{key("listing")}},
		{name: "DisruptionTarget", reason: "it has a plan of its own", oldObj: pod("a"), newObj: pod("a", target("True", "x", 0)), want: []purekube.Key{podNamed("a")}},
		{name: "DisruptionTarget cleared", reason: "it had one", oldObj: pod("a", target("True", "x", 0)), newObj: pod("a"), want: []purekube.Key{podNamed("a")}},
		{name: "DisruptionTarget False", reason: "nothing is left to clear", oldObj: pod("a"), newObj: pod("a", target("False", "", 0))},
		{name: "of another namespace", reason: "no budget there", newObj: pod("a", func(p *corev1.Pod) { p.Namespace = "elsewhere" })},
		{name: "no name", reason: "not an object of a cluster", newObj: pod("")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := Snapshot{Now: now, Budgets: append(tc.more, budget(), db, nil)}
			if tc.newObj != nil {
				s.Pods = []*corev1.Pod{tc.newObj}
			}
			require.Equal(t, tc.want, affectedBy(s, ofPod(tc.oldObj), ofPod(tc.newObj), Options{}), tc.reason)
		})
	}
	s := Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget()}, Pods: []*corev1.Pod{pod("a")}}
	require.Equal(t, []purekube.Key{key("web")}, affectedBy(s, ofPod(pod("a")), ofPod(pod("a")), Options{MatchUpstream: purekube.V1_36}), "upstream plans on every event")
}

func TestIndexWorkloadEvents(t *testing.T) {
	number := budget(named("number"), minAvailable("1"))
	s := web(budget(maxUnavailable("1")), 3, pod("a", byWeb), pod("b", by("apps/v1", "StatefulSet", "db")), pod("c", by("v1", "ReplicationController", "rc")), nil)
	s.Budgets = append(s.Budgets, number, nil)
	three, five := ptr.To(int32(3)), ptr.To(int32(5))
	want := []purekube.Key{key("web")}
	require.Equal(t, want, affectedBy(s, ofDeployment(deployment("web", three)), ofDeployment(deployment("web", five)), Options{}), "number asks for no scale")
	require.Empty(t, affectedBy(s, ofDeployment(deployment("web", five)), ofDeployment(deployment("web", five)), Options{}), "nothing changed")
	require.Empty(t, affectedBy(s, ofDeployment(nil), ofDeployment(deployment("other", five)), Options{}))
	require.Equal(t, want, affectedBy(s, ofReplicaSet(nil), ofReplicaSet(replicaSet("web-rs", "web", three)), Options{}))
	require.Equal(t, want, affectedBy(s, ofReplicaSet(replicaSet("web-rs", "", three)), ofReplicaSet(replicaSet("web-rs", "web", three)), Options{}), "another controller")
	require.Equal(t, want, affectedBy(s, ofStatefulSet(statefulSet("db", nil)), ofStatefulSet(nil), Options{}))
	require.Empty(t, affectedBy(s, ofStatefulSet(statefulSet("db", nil)), ofStatefulSet(statefulSet("db", ptr.To(int32(1)))), Options{}), "1 is the default")
	another := statefulSet("db", nil)
	another.UID = "another"
	require.Equal(t, want, affectedBy(s, ofStatefulSet(statefulSet("db", nil)), ofStatefulSet(another), Options{}), "the pods are not this one's")
	require.Empty(t, affectedBy(s, ofStatefulSet(nil), ofStatefulSet(statefulSet("a", three)), Options{}), "no pod names it")
	require.Empty(t, affectedBy(s, ofStatefulSet(nil), ofStatefulSet(statefulSet("web", three)), Options{}), "the Deployment of that name is another object")
	require.Equal(t, want, affectedBy(s, ofReplicationController(nil), ofReplicationController(replicationController("rc", three)), Options{}))
	require.Equal(t, want, affectedBy(s, Snapshot{}, Snapshot{Answers: map[purekube.Need]purekube.Answer{scaleNeed("apps", "Deployment", ns, "web"): scaleOf("x", 9)}}, Options{}), "D-22: of the Deployment that a ReplicaSet names")
	require.Equal(t, want, affectedBy(s, Snapshot{}, Snapshot{Answers: map[purekube.Need]purekube.Answer{scaleNeed("apps", "StatefulSet", ns, "db"): scaleOf("x", 9)}}, Options{}))
	require.Empty(t, affectedBy(s, Snapshot{}, Snapshot{Answers: map[purekube.Need]purekube.Answer{{}: scaleOf("x", 9)}}, Options{}))
	s.Pods = append(s.Pods, pod("owner-without-a-name", by("x/v1", "Y", "")))
	require.Equal(t, []purekube.Key{key("web")}, affectedBy(s, Snapshot{}, Snapshot{Answers: map[purekube.Need]purekube.Answer{scaleNeed("x", "Y", ns, ""): scaleOf("x", 9)}}, Options{}), "a Need asks for it, so its answer counts")
	s.Pods = append(s.Pods, pod("d", by("a/b/c", "ReplicationController", "other")))
	rs := replicaSet("web-rs", "new", three)
	s.Answers = map[purekube.Need]purekube.Answer{objectNeed(ns, "web-rs"): {Object: rs}}
	require.Equal(t, want, affectedBy(s, ofDeployment(nil), ofDeployment(deployment("new", three)), Options{}), "of a ReplicaSet that was looked up")
	s.Answers = map[purekube.Need]purekube.Answer{scaleNeed("example.com", "Y", ns, "web-rs"): {Object: rs}}
	require.Empty(t, affectedBy(s, ofDeployment(nil), ofDeployment(deployment("new", three)), Options{}), "the answer is about something else")
	for _, need := range []purekube.Need{objectNeed("z-elsewhere", "web-rs"), scaleNeed("apps", "ReplicaSet", ns, "web-rs"),
		{APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: ns, Name: "web-rs"}} {
		s.Answers = map[purekube.Need]purekube.Answer{need: {Object: rs}}
		require.Empty(t, affectedBy(s, ofDeployment(nil), ofDeployment(deployment("new", three)), Options{}), "%v is not the object of a ReplicaSet in the namespace", need)
	}
	for _, answer := range []purekube.Answer{{Object: replicaSet("web-rs", "other", three)}, {}} {
		s.Answers = map[purekube.Need]purekube.Answer{objectNeed(ns, "web-rs"): answer}
		require.Empty(t, affectedBy(s, ofDeployment(nil), ofDeployment(deployment("new", three)), Options{}), "the ReplicaSet is not the Deployment's")
	}
}

// With MatchUpstream a pod that several budgets select has an event, so a new or deleted budget affects its pods. The
// write of a status affects no pod.
func TestIndexBudgetEventsAsUpstream(t *testing.T) {
	upstream := Options{MatchUpstream: purekube.V1_36}
	all := budget(named("all"), selecting(&metav1.LabelSelector{}))
	s := Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(), all}, Pods: []*corev1.Pod{pod("a"), pod("b", labelled(nil))}}
	both := NewIndex(s, upstream)
	one, affected := both.Without(Snapshot{Budgets: []*policyv1.PodDisruptionBudget{all}})
	require.Equal(t, []purekube.Key{podNamed("a"), key("all")}, affected, "no budget selects the other pod any more, and it never had an event")
	Contract.CheckNamed(t, both, one, affected)
	again, affected := one.With(Snapshot{Budgets: []*policyv1.PodDisruptionBudget{all}})
	require.Contains(t, affected, podNamed("a"))
	Contract.CheckNamed(t, one, again, affected)
	_, affected = both.With(Snapshot{Budgets: []*policyv1.PodDisruptionBudget{budget(named("all"), selecting(&metav1.LabelSelector{}), reported(1, 1, 0))}})
	require.Equal(t, []purekube.Key{key("all")}, affected, "the selector is the same")
	third, affected := both.With(Snapshot{Pods: []*corev1.Pod{pod("c")}})
	require.Equal(t, []purekube.Key{podNamed("c"), key("all"), key("web")}, affected)
	Contract.CheckNamed(t, both, third, affected)
	_, affected = NewIndex(s, Options{}).Without(Snapshot{Budgets: []*policyv1.PodDisruptionBudget{all}})
	require.Equal(t, []purekube.Key{key("all")}, affected, "by default nothing is recorded about pods")
}

// A Deployment's event concerns the pods whose ReplicaSet names it.
func TestIndexDeploymentEventsThroughReplicaSets(t *testing.T) {
	of := func(apiVersion, kind, name string) *appsv1.ReplicaSet {
		return &appsv1.ReplicaSet{ObjectMeta: owned(meta("web-rs"), apiVersion, kind, name)}
	}
	for _, tc := range []struct {
		name, reason string
		replicaSets  []*appsv1.ReplicaSet
		want         []purekube.Key
	}{
		{name: "its own", reason: "its scale counts", replicaSets: []*appsv1.ReplicaSet{of("apps/v1", "Deployment", "web")}, want: []purekube.Key{key("web")}},
		{name: "its own, by an old group", reason: "its scale counts", replicaSets: []*appsv1.ReplicaSet{of("extensions/v1beta1", "Deployment", "web")}, want: []purekube.Key{key("web")}},
		{name: "of another Deployment", reason: "nothing changes", replicaSets: []*appsv1.ReplicaSet{of("apps/v1", "Deployment", "other")}},
		{name: "of another kind", reason: "the ReplicaSet stands for itself", replicaSets: []*appsv1.ReplicaSet{of("apps/v1", "Rollout", "web")}},
		{name: "of another group", reason: "the ReplicaSet stands for itself", replicaSets: []*appsv1.ReplicaSet{of("example.com/v1", "Deployment", "web")}},
		{name: "twice", reason: "either may be the real one", want: []purekube.Key{key("web")},
			replicaSets: []*appsv1.ReplicaSet{of("apps/v1", "Deployment", "web"), of("apps/v1", "Deployment", "other")}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1"))}, Pods: []*corev1.Pod{pod("a", byWeb)}, ReplicaSets: tc.replicaSets}
			d := deployment("web", nil)
			_, affected := NewIndex(s, Options{}).With(Snapshot{Deployments: []*appsv1.Deployment{d}})
			require.Equal(t, tc.want, affected, tc.reason)
		})
	}
	t.Run("another Deployment has adopted it", func(t *testing.T) {
		s := Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1"))}, Pods: []*corev1.Pod{pod("a", byWeb)},
			ReplicaSets: []*appsv1.ReplicaSet{of("apps/v1", "Deployment", "web")}}
		x, _ := NewIndex(s, Options{}).With(Snapshot{ReplicaSets: []*appsv1.ReplicaSet{of("apps/v1", "Deployment", "other")}})
		_, affected := x.With(Snapshot{Deployments: []*appsv1.Deployment{deployment("web", nil)}})
		require.Empty(t, affected, "the first Deployment controls none of the budget's pods")
		_, affected = x.With(Snapshot{Deployments: []*appsv1.Deployment{deployment("other", nil)}})
		require.Equal(t, []purekube.Key{key("web")}, affected, "its scale counts")
	})
	t.Run("in the snapshot and looked up", func(t *testing.T) {
		rs := of("apps/v1", "Deployment", "web")
		s := Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1"))}, Pods: []*corev1.Pod{pod("a", byWeb)}, ReplicaSets: []*appsv1.ReplicaSet{rs}}
		answer := Snapshot{Answers: map[purekube.Need]purekube.Answer{objectNeed(ns, "web-rs"): {Object: rs}}}
		for _, gone := range []Snapshot{answer, {ReplicaSets: s.ReplicaSets}} {
			x, _ := NewIndex(s, Options{}).With(answer)
			x, _ = x.Without(gone)
			_, affected := x.With(Snapshot{Deployments: []*appsv1.Deployment{deployment("web", nil)}})
			require.Equal(t, []purekube.Key{key("web")}, affected, "the other one is left")
		}
	})
}
