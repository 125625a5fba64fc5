package parity

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
)

var disruptionCore = Core[disruption.Snapshot]{
	Name:     "disruption",
	Generate: generateBudgets,
	Objects:  budgetObjects,
	Start:    func(s disruption.Snapshot) Start { return StartDisruption(ScalesIn(s.Answers)) },
	Script: func(s disruption.Snapshot, w *World) Trace {
		trace := w.Settle()
		// What the controller says of pods when it hears of them is lost before it runs: its
		// recorder has nobody to tell yet. It hears of them again.
		for _, p := range s.Pods {
			w.Update(p)
		}
		for _, e := range w.Settle().Events {
			if e.Reason == "MultiplePodDisruptionBudgets" {
				trace.Events = append(trace.Events, e)
			}
		}
		return trace
	},
	// Lookups are compared in a test of their own. Passes end without an error: what goes wrong is in
	// the status.
	Upstream: func(_ disruption.Snapshot, t Trace) Trace {
		t.Requests = withoutLookups(t.Requests)
		return anyPod(t)
	},
	Ours: func(s disruption.Snapshot) Trace {
		return anyPod(budgetTrace(s, planAll(s, upstreamBudgets)))
	},
	Kinds: []string{
		"nothing", "update poddisruptionbudgets/status", "update pods/status",
		"event Normal NoPods", "event Warning NoPods", "event Warning CalculateExpectedPodCountFailed", "event Warning UnmanagedPods",
		"event Warning NotDeleted", "event Warning MultiplePodDisruptionBudgets",
		"allowed", "none allowed", "no controllers", "no scale", "no apiVersion", "no percentage", "no selector",
		"sum beyond int32", "exactly two minutes", "entry kept", "entry of a predecessor", "scale looked up", "Deployment of two ReplicaSets",
	},
	Marks: markBudgets,
	Smaller: func(s disruption.Snapshot) []disruption.Snapshot {
		var smaller []disruption.Snapshot
		with := func(change func(*disruption.Snapshot)) {
			less := s
			change(&less)
			smaller = append(smaller, less)
		}
		for _, list := range Without(s.Budgets) {
			with(func(s *disruption.Snapshot) { s.Budgets = list })
		}
		for _, list := range Without(s.Pods) {
			with(func(s *disruption.Snapshot) { s.Pods = list })
		}
		for _, list := range Without(s.ReplicaSets) {
			with(func(s *disruption.Snapshot) { s.ReplicaSets = list })
		}
		for _, list := range Without(s.Deployments) {
			with(func(s *disruption.Snapshot) { s.Deployments = list })
		}
		for _, list := range Without(s.StatefulSets) {
			with(func(s *disruption.Snapshot) { s.StatefulSets = list })
		}
		for _, list := range Without(s.ReplicationControllers) {
			with(func(s *disruption.Snapshot) { s.ReplicationControllers = list })
		}
		return smaller
	},
	Describe: func(s disruption.Snapshot) string {
		var lines []string
		for k, v := range s.Answers {
			lines = append(lines, fmt.Sprintf("scale of %+v: %+v", k, v))
		}
		slices.Sort(lines)
		return strings.Join(lines, "\n")
	},
}

var upstreamBudgets = disruption.Options{MatchUpstream: Release}

// planAll plans a snapshot that is not wrong as a whole.
func planAll(s disruption.Snapshot, o disruption.Options) []disruption.Outcome {
	outcomes, err := disruption.PlanAll(s, o)
	if err != nil {
		panic(err)
	}
	return outcomes
}

func TestDisruption(t *testing.T) { disruptionCore.Test(t) }

func budgetObjects(s disruption.Snapshot) []runtime.Object {
	return slices.Concat(asObjects(s.Budgets), asObjects(s.ReplicationControllers), asObjects(s.ReplicaSets),
		asObjects(s.Deployments), asObjects(s.StatefulSets), asObjects(s.Pods))
}

// scaleNeed is the lookup of a scale in the version v1. Plans take an answer for any version.
func scaleNeed(group, kind, namespace, name string) purekube.Need {
	return purekube.Need{APIVersion: strings.TrimPrefix(group+"/v1", "/"), Kind: kind, Namespace: namespace, Name: name, Subresource: "scale"}
}

func scaleAnswer(uid types.UID, replicas int32) purekube.Answer {
	return purekube.Answer{Object: &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{UID: uid}, Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}}
}

// budgetAnswers plays the API server that the snapshot was read from.
func budgetAnswers(s disruption.Snapshot) *Answers {
	var a Answers
	for _, b := range s.Budgets {
		a.Objects = append(a.Objects, b)
	}
	for _, p := range s.Pods {
		a.Objects = append(a.Objects, p)
	}
	return &a
}

func budgetTrace(s disruption.Snapshot, outcomes []disruption.Outcome) Trace {
	var trace Trace
	answers := budgetAnswers(s)
	for _, o := range outcomes {
		if len(o.Result.Needs) > 0 {
			panic(fmt.Sprintf("%v needs %v: the generator answers all", o.Key, o.Result.Needs))
		}
		trace.Requests = append(trace.Requests, Planned(answers, o.Result.Actions)...)
		trace.Events = append(trace.Events, EventsOf(o.Result.Events)...)
	}
	return trace
}

func withoutLookups(requests []Request) []Request {
	return slices.DeleteFunc(requests, func(r Request) bool { return r.Verb == "get" })
}

var podName = regexp.MustCompile(`for pod \\"[a-z0-9-]+\\"`)

// anyPod takes the pod's name out of "found no controllers for pod …": upstream meets pods in the order
// of a map, and names another one each time.
func anyPod(t Trace) Trace {
	for i := range t.Requests {
		t.Requests[i].Body = podName.ReplaceAllString(t.Requests[i].Body, `for pod \"*\"`)
	}
	return t
}

// TestDisruptionNamesThePod: with one pod there is one order.
func TestDisruptionNamesThePod(t *testing.T) {
	s := disruption.Snapshot{Now: Epoch, Budgets: []*policyv1.PodDisruptionBudget{covering("b", "1")}, Pods: []*corev1.Pod{ownedPod("p", "x.io/v1", "Widget", "w")},
		Answers: map[purekube.Need]purekube.Answer{scaleNeed("x.io", "Widget", "ns", "w"): {}}}
	Run(t, disruptionCore.Objects(s), disruptionCore.Start(s), func(t *testing.T, w *World) {
		upstream := w.Settle()
		upstream.Requests = withoutLookups(upstream.Requests)
		require.Empty(t, difference(upstream, budgetTrace(s, planAll(s, upstreamBudgets))))
		require.Contains(t, upstream.String(), `"message":"found no controllers for pod \"p\""`)
	})
}

// TestDisruptionNeeds compares the lookups, where every controller is found: upstream stops at the first
// that is not.
func TestDisruptionNeeds(t *testing.T) {
	run := Settings(t, 5000)
	lookups := 0
	for i := range run.Numbers() {
		s := generateBudgets(run.Source(i))
		if slices.ContainsFunc(planAll(s, upstreamBudgets), func(o disruption.Outcome) bool { return o.Err != nil }) {
			continue
		}
		asked, made := map[Request]bool{}, map[Request]bool{}
		unanswered := s
		unanswered.Answers = nil
		for _, o := range planAll(unanswered, upstreamBudgets) {
			for _, n := range o.Result.Needs {
				asked[lookup(n.Kind, n.Subresource, n.Namespace, n.Name)] = true
			}
		}
		Run(t, disruptionCore.Objects(s), disruptionCore.Start(s), func(_ *testing.T, w *World) {
			for _, r := range w.Settle().Requests {
				if r.Verb == "get" {
					made[r] = true
				}
			}
		})
		// A pod that belongs to a Deployment directly is looked up unless another one's ReplicaSet has
		// led to that Deployment before; for upstream that is a matter of chance.
		for _, requests := range []map[Request]bool{asked, made} {
			maps.DeleteFunc(requests, func(r Request, _ bool) bool { return r.Resource == "deployments" })
		}
		if diff := cmp.Diff(made, asked, equateEmpty); diff != "" {
			t.Fatalf("other lookups (- kube-controller-manager, + ours):\n%s\nfor\n%s\n%s", diff, disruptionCore.text(s), run.Again(t, i))
		}
		lookups += len(made)
	}
	t.Logf("%d lookups", lookups)
	require.Greater(t, lookups, run.Count/50)
}

func lookup(kind, subresource, namespace, name string) Request {
	return Get(strings.ToLower(kind)+"s", subresource, namespace, name)
}

// TestDisruptionRecheck lets time pass up to each RecheckAt: the real controller has to stay quiet
// before and to do then what the plan for that moment says. Its budgets go through a queue that
// holds each of them back by another 5 ms.
func TestDisruptionRecheck(t *testing.T) {
	const rateLimit = 5 * time.Millisecond
	run := Settings(t, 5000)
	moments := 0
	for i := range run.Numbers() {
		s := generateBudgets(run.Source(i))
		for _, p := range s.Pods {
			p.Status.Conditions = slices.DeleteFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.DisruptionTarget })
		}
		next := func() (at time.Time) {
			for _, o := range planAll(s, upstreamBudgets) {
				if o.Result.RecheckAt.After(s.Now) && (at.IsZero() || o.Result.RecheckAt.Before(at)) {
					at = o.Result.RecheckAt
				}
			}
			return at
		}
		first := next()
		if first.IsZero() {
			continue
		}
		Run(t, disruptionCore.Objects(s), disruptionCore.Start(s), func(t *testing.T, w *World) {
			w.Settle()
			moments++
			if early := w.Sleep(time.Until(first) + rateLimit - 2).String(); early != "nothing" {
				t.Fatalf("before %s:\n%s\nfor\n%s\n%s", first, early, disruptionCore.text(s), run.Again(t, i))
			}
			keys := map[string]bool{}
			var ours Trace
			for _, o := range planAll(s, upstreamBudgets) {
				if o.Result.RecheckAt.Equal(first) {
					keys[o.Key.String()] = true
				}
			}
			s.Now = first.Add(rateLimit)
			for _, o := range planAll(s, upstreamBudgets) {
				if keys[o.Key.String()] {
					ours.Requests = append(ours.Requests, Planned(budgetAnswers(s), o.Result.Actions)...)
					ours.Events = append(ours.Events, EventsOf(o.Result.Events)...)
				}
			}
			late := disruptionCore.Upstream(s, w.Sleep(2))
			if diff := difference(late, anyPod(ours)); diff != "" {
				t.Fatalf("at %s (- kube-controller-manager, + ours):\n%s\nfor\n%s\n%s", first, diff, disruptionCore.text(s), run.Again(t, i))
			}
		})
	}
	t.Logf("%d moments", moments)
	require.Greater(t, moments, run.Count/50)
}

// TestDisruptionTargetRecheck does the same for pods whose condition is not stale yet.
func TestDisruptionTargetRecheck(t *testing.T) {
	run := Settings(t, 5000)
	moments := 0
	for i := range run.Numbers() {
		s := generateBudgets(run.Source(i))
		s.Budgets = nil
		rechecks := map[time.Time][]purekube.Key{}
		for _, o := range planAll(s, upstreamBudgets) {
			if at := o.Result.RecheckAt; !at.IsZero() {
				rechecks[at] = append(rechecks[at], o.Key)
			}
		}
		if len(rechecks) == 0 {
			continue
		}
		Run(t, disruptionCore.Objects(s), disruptionCore.Start(s), func(t *testing.T, w *World) {
			w.Settle()
			atEachRecheck(t, w, rechecks, func(at time.Time, keys []purekube.Key) (ours Trace) {
				moments++
				s.Now = at
				for _, key := range keys {
					result, err := disruption.Plan(s, key, upstreamBudgets)
					require.NoError(t, err)
					ours.Requests = append(ours.Requests, Planned(budgetAnswers(s), result.Actions)...)
				}
				return ours
			}, func() string { return disruptionCore.text(s) + "\n" + run.Again(t, i) })
		})
	}
	t.Logf("%d moments", moments)
	require.Greater(t, moments, run.Count/50)
}

// TestDisruptionAffected compares the budgets that a pod's event leads to. Of several that cover the pod
// upstream works on one; ours may name more, not fewer.
func TestDisruptionAffected(t *testing.T) {
	run := Settings(t, 5000)
	seen := coverage{}
	for i := range run.Numbers() {
		r := run.Source(i)
		s := generateBudgets(r)
		for _, b := range s.Budgets {
			b.Generation, b.Status.ObservedGeneration = 2, 1 // so that every pass shows
		}
		changed := somePod(r, "newcomer", "no scale")
		kind := "added"
		if len(s.Pods) > 0 && r.IntN(3) > 0 {
			changed, kind = s.Pods[r.IntN(len(s.Pods))], []string{"updated", "deleted"}[r.IntN(2)]
		}
		oldObj, newObj := changed, changed
		switch kind {
		case "added":
			oldObj = nil
		case "deleted":
			newObj = nil
		}
		var affected []purekube.Key
		x := disruption.NewIndex(s, upstreamBudgets)
		one := disruption.Snapshot{Pods: []*corev1.Pod{changed}}
		var keys []purekube.Key
		switch {
		case newObj == nil:
			_, keys = x.Without(one)
		case oldObj == nil:
			x, _ = x.Without(one)
			fallthrough
		default:
			_, keys = x.With(one)
		}
		for _, key := range keys {
			if key.Kind == "PodDisruptionBudget" {
				affected = append(affected, key)
			}
		}
		worked := map[purekube.Key]bool{}
		Run(t, disruptionCore.Objects(s), disruptionCore.Start(s), func(_ *testing.T, w *World) {
			w.Settle()
			switch kind {
			case "added":
				w.Add(changed)
			case "updated":
				w.Update(changed.DeepCopy())
			case "deleted":
				w.Delete(changed, r.IntN(2) == 0)
			}
			for _, req := range w.Settle().Requests {
				if req.Resource == "poddisruptionbudgets" {
					worked[disruption.BudgetKey(req.Namespace, req.Name)] = true
				}
			}
		})
		for key := range worked {
			if !slices.Contains(affected, key) {
				t.Fatalf("%v is worked on after pod %s was %s, ours: %v\nfor\n%s\n%s", key, changed.Name, kind, affected, disruptionCore.text(s), run.Again(t, i))
			}
		}
		if len(worked) != min(1, len(affected)) {
			t.Fatalf("after pod %s was %s kube-controller-manager worked on %v, ours: %v\nfor\n%s\n%s", changed.Name, kind, worked, affected, disruptionCore.text(s), run.Again(t, i))
		}
		kinds := []string{kind, "one"}
		switch {
		case len(affected) == 0:
			kinds[1] = "nobody"
		case len(affected) > 1:
			kinds[1] = "several"
		}
		seen.add(kinds)
	}
	seen.check(t, []string{"added", "updated", "deleted", "nobody", "one", "several"})
}

func markBudgets(s disruption.Snapshot, t Trace) []string {
	var marks []string
	for _, r := range t.Requests {
		for _, sign := range [][2]string{
			{`"reason":"SufficientPods"`, "allowed"}, {`"reason":"InsufficientPods"`, "none allowed"},
			{`"message":"found no controllers`, "no controllers"}, {`"message":"the scale is out of reach`, "no scale"},
			{`"message":"unexpected GroupVersion`, "no apiVersion"}, {`"message":"invalid value for IntOrString`, "no percentage"},
			{`is not a valid label selector operator`, "no selector"}, {`"disruptedPods":{`, "entry kept"},
			{`"expectedPods":-`, "sum beyond int32"},
		} {
			if r.Resource == "poddisruptionbudgets" && strings.Contains(r.Body, sign[0]) {
				marks = append(marks, sign[1])
			}
		}
	}
	for _, b := range s.Budgets {
		e, err := disruption.NewIndex(s, upstreamBudgets).Explain(disruption.KeyOf(b))
		if err != nil {
			continue
		}
		for _, p := range e.Budget.Pods {
			at, listed := b.Status.DisruptedPods[p.Name]
			if listed && p.Health != disruption.BeingDeleted && Epoch.Sub(at.Time) == disruption.DefaultDeletionTimeout {
				marks = append(marks, "exactly two minutes")
			}
			for _, pod := range s.Pods {
				if pod.Name == p.Name && p.Health == disruption.BeingEvicted && pod.CreationTimestamp.After(at.Time) {
					marks = append(marks, "entry of a predecessor")
				}
			}
		}
		for _, c := range e.Budget.Controllers {
			if len(c.Through) > 1 && c.Kind == "Deployment" {
				marks = append(marks, "Deployment of two ReplicaSets")
			}
			if c.Kind == "Widget" {
				marks = append(marks, "scale looked up")
			}
		}
	}
	return marks
}

// generateBudgets makes a few budgets over a few pods of all sorts of controllers. Every scale can be
// looked up. What goes wrong with controllers goes wrong in one way for all of them, since upstream
// reports the first in an order that it does not keep.
func generateBudgets(r *rand.Rand) disruption.Snapshot {
	s := disruption.Snapshot{Now: Epoch, Answers: map[purekube.Need]purekube.Answer{}}
	failure := []string{"no controllers", "no scale", "no scale", "no apiVersion", "no apiVersion", "none", "none"}[r.IntN(7)]
	for _, name := range []string{"one", "two"} {
		someWorkloads(r, &s, name, failure)
	}
	for i := range r.IntN(9) {
		s.Pods = append(s.Pods, somePod(r, fmt.Sprintf("pod-%d", i), failure))
	}
	for i := range r.IntN(4) {
		s.Budgets = append(s.Budgets, someBudget(r, fmt.Sprintf("budget-%d", i), s.Pods))
	}
	if r.IntN(3) == 0 {
		settleBudgets(s)
	}
	return s
}

// settleBudgets makes the statuses right, except for what comes again on every pass.
func settleBudgets(s disruption.Snapshot) {
	for i, b := range s.Budgets {
		result, _ := disruption.Plan(s, disruption.KeyOf(b), upstreamBudgets)
		for _, a := range result.Actions {
			s.Budgets[i] = a.(disruption.UpdateStatus).Budget
		}
	}
	for i, p := range s.Pods {
		result, _ := disruption.Plan(s, disruption.KeyOf(p), upstreamBudgets)
		for _, a := range result.Actions {
			s.Pods[i] = a.(disruption.ClearDisruptionTarget).Pod
		}
	}
}

func someWorkloads(r *rand.Rand, s *disruption.Snapshot, name, failure string) {
	replicas := func() *int32 {
		n := int32(r.IntN(6))
		if r.IntN(9) == 0 {
			n = 1<<31 - 1
		}
		return &n
	}
	meta := func(kind string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(kind + "-" + name)}
	}
	// A scale says what the object says, but that it may be gone meanwhile.
	scale := func(group, kind string, uid types.UID, n int32) {
		answer := scaleAnswer(uid, n)
		// A Deployment that owns pods itself may be counted through a ReplicaSet already, or not,
		// as upstream's order goes: nothing may hang on that.
		if kind != "Deployment" && r.IntN(3) == 0 {
			switch failure {
			case "no controllers":
				if answer = (purekube.Answer{}); r.IntN(2) == 0 {
					answer = scaleAnswer("another", n)
				}
			case "no scale":
				answer = purekube.Answer{Err: errors.New("the scale is out of reach")}
			}
		}
		s.Answers[scaleNeed(group, kind, "ns", name)] = answer
	}

	deployment := &appsv1.Deployment{ObjectMeta: meta("Deployment"), Spec: appsv1.DeploymentSpec{Replicas: replicas()}}
	scale("apps", "Deployment", deployment.UID, *deployment.Spec.Replicas)
	if r.IntN(4) > 0 {
		s.Deployments = append(s.Deployments, deployment)
	}
	rs := &appsv1.ReplicaSet{ObjectMeta: meta("ReplicaSet"), Spec: appsv1.ReplicaSetSpec{Replicas: replicas()}}
	scale("apps", "ReplicaSet", rs.UID, *rs.Spec.Replicas)
	s.Answers[scaleNeed("extensions", "ReplicaSet", "ns", name)] = s.Answers[scaleNeed("apps", "ReplicaSet", "ns", name)]
	if r.IntN(5) > 0 {
		owner := []string{"one", "one", "one", "two"}[r.IntN(4)]
		rs.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: owner, UID: types.UID("Deployment-" + owner), Controller: new(r.IntN(8) > 0)}}
		switch r.IntN(10) {
		case 0:
			rs.OwnerReferences[0].Kind = "Rollout"
		case 1:
			rs.OwnerReferences[0].APIVersion = "elsewhere.io/v1"
		case 2:
			rs.OwnerReferences[0].UID = "another"
		case 3:
			if failure == "no apiVersion" {
				rs.OwnerReferences[0].APIVersion = "a/b/c"
			}
		}
	}
	if r.IntN(6) > 0 {
		s.ReplicaSets = append(s.ReplicaSets, rs)
	}
	ss := &appsv1.StatefulSet{ObjectMeta: meta("StatefulSet"), Spec: appsv1.StatefulSetSpec{Replicas: replicas()}}
	scale("apps", "StatefulSet", ss.UID, *ss.Spec.Replicas)
	if r.IntN(4) > 0 {
		s.StatefulSets = append(s.StatefulSets, ss)
	}
	rc := &corev1.ReplicationController{ObjectMeta: meta("ReplicationController"), Spec: corev1.ReplicationControllerSpec{Replicas: replicas()}}
	scale("", "ReplicationController", rc.UID, *rc.Spec.Replicas)
	if r.IntN(4) > 0 {
		s.ReplicationControllers = append(s.ReplicationControllers, rc)
	}
	scale("x.io", "Widget", types.UID("Widget-"+name), int32(r.IntN(6)))
}

func somePod(r *rand.Rand, name, failure string) *corev1.Pod {
	apiVersion, kind := "apps/v1", "ReplicaSet"
	switch r.IntN(14) {
	case 0:
		apiVersion, kind = "v1", "ReplicationController"
	case 1, 2:
		kind = "StatefulSet"
	case 3, 4:
		apiVersion, kind = []string{"x.io/v1", "x.io/v2"}[r.IntN(2)], "Widget"
	case 5:
		apiVersion = "extensions/v1beta1"
	case 6:
		kind = "Deployment"
	case 7:
		if failure == "no apiVersion" {
			apiVersion = "a/b/c"
		}
	}
	of := []string{"one", "two"}[r.IntN(2)]
	p := ownedPod(name, apiVersion, kind, of)
	p.OwnerReferences[0].UID = types.UID(kind + "-" + of)
	if apiVersion == "a/b/c" {
		// Nobody else has it: otherwise it would depend on the order of pods whether it is looked at.
		p.OwnerReferences[0].UID = "nobody-else"
	}
	switch r.IntN(12) {
	case 0:
		p.OwnerReferences = nil
	case 1:
		p.OwnerReferences[0].Controller = nil
	case 2:
		if failure == "no controllers" {
			p.OwnerReferences[0].UID = "another-one"
		}
	}
	p.Labels = map[string]string{"app": []string{"a", "a", "b"}[r.IntN(3)]}
	if r.IntN(3) == 0 {
		p.Labels["tier"] = "front"
	}
	p.Generation = int64(r.IntN(3))
	p.Status.Phase = []corev1.PodPhase{"Running", "Running", "Running", "Pending", "Succeeded", "Failed"}[r.IntN(6)]
	if r.IntN(6) == 0 {
		p.DeletionTimestamp = new(someAge(r))
	}
	p.CreationTimestamp = metav1.NewTime(Epoch.Add(-time.Hour))
	if r.IntN(2) == 0 {
		p.CreationTimestamp = someAge(r)
	}
	ready := corev1.PodCondition{Type: corev1.PodReady, Status: []corev1.ConditionStatus{"True", "True", "True", "False", "Unknown"}[r.IntN(5)]}
	p.Status.Conditions = []corev1.PodCondition{ready}
	if r.IntN(8) == 0 {
		p.Status.Conditions = nil
	}
	if r.IntN(5) == 0 {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: []corev1.ConditionStatus{"True", "True", "False"}[r.IntN(3)], LastTransitionTime: someAge(r),
			Reason:  []string{"EvictionByEvictionAPI", "PreemptionByScheduler", corev1.PodReasonTerminationByKubelet}[r.IntN(3)],
			Message: "going",
		})
	}
	return p
}

func someAge(r *rand.Rand) metav1.Time {
	ago := []time.Duration{0, time.Second, time.Minute, 119 * time.Second, 2 * time.Minute, 2 * time.Minute, 121 * time.Second, time.Hour, -time.Minute}
	return metav1.NewTime(Epoch.Add(-ago[r.IntN(len(ago))]))
}

func someBudget(r *rand.Rand, name string, pods []*corev1.Pod) *policyv1.PodDisruptionBudget {
	amounts := []string{"0", "1", "2", "5", "0%", "30%", "50%", "99%", "100%"}
	amount := func() *intstr.IntOrString {
		if r.IntN(15) == 0 {
			return new(intstr.FromString("many"))
		}
		return new(intstr.Parse(amounts[r.IntN(len(amounts))]))
	}
	b := covering(name, "1")
	b.Generation = int64(1 + r.IntN(2))
	b.Spec.MaxUnavailable = nil
	switch r.IntN(8) {
	case 0:
	case 1, 2, 3:
		b.Spec.MinAvailable = amount()
	default:
		b.Spec.MaxUnavailable = amount()
	}
	switch r.IntN(9) {
	case 0:
		b.Spec.Selector = nil
	case 1, 8:
		b.Spec.Selector = &metav1.LabelSelector{}
	case 2:
		b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a", "tier": "front"}}
	case 3:
		b.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "app", Operator: []metav1.LabelSelectorOperator{metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, "Like"}[r.IntN(3)], Values: []string{"b", "c"}}}}
	case 4:
		b.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "tier", Operator: []metav1.LabelSelectorOperator{metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist}[r.IntN(2)]}}}
	}
	st := &b.Status
	st.ObservedGeneration = int64(r.IntN(3))
	st.DisruptionsAllowed, st.CurrentHealthy = int32(r.IntN(3)), int32(r.IntN(3))
	st.DesiredHealthy, st.ExpectedPods = int32(r.IntN(3)), int32(r.IntN(3))
	for _, p := range pods {
		if r.IntN(2) == 0 {
			if st.DisruptedPods == nil {
				st.DisruptedPods = map[string]metav1.Time{}
			}
			st.DisruptedPods[p.Name] = someAge(r)
		}
	}
	if r.IntN(6) == 0 {
		st.DisruptedPods = map[string]metav1.Time{"gone": someAge(r)}
	}
	for _, kind := range []string{"example.com/Other", policyv1.DisruptionAllowedCondition} {
		if r.IntN(2) == 0 {
			st.Conditions = append(st.Conditions, metav1.Condition{
				Type: kind, Status: []metav1.ConditionStatus{"True", "False"}[r.IntN(2)], LastTransitionTime: someAge(r),
				Reason: []string{"SufficientPods", "InsufficientPods", "SyncFailed"}[r.IntN(3)], Message: []string{"", "x"}[r.IntN(2)],
			})
		}
	}
	return b
}

// covering is a budget over the pods with the label app=a.
func covering(name, maxUnavailable string) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name), ResourceVersion: "1", Generation: 1},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: new(intstr.Parse(maxUnavailable)),
			Selector:       &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}},
		},
	}
}

// ownedPod is a ready pod with the label app=a.
func ownedPod(name, apiVersion, kind, owner string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, UID: types.UID("uid-" + name), ResourceVersion: "1", Labels: map[string]string{"app": "a"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: owner, UID: types.UID("uid-" + owner), Controller: new(true)}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
}
