package disruption_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/disruption/drain"
	"github.com/purekube/purekube/internal/test/snapshotfuzz"
)

// snapshotDocument is a snapshot as JSON.
type snapshotDocument struct {
	Now                    time.Time                       `json:"now"`
	Budgets                []*policyv1.PodDisruptionBudget `json:"budgets"`
	Pods                   []*corev1.Pod                   `json:"pods"`
	ReplicationControllers []*corev1.ReplicationController `json:"replicationControllers"`
	ReplicaSets            []*appsv1.ReplicaSet            `json:"replicaSets"`
	Deployments            []*appsv1.Deployment            `json:"deployments"`
	StatefulSets           []*appsv1.StatefulSet           `json:"statefulSets"`
	Scales                 []struct {
		Key   struct{ Group, Kind, Namespace, Name string } `json:"key"`
		Scale struct {
			Found      bool
			UID        types.UID
			Replicas   int32
			ReplicaSet *appsv1.ReplicaSet
			Err        string
		} `json:"scale"`
	} `json:"scales"`
}

func (d snapshotDocument) snapshot() disruption.Snapshot {
	s := disruption.Snapshot{Now: d.Now, Budgets: d.Budgets, Pods: d.Pods, ReplicationControllers: d.ReplicationControllers,
		ReplicaSets: d.ReplicaSets, Deployments: d.Deployments, StatefulSets: d.StatefulSets}
	for _, x := range d.Scales {
		if s.Answers == nil {
			s.Answers = map[purekube.Need]purekube.Answer{}
		}
		need := purekube.Need{APIVersion: strings.TrimPrefix(x.Key.Group+"/v1", "/"), Kind: x.Key.Kind, Namespace: x.Key.Namespace, Name: x.Key.Name}
		answer := purekube.Answer{}
		switch {
		case x.Scale.Err != "":
			answer.Err = errors.New(x.Scale.Err)
		case x.Scale.ReplicaSet != nil:
			answer.Object = x.Scale.ReplicaSet
		case x.Scale.Found:
			answer.Object = &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{UID: x.Scale.UID}, Spec: autoscalingv1.ScaleSpec{Replicas: x.Scale.Replicas}}
		}
		s.Answers[need] = answer
		need.Subresource = "scale"
		s.Answers[need] = answer
	}
	return s
}

var snapshotSeeds = []string{
	`{"now":"2026-11-21T12:00:30Z","budgets":[null,
	{"metadata":{"namespace":"ns","name":"db","uid":"1","generation":1,"resourceVersion":"5"},"spec":{"maxUnavailable":1,"selector":{"matchLabels":{"app":"db"}}},
	 "status":{"observedGeneration":1,"disruptionsAllowed":1,"currentHealthy":3,"desiredHealthy":2,"expectedPods":3,"disruptedPods":{"db-2":"2026-11-21T12:00:00Z","db-9":"2026-11-21T11:00:00Z"}}},
	{"metadata":{"namespace":"ns","name":"web","uid":"2","generation":1},"spec":{"minAvailable":"50%","selector":{"matchExpressions":[{"key":"app","operator":"In","values":["web"]}]},"unhealthyPodEvictionPolicy":"AlwaysAllow"},"status":{"disruptionsAllowed":0}}],
	"pods":[null,
	{"metadata":{"namespace":"ns","name":"db-0","uid":"10","creationTimestamp":"2026-11-21T10:00:00Z","labels":{"app":"db"},"ownerReferences":[{"apiVersion":"apps/v1","kind":"StatefulSet","name":"db","uid":"3","controller":true}]},"spec":{"nodeName":"n","containers":null},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True","lastProbeTime":null,"lastTransitionTime":null}]}},
	{"metadata":{"namespace":"ns","name":"db-1","uid":"11","creationTimestamp":"2026-11-21T10:00:00Z","labels":{"app":"db"},"ownerReferences":[{"apiVersion":"apps/v1","kind":"StatefulSet","name":"db","uid":"3","controller":true}]},"spec":{"nodeName":"n","containers":null},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True","lastProbeTime":null,"lastTransitionTime":null},{"type":"DisruptionTarget","status":"True","reason":"PreemptionByScheduler","lastProbeTime":null,"lastTransitionTime":"2026-11-21T11:00:00Z"}]}},
	{"metadata":{"namespace":"ns","name":"db-2","uid":"12","creationTimestamp":"2026-11-21T10:00:00Z","labels":{"app":"db"},"ownerReferences":[{"apiVersion":"apps/v1","kind":"StatefulSet","name":"db","uid":"3","controller":true}]},"spec":{"nodeName":"n","containers":null},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True","lastProbeTime":null,"lastTransitionTime":null}]}},
	{"metadata":{"namespace":"ns","name":"web-a","uid":"13","labels":{"app":"web"},"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-1","uid":"5","controller":true}]},"spec":{"containers":null},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True","lastProbeTime":null,"lastTransitionTime":null}]}},
	{"metadata":{"namespace":"ns","name":"web-b","uid":"14","labels":{"app":"web"},"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-1","uid":"5","controller":true}]},"spec":{"containers":null},"status":{"phase":"Running"}}],
	"statefulSets":[{"metadata":{"namespace":"ns","name":"db","uid":"3"},"spec":{"replicas":3,"selector":null,"template":{"metadata":{},"spec":{"containers":null}},"serviceName":""},"status":{"replicas":0}},null],
	"replicaSets":[{"metadata":{"namespace":"ns","name":"web-1","uid":"5","ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment","name":"web","uid":"4","controller":true}]},"spec":{"replicas":1,"selector":null},"status":{"replicas":0}}],
	"deployments":[{"metadata":{"namespace":"ns","name":"web","uid":"4"},"spec":{"replicas":2,"selector":null,"template":{"metadata":{},"spec":{"containers":null}},"strategy":{}},"status":{}}]}`,
	`{"now":"2026-11-21T12:00:30Z","budgets":[
	{"metadata":{"namespace":"ns","name":"all","uid":"1","generation":1,"resourceVersion":"5"},"spec":{"maxUnavailable":"40%","selector":{}},"status":{"observedGeneration":1,"disruptionsAllowed":1,"currentHealthy":2,"desiredHealthy":1,"expectedPods":2}}],
	"pods":[
	{"metadata":{"namespace":"ns","name":"rc-0","uid":"10","labels":{"app":"db"},"ownerReferences":[{"apiVersion":"v1","kind":"ReplicationController","name":"rc","uid":"3","controller":true}]},"spec":{"nodeName":"n","containers":null},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True","lastProbeTime":null,"lastTransitionTime":null}]}},
	{"metadata":{"namespace":"ns","name":"custom-0","uid":"11","ownerReferences":[{"apiVersion":"example.com/v1","kind":"Thing","name":"custom","uid":"7","controller":true}]},"spec":{"nodeName":"n","containers":null},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True","lastProbeTime":null,"lastTransitionTime":null}]}},
	{"metadata":{"namespace":"ns","name":"bare","uid":"12"},"spec":{"nodeName":"n","containers":null},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True","lastProbeTime":null,"lastTransitionTime":null}]}}],
	"replicationControllers":[{"metadata":{"namespace":"ns","name":"rc","uid":"3"},"spec":{"replicas":2},"status":{"replicas":0}}],
	"scales":[{"key":{"Group":"example.com","Kind":"Thing","Namespace":"ns","Name":"custom"},"scale":{"Found":true,"UID":"7","Replicas":3}}]}`,
}

var snapshotWords = []string{"", "ns", "db", "web", "web-1", "all", "db-0", "db-1", "db-2", "custom", "app", "In", "Exists", "What", "a/b/c", "1", "2", "3", "4", "5", "7", "v1", "apps/v1", "example.com/v1",
	"StatefulSet", "ReplicaSet", "Deployment", "ReplicationController", "Thing", "Node", "0%", "1%", "50%", "100%", "101%", "-1%", "what", "True", "False", "Ready", "DisruptionTarget",
	"Running", "Pending", "Succeeded", "AlwaysAllow", "IfHealthyBudget", "2026-11-21T12:00:00Z", "2026-11-21T12:02:30Z", "2026-11-21T11:00:00Z"}

// wholeQuestions are the questions about one snapshot.
type wholeQuestions struct {
	planAll    func() ([]disruption.Outcome, error)
	plan       func(key purekube.Key) (disruption.Result, error)
	explainAll func() ([]disruption.Explanation, error)
	explain    func(key purekube.Key) (disruption.Explanation, error)
	evict      func(pod types.NamespacedName, by disruption.Status) (disruption.Eviction, error)
	budgetsFor func(pod *corev1.Pod) ([]*policyv1.PodDisruptionBudget, error)
}

func byFunctions(s disruption.Snapshot, o disruption.Options) wholeQuestions {
	x := disruption.NewIndex(s, o)
	return wholeQuestions{
		func() ([]disruption.Outcome, error) { return disruption.PlanAll(s, o) },
		func(key purekube.Key) (disruption.Result, error) { return disruption.Plan(s, key, o) },
		x.ExplainAll, x.Explain, x.CheckEviction, x.BudgetsFor,
	}
}

func byIndex(x *disruption.Index) wholeQuestions {
	return wholeQuestions{x.PlanAll, x.Plan, x.ExplainAll, x.Explain, x.CheckEviction, x.BudgetsFor}
}

// grown is the Index of the snapshot, made object by object where these can be told apart.
func grown(s disruption.Snapshot, o disruption.Options) *disruption.Index {
	if !snapshotfuzz.Plain(s) {
		return disruption.NewIndex(s, o)
	}
	x := disruption.NewIndex(disruption.Snapshot{Now: s.Now, Answers: s.Answers}, o)
	snapshotfuzz.OneByOne(s, func(one disruption.Snapshot) { x, _ = x.With(one) })
	return x
}

func askAll(s disruption.Snapshot, o disruption.Options, q wholeQuestions) []snapshotfuzz.Answer {
	var answers []snapshotfuzz.Answer
	add := func(question string, value any, err error) {
		answers = append(answers, snapshotfuzz.Answer{Question: question, Value: value, Err: err})
	}
	all, err := q.planAll()
	add("PlanAll", all, err)
	explained, err := q.explainAll()
	add("ExplainAll", explained, err)
	keys := []purekube.Key{{}, {Kind: "what", Namespace: "ns", Name: "db"}}
	for _, n := range snapshotfuzz.Names(s.Budgets) {
		keys = append(keys, purekube.Key{Kind: "PodDisruptionBudget", Namespace: n.Namespace, Name: n.Name})
	}
	for _, n := range snapshotfuzz.Names(s.Pods) {
		keys = append(keys, purekube.Key{Kind: "Pod", Namespace: n.Namespace, Name: n.Name})
		for _, by := range []disruption.Status{disruption.AsWritten, disruption.Recomputed} {
			eviction, err := q.evict(n, by)
			add("CheckEviction "+n.String()+" "+string(by), []any{eviction, eviction.Verdict.StatusCode()}, err)
		}
	}
	for _, key := range keys {
		plan, err := q.plan(key)
		add("Plan "+key.String(), plan, err)
		for i, a := range plan.Actions {
			add(fmt.Sprintf("Request %s %d", key, i), []any{a.Request(make([]runtime.Object, i)), a.String()}, nil)
		}
		for _, n := range plan.Needs {
			_, affected := disruption.NewIndex(s, o).With(disruption.Snapshot{Answers: map[purekube.Need]purekube.Answer{n: {}}})
			add("With an answer "+key.String(), affected, nil)
		}
		explanation, err := q.explain(key)
		add("Explain "+key.String(), explanation, err)
	}
	x := disruption.NewIndex(s, o)
	for _, flags := range []drain.Options{{}, {IgnoreDaemonSets: true, DeleteEmptyDirData: true, Force: true, MaxRounds: 5}} {
		for _, node := range []string{"n", "no such", ""} {
			d, after, _ := drain.Node(x, node, flags)
			all, err := after.PlanAll()
			add(fmt.Sprintf("drain.Node %q %t", node, flags.Force), []any{d, all}, err)
		}
	}
	without := func(question string, gone disruption.Snapshot) {
		next, affected := x.Without(gone)
		all, err := next.PlanAll()
		add(question, []any{all, affected}, err)
	}
	for i, p := range snapshotfuzz.Sorted(s.Pods) {
		without(fmt.Sprintf("Without pod %d", i), disruption.Snapshot{Pods: []*corev1.Pod{p}})
	}
	for i, b := range snapshotfuzz.Sorted(s.Budgets) {
		without(fmt.Sprintf("Without budget %d", i), disruption.Snapshot{Budgets: []*policyv1.PodDisruptionBudget{b}})
		if b != nil {
			for _, r := range []disruption.Rounding{disruption.RoundUp, disruption.RoundDown} {
				desired, err := disruption.DesiredHealthy(b.Spec, 5, r)
				add(fmt.Sprintf("DesiredHealthy %d", i), desired, err)
				allowed, err := disruption.AllowedAtFullHealth(b.Spec, 5, r)
				add(fmt.Sprintf("AllowedAtFullHealth %d", i), allowed, err)
			}
		}
	}
	for i, p := range snapshotfuzz.Sorted(s.Pods) {
		budgets, err := q.budgetsFor(p)
		answers = append(answers, snapshotfuzz.Answer{Question: fmt.Sprintf("BudgetsFor %d", i), Value: budgets, Err: err, Shares: true})
	}
	for i, w := range snapshotfuzz.Sorted(s.StatefulSets) {
		without(fmt.Sprintf("Without StatefulSet %d", i), disruption.Snapshot{StatefulSets: list(w)})
	}
	for i, w := range snapshotfuzz.Sorted(s.ReplicaSets) {
		without(fmt.Sprintf("Without ReplicaSet %d", i), disruption.Snapshot{ReplicaSets: list(w)})
	}
	for i, w := range snapshotfuzz.Sorted(s.Deployments) {
		without(fmt.Sprintf("Without Deployment %d", i), disruption.Snapshot{Deployments: list(w)})
	}
	for i, w := range snapshotfuzz.Sorted(s.ReplicationControllers) {
		without(fmt.Sprintf("Without ReplicationController %d", i), disruption.Snapshot{ReplicationControllers: list(w)})
	}
	return answers
}

func list[T any](o T) []T { return []T{o} }

func objects(s disruption.Snapshot) int {
	return len(s.Budgets) + len(s.Pods) + len(s.ReplicaSets) + len(s.ReplicationControllers) + len(s.Deployments) + len(s.StatefulSets)
}

// FuzzWholeSnapshot: whatever a snapshot holds, no question panics, writes to it, shares memory with it or depends on the
// order of its slices, in both modes, and the Index gives the same answers; and nothing that is missing or of no use makes
// an answer more permissive.
func FuzzWholeSnapshot(f *testing.F) {
	snapshotfuzz.Fuzz(f, snapshotSeeds, snapshotWords, func(t *testing.T, d snapshotDocument, choice []byte) {
		s := d.snapshot()
		if objects(s) > 30 {
			return
		}
		random := rand.New(rand.NewPCG(1, uint64(len(choice))))
		o := snapshotfuzz.Pick(choice, []disruption.Options{{}, {MatchUpstream: purekube.V1_36}, {MaxUnavailableRounding: disruption.RoundDown}}...)
		snapshotfuzz.Check(t, s, random,
			func(s disruption.Snapshot) []snapshotfuzz.Answer { return askAll(s, o, byFunctions(s, o)) },
			func(s disruption.Snapshot) []snapshotfuzz.Answer { return askAll(s, o, byIndex(grown(s, o))) })
		if snapshotfuzz.Pick(choice, true, false, false) {
			neverMorePermissive(t, s)
		}
	})
}

// permits are how many disruptions each budget allows once its plan is carried out, and which pods may be evicted then with
// a budget that covers them. A plan that has to look
// something up, or that there is none of because of an error, allows nothing.
func permits(s disruption.Snapshot) (allowed map[string]int32, evictable map[string]bool) {
	x := disruption.NewIndex(s, disruption.Options{})
	allowed, evictable = map[string]int32{}, map[string]bool{}
	for _, b := range s.Budgets {
		if b == nil {
			continue
		}
		key := disruption.KeyOf(b)
		plan, err := x.Plan(key)
		switch {
		case len(plan.Needs) > 0, err != nil && len(plan.Actions) == 0:
			allowed[key.String()] = 0
		case len(plan.Actions) > 0:
			allowed[key.String()] = plan.Actions[0].(disruption.UpdateStatus).Budget.Status.DisruptionsAllowed
		default:
			allowed[key.String()] = b.Status.DisruptionsAllowed
		}
	}
	for _, p := range s.Pods {
		if p == nil {
			continue
		}
		e, err := x.CheckEviction(types.NamespacedName{Namespace: p.Namespace, Name: p.Name}, disruption.Recomputed)
		if err == nil && e.Verdict.Allowed() {
			evictable[p.Namespace+"/"+p.Name] = true
		}
	}
	return allowed, evictable
}

// neverMorePermissive takes a snapshot apart. A pod that is left out is a pod that is gone, which takes its controller out of what
// is expected if it was the last one; a budget that is left out protects nothing. Both are the caller's statement. An answer that comes
// with an error counts as a refusal.
func neverMorePermissive(t *testing.T, s disruption.Snapshot) {
	t.Helper()
	beforeAllowed, beforeEvictable := permits(s)
	holds := func(what string, after disruption.Snapshot) {
		t.Helper()
		allowed, evictable := permits(after)
		for key, n := range allowed {
			if before, there := beforeAllowed[key]; there && n > max(before, 0) {
				t.Fatalf("with %s, %s allows %d, and %d without that", what, key, n, before)
			}
		}
		for pod := range evictable {
			if _, there := beforeEvictable[pod]; !there && podOf(s, pod) {
				t.Fatalf("with %s, %s may be evicted", what, pod)
			}
		}
	}
	snapshotfuzz.Spoiled(s, func(how snapshotfuzz.Spoiling, field string, object runtime.Object, spoiled disruption.Snapshot) {
		if how == snapshotfuzz.LeftOut && (field == "Pods" || field == "Budgets") {
			return
		}
		holds(fmt.Sprintf("%s %s %s", field, object.(metav1.Object).GetName(), how), spoiled)
	})
	for i, p := range s.Pods {
		if p == nil || p.Name == "" {
			continue
		}
		spoiled := snapshotfuzz.Copy(s)
		spoiled.Pods[i].Status.Conditions = slices.DeleteFunc(spoiled.Pods[i].Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady })
		unready(t, s, spoiled, beforeAllowed, "pod "+p.Name+" not ready")
		more := snapshotfuzz.Copy(s)
		pod := spoiled.Pods[i].DeepCopy()
		pod.Name, pod.UID = "one-more", "99"
		more.Pods = append(more.Pods, pod)
		unready(t, s, more, beforeAllowed, "a pod more like "+p.Name+" that is not ready")
	}
	for i, b := range s.Budgets {
		if b == nil || b.Name == "" {
			continue
		}
		spoiled := snapshotfuzz.Copy(s)
		spoiled.Budgets[i].Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a/b/c": "?"}}
		holds("an unreadable selector in "+b.Name, spoiled)
	}
	for key := range s.Answers {
		spoiled := s
		spoiled.Answers = map[purekube.Need]purekube.Answer{}
		for k, v := range s.Answers {
			if k == key {
				v = purekube.Answer{Err: errors.New("not now")}
			}
			spoiled.Answers[k] = v
		}
		holds("the scale of "+key.Name+" unknown", spoiled)
		delete(spoiled.Answers, key)
		holds("the scale of "+key.Name+" left out", spoiled)
	}
}

// unready: fewer healthy pods never raise what a budget allows. They may let a pod that is not ready go.
func unready(t *testing.T, s, spoiled disruption.Snapshot, before map[string]int32, what string) {
	t.Helper()
	allowed, _ := permits(spoiled)
	for key, n := range allowed {
		if was, there := before[key]; there && n > max(was, 0) {
			t.Fatalf("with %s, %s allows %d, and %d without that", what, key, n, was)
		}
	}
}

func podOf(s disruption.Snapshot, name string) bool {
	return slices.ContainsFunc(s.Pods, func(p *corev1.Pod) bool { return p != nil && p.Namespace+"/"+p.Name == name })
}

// TestNeverMorePermissive is neverMorePermissive for many random changes of the seeds.
func TestNeverMorePermissive(t *testing.T) {
	snapshotfuzz.Random(t, snapshotSeeds, snapshotWords, func(t *testing.T, d snapshotDocument) { neverMorePermissive(t, d.snapshot()) })
}
