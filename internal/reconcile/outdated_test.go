package reconcile

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/reconcile/claimmemory"
	"github.com/purekube/purekube/resourceclaim"
)

// What an event brings while lookups are open counts for the plan that is made with their answers.

// lateTwice has a budget over three pods whose lookups are late for the second time: its status refuses. It returns what is
// still asked for, and the time.
func lateTwice(t *testing.T) (*budgetLoop, []purekube.Need, time.Time) {
	t.Helper()
	l := newBudgetLoop()
	seeBudget(l, podsOf("a", "b", "c"))
	l.Start(start)
	planned(start, l)
	now := start.Add(LookupsDeadline)
	ask := refuse(t, l, now)
	require.Len(t, ask, 3)
	now = now.Add(LookupsDeadline)
	require.True(t, l.Tick(now, web))
	turn, _ := planned(now, l)
	require.Empty(t, turn.Result.Actions, "the status refuses already")
	l.End(now, turn, nil, false)
	return l, ask, now
}

// refuse writes and shows the status that refuses because lookups are late. It returns what is asked for again.
func refuse(t *testing.T, l *budgetLoop, now time.Time) (ask []purekube.Need) {
	t.Helper()
	turn, _ := planned(now, l)
	require.EqualValues(t, 0, allowed(t, turn))
	refusing := turn.Result.Actions[0].(disruption.UpdateStatus).Budget.DeepCopy()
	refusing.ResourceVersion = "2"
	l.End(now, turn, nil, false)
	seeBudget(l, disruption.Snapshot{Budgets: []*policyv1.PodDisruptionBudget{refusing}})
	_, ask = planned(now, l)
	return ask
}

// event shows the pods of the budget, and makes the turn that they bring about.
func event(t *testing.T, l *budgetLoop, now time.Time, pods disruption.Snapshot) {
	t.Helper()
	require.Contains(t, seeBudget(l, pods), web)
	turn, _ := planned(now, l)
	require.Empty(t, turn.Result.Actions)
	l.End(now, turn, nil, false)
}

func TestPodsThatCrashDuringLateLookups(t *testing.T) {
	l, ask, now := lateTwice(t)
	crashed := podsOf("a", "b", "c")
	for _, p := range crashed.Pods {
		p.Status.Conditions[0].Status = corev1.ConditionFalse
	}
	event(t, l, now.Add(time.Minute), crashed)
	answered := now.Add(10 * time.Minute)
	found(answered, l, ask...)
	turn, _ := planned(answered, l)
	require.Equal(t, CarryOut, turn.Step)
	require.Empty(t, turn.Result.Actions, "no pod is healthy, and the Index has shown that for nine minutes")
	require.True(t, l.End(answered, turn, nil, false).Requeue, "and then the status of now")
}

// An event that makes no difference for the status does not hold it back: pods change all the time.
func TestPodsThatChangeAndCountAsBeforeDuringLateLookups(t *testing.T) {
	l, ask, now := lateTwice(t)
	labelled := podsOf("a", "b", "c")
	labelled.Pods[0].Labels["zone"] = "a"
	event(t, l, now.Add(time.Minute), labelled)
	answered := now.Add(10 * time.Minute)
	found(answered, l, ask...)
	turn, _ := planned(answered, l)
	require.EqualValues(t, 1, allowed(t, turn))
}

// Until the deadline, the status does not wait for a quiet moment. Its pods are younger than that.
func TestPodsThatChangeDuringLookups(t *testing.T) {
	l := newBudgetLoop()
	seeBudget(l, podsOf("a", "b", "c"))
	l.Start(start)
	_, ask := planned(start, l)
	event(t, l, start, podsOf("a", "b", "c", "d"))
	answered := start.Add(LookupsDeadline - time.Second)
	found(answered, l, ask...)
	turn, _ := planned(answered, l)
	require.EqualValues(t, 1, allowed(t, turn))
	require.True(t, l.End(answered, turn, nil, false).Requeue, "and then with the pods of now")
}

// The scale of a is answered at once, and the scale of b ten minutes later. Meanwhile, a has grown, and its new pods are not
// ready.
func TestScaleIsTooOldWhenTheLastLookupIsAnswered(t *testing.T) {
	l := newBudgetLoop()
	seeBudget(l, podsOf("a", "b"))
	l.Start(start)
	planned(start, l)
	now := start.Add(LookupsDeadline)
	ask := refuse(t, l, now)
	require.Len(t, ask, 2)
	found(now, l, ask[0])
	grown := podsOf(slices.Repeat([]string{"a"}, 30)...)
	for _, p := range grown.Pods[1:] {
		p.Status.Conditions[0].Status = corev1.ConditionFalse
	}
	event(t, l, now.Add(time.Minute), grown)
	answered := now.Add(10 * time.Minute)
	found(answered, l, ask[1])
	turn, _ := planned(answered, l)
	require.Empty(t, turn.Result.Actions, "2 of 31 pods are healthy")
	require.ErrorContains(t, turn.Next.Err, "1 of 2 lookups are older than 1m0s and are made again")
}

// Lookups are answered in ten seconds, but a worker takes the key after 16 each time, and one pod more has crashed by
// then.
func TestPodsThatCrashWhileTheQueueIsLong(t *testing.T) {
	l := newBudgetLoop()
	pods := podsOf("a", "b", "c", "d", "e", "f")
	seeBudget(l, pods)
	l.Start(start)
	_, ask := planned(start, l)
	found(start, l, ask...)
	turn, _ := planned(start, l)
	require.EqualValues(t, 1, allowed(t, turn))
	status := turn.Result.Actions[0].(disruption.UpdateStatus).Budget.DeepCopy()
	l.End(start, turn, nil, false)
	status.ResourceVersion = "2"
	seeBudget(l, disruption.Snapshot{Budgets: []*policyv1.PodDisruptionBudget{status}})
	now := start.Add(time.Minute)
	crash := func(i int) {
		pod := pods.Pods[i].DeepCopy()
		pod.Status.Conditions[0].Status = corev1.ConditionFalse
		require.Contains(t, seeBudget(l, disruption.Snapshot{Pods: []*corev1.Pod{pod}}), web)
	}
	crash(0)
	_, ask = planned(now, l)
	found(now.Add(10*time.Second), l, ask...)
	now = now.Add(LookupsDeadline + time.Second)
	require.False(t, l.Tick(now, web), "nothing is open")
	crash(1)
	turn, _ = planned(now, l)
	require.EqualValues(t, 0, allowed(t, turn))
	require.Contains(t, turn.Result.Actions[0].(disruption.UpdateStatus).Budget.Status.Conditions[0].Message,
		"no answer from the API server within 15s that still holds")
	require.True(t, l.End(now, turn, nil, false).Requeue, "and then with new answers")
	_, ask = planned(now, l)
	require.Len(t, ask, len(pods.Pods))
}

// The ReplicaSet of the pods is looked up, since its informer does not show it yet. Without the answer, the Index does not
// know that its Deployment is about the budget.
func TestDeploymentIsScaledWhileItsReplicaSetIsLookedUp(t *testing.T) {
	deployment := func(n int32) disruption.Snapshot {
		return disruption.Snapshot{Deployments: []*appsv1.Deployment{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "d", UID: "d"}, Spec: appsv1.DeploymentSpec{Replicas: &n}}}}
	}
	ownedBy := func(kind, name string) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: name, UID: types.UID(name), Controller: ptr.To(true)}}
	}
	pods := podsOf("a", "b", "c")
	for _, p := range pods.Pods {
		p.OwnerReferences = ownedBy("ReplicaSet", "r")
	}
	l := newBudgetLoop()
	seeBudget(l, pods)
	seeBudget(l, deployment(3))
	l.Start(start)
	_, ask := planned(start, l)
	require.Len(t, ask, 1)
	require.True(t, l.Look(start, ask[0]))
	require.NotContains(t, seeBudget(l, deployment(10)), web)
	l.Found(ask[0], purekube.Answer{Object: &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "r", UID: "r",
		OwnerReferences: ownedBy("Deployment", "d")}, Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To[int32](3)}}}, nil)
	turn, _ := planned(start, l)
	require.EqualValues(t, 1, allowed(t, turn), "the Deployment had three pods when the ReplicaSet was asked for")
	require.True(t, l.End(start, turn, nil, false).Requeue, "and has ten now")
}

type claimLoop = Loop[*resourceclaim.Index, resourceclaim.Snapshot, resourceclaim.Action]

// newClaimLoop is the loop of ResourceClaims as clientgo makes it.
func newClaimLoop(m *claimmemory.Memory, s resourceclaim.Snapshot) *claimLoop {
	o := resourceclaim.Options{PodGroupOf: func(p *corev1.Pod) string { return p.Labels["group"] }}
	l := New(resourceclaim.NewIndex(s, o), Options[*resourceclaim.Index, resourceclaim.Snapshot]{
		Synced: func() bool { return true }, At: m.At, Answers: claimmemory.Confirmed, Written: m.Wrote, RetryProblems: true})
	l.Start(start)
	return l
}

// plannedClaim plans until the turn waits or has a plan.
func plannedClaim(now time.Time, l *claimLoop, key purekube.Key) (t *Turn[*resourceclaim.Index, resourceclaim.Action], ask []purekube.Need) {
	for t = l.Begin(now, key); t.Step == Plan; {
		result, problems := t.Index.Plan(key)
		l.Planned(now, t, result, problems)
		ask = append(ask, t.Ask...)
	}
	return t, ask
}

// training is a pod with an entry whose claim is gone: its status names one that the cache does not have.
func training() (*corev1.Pod, resourceclaim.Snapshot) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "train-0", UID: "train-0", ResourceVersion: "5"},
		Spec:       corev1.PodSpec{ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: ptr.To("gpu")}}},
		Status:     corev1.PodStatus{ResourceClaimStatuses: []corev1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: ptr.To("gone")}}},
	}
	template := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "gpu", UID: "gpu", ResourceVersion: "4"}}
	return pod, resourceclaim.Snapshot{Pods: []*corev1.Pod{pod}, Templates: []*resourcev1.ResourceClaimTemplate{template}}
}

func TestBR3002_ClaimOfTheEntryIsShownDuringALookup(t *testing.T) {
	pod, s := training()
	l, key := newClaimLoop(&claimmemory.Memory{}, s), resourceclaim.KeyOf(pod)
	_, ask := plannedClaim(start, l, key)
	require.Len(t, ask, 1)
	require.True(t, l.Look(start, ask[0]))
	made := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "train-0-gpu-abcde", UID: "made", ResourceVersion: "6",
		Annotations:     map[string]string{resourceclaim.PodClaimAnnotation: "gpu"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "train-0", UID: "train-0", Controller: ptr.To(true)}}}}
	affected := l.Event(schema.GroupResource{Group: "resource.k8s.io", Resource: "resourceclaims"}, "6",
		func(x *resourceclaim.Index) (*resourceclaim.Index, []purekube.Key) {
			return x.With(resourceclaim.Snapshot{Claims: []*resourcev1.ResourceClaim{made}})
		})
	require.Contains(t, affected, key)
	l.Found(ask[0], purekube.Answer{}, nil)
	turn, _ := plannedClaim(start.Add(10*time.Second), l, key)
	require.Empty(t, turn.Result.Actions, "the entry has a claim, and the Index has shown it for ten seconds")
	require.True(t, l.End(start.Add(10*time.Second), turn, nil, false).Requeue)
	_, ask = plannedClaim(start.Add(10*time.Second), l, key)
	require.Len(t, ask, 1)
	require.True(t, l.Look(start.Add(10*time.Second), ask[0]))
	l.Found(ask[0], purekube.Answer{}, nil)
	turn, _ = plannedClaim(start.Add(10*time.Second), l, key)
	require.Len(t, turn.Result.Actions, 1)
	require.Equal(t, "SetClaimStatuses", turn.Result.Actions[0].Type())
}

// What was wrong when the lookup was asked for is no news if it has been mended since.
func TestTemplateIsMadeDuringALookup(t *testing.T) {
	pod, s := training()
	pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, corev1.PodResourceClaim{Name: "nic", ResourceClaimTemplateName: ptr.To("nic")})
	l, key := newClaimLoop(&claimmemory.Memory{}, s), resourceclaim.KeyOf(pod)
	_, ask := plannedClaim(start, l, key)
	require.Len(t, ask, 1)
	require.True(t, l.Look(start, ask[0]))
	template := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "nic", UID: "nic", ResourceVersion: "6"}}
	l.Event(schema.GroupResource{Group: "resource.k8s.io", Resource: "resourceclaimtemplates"}, "6", func(x *resourceclaim.Index) (*resourceclaim.Index, []purekube.Key) {
		return x.With(resourceclaim.Snapshot{Templates: []*resourcev1.ResourceClaimTemplate{template}})
	})
	l.Found(ask[0], purekube.Answer{}, nil)
	turn, _ := plannedClaim(start, l, key)
	require.Empty(t, turn.Result.Events)
	require.NoError(t, turn.Problems)
	require.Equal(t, Next{Requeue: true}, l.End(start, turn, nil, false))
}

func TestBR3009_PodIsDeletedDuringALookup(t *testing.T) {
	pod, s := training()
	m := &claimmemory.Memory{}
	l, key := newClaimLoop(m, s), resourceclaim.KeyOf(pod)
	_, ask := plannedClaim(start, l, key)
	require.Len(t, ask, 1)
	require.True(t, l.Look(start, ask[0]))
	l.Event(schema.GroupResource{}, "", m.PodGone(pod))
	l.Event(schema.GroupResource{Resource: "pods"}, "6", func(x *resourceclaim.Index) (*resourceclaim.Index, []purekube.Key) {
		return x.Without(resourceclaim.Snapshot{Pods: []*corev1.Pod{pod}})
	})
	l.Found(ask[0], purekube.Answer{}, nil)
	turn, _ := plannedClaim(start.Add(time.Second), l, key)
	require.Empty(t, turn.Result.Actions, "a pod that was seen to be deleted gets no claim")
}

func TestD36_PodOfTheGroupIsShownDuringALookup(t *testing.T) {
	claim := &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "c", UID: "c", ResourceVersion: "5", Finalizers: []string{resourcev1.Finalizer}},
		Status: resourcev1.ResourceClaimStatus{Allocation: &resourcev1.AllocationResult{}, ReservedFor: []resourcev1.ResourceClaimConsumerReference{
			{APIGroup: "scheduling.k8s.io", Resource: "podgroups", Name: "g", UID: "g"}}},
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "p", UID: "p", ResourceVersion: "4", Labels: map[string]string{"group": "g"}},
		Spec:       corev1.PodSpec{NodeName: "n", ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: ptr.To("c")}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
	l := newClaimLoop(&claimmemory.Memory{}, resourceclaim.Snapshot{Claims: []*resourcev1.ResourceClaim{claim}})
	key := resourceclaim.KeyOf(claim)
	_, ask := plannedClaim(start, l, key)
	require.Len(t, ask, 1, "is there a PodGroup?")
	affected := l.Event(schema.GroupResource{Resource: "pods"}, "4", func(x *resourceclaim.Index) (*resourceclaim.Index, []purekube.Key) {
		return x.With(resourceclaim.Snapshot{Pods: []*corev1.Pod{pod}})
	})
	require.Contains(t, affected, key)
	later := start.Add(50 * time.Second)
	require.True(t, l.Look(later, ask[0]))
	l.Found(ask[0], purekube.Answer{}, nil)
	turn, _ := plannedClaim(later, l, key)
	require.Empty(t, turn.Result.Actions, "a running pod of the group uses the claim")
}

// asking is an action that counts how often its request is made.
type asking struct {
	name  string
	asked *int
}

func (a asking) String() string { return a.name }
func (asking) Type() string     { return "Asking" }
func (a asking) Request([]runtime.Object) purekube.Request {
	*a.asked++
	return purekube.Request{Verb: "create", Name: a.name}
}

func TestWhatBothPlansAskFor(t *testing.T) {
	asked := 0
	plan := func(names ...string) (r purekube.Result[asking]) {
		for _, name := range names {
			r.Actions = append(r.Actions, asking{name, &asked})
		}
		return r
	}
	for _, tc := range []struct {
		reason            string
		plan, other, both []string
		same              bool
	}{
		{"the same", []string{"a", "b"}, []string{"a", "b"}, []string{"a", "b"}, true},
		{"nothing", nil, nil, nil, true},
		{"an action that only the first plan has", []string{"a", "b", "c"}, []string{"a", "c"}, []string{"a"}, false},
		{"an action that only the other plan has", []string{"a", "c"}, []string{"a", "b", "c"}, []string{"a"}, false},
		{"one more action in the other plan", []string{"a"}, []string{"a", "b"}, []string{"a"}, false},
		{"another first action", []string{"a", "b"}, []string{"b"}, nil, false},
		{"the other plan asks for nothing", []string{"a"}, nil, nil, false},
		{"the first plan asks for nothing", nil, []string{"a"}, nil, false},
	} {
		result, same := asBoth(plan(tc.plan...), plan(tc.other...))
		var both []string
		for _, a := range result.Actions {
			both = append(both, a.name)
		}
		require.Equal(t, tc.both, both, tc.reason)
		require.Equal(t, tc.same, same, tc.reason)
	}
	_, same := asBoth(plan(), purekube.Result[asking]{Needs: []purekube.Need{{Kind: "ReplicaSet"}}})
	require.False(t, same, "what the other plan asks for is not known yet")
	// A pod can have thousands of entries, and its plan an action for each.
	entries := make([]string, 2000)
	for i := range entries {
		entries[i] = strconv.Itoa(i)
	}
	asked = 0
	_, same = asBoth(plan(entries...), plan(entries...))
	require.True(t, same)
	require.Equal(t, 4000, asked)
}
