package reconcile

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/resourceclaim"
)

type budgetLoop = Loop[*disruption.Index, disruption.Snapshot, disruption.Action]

var (
	web            = disruption.BudgetKey("shop", "web")
	budgetResource = schema.GroupResource{Group: policyv1.GroupName, Resource: "poddisruptionbudgets"}
)

// newBudgetLoop has a budget that allows one of the pods to be missing, whatever controls them.
func newBudgetLoop() *budgetLoop {
	l := New(disruption.NewIndex(disruption.Snapshot{}, disruption.Options{}), Options[*disruption.Index, disruption.Snapshot]{
		Synced:         func() bool { return true },
		At:             func(now time.Time, _ *disruption.Index) disruption.Snapshot { return disruption.Snapshot{Now: now} },
		Answers:        func(a map[purekube.Need]purekube.Answer) disruption.Snapshot { return disruption.Snapshot{Answers: a} },
		DecidesWithout: true,
	})
	seeBudget(l, disruption.Snapshot{Budgets: []*policyv1.PodDisruptionBudget{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "web", Generation: 1, ResourceVersion: "1"},
		Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: ptr.To(intstr.FromInt32(1)),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
	}}})
	return l
}

func seeBudget(l *budgetLoop, s disruption.Snapshot) []purekube.Key {
	return l.Event(schema.GroupResource{}, "", func(x *disruption.Index) (*disruption.Index, []purekube.Key) { return x.With(s) })
}

// podsOf are ready pods of the Games with these names, one each.
func podsOf(games ...string) (s disruption.Snapshot) {
	for i, game := range games {
		s.Pods = append(s.Pods, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprint("web-", game, i), UID: types.UID(fmt.Sprint(game, i)), ResourceVersion: "1",
				Labels: map[string]string{"app": "web"}, OwnerReferences: []metav1.OwnerReference{
					{APIVersion: "example.com/v1", Kind: "Game", Name: game, UID: types.UID(game), Controller: ptr.To(true)}}},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
		})
	}
	return s
}

// planned plans until the turn waits or has a plan.
func planned(now time.Time, l *budgetLoop) (t *Turn[*disruption.Index, disruption.Action], ask []purekube.Need) {
	for t = l.Begin(now, web); t.Step == Plan; {
		result, problems := t.Index.Plan(web)
		l.Planned(now, t, result, problems)
		ask = append(ask, t.Ask...)
	}
	return t, ask
}

// found answers these lookups with scales of one replica.
func found(now time.Time, l *budgetLoop, needs ...purekube.Need) {
	for _, n := range needs {
		l.Look(now, n)
		l.Found(n, purekube.Answer{Object: &autoscalingv1.Scale{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: n.Name, UID: types.UID(n.Name)}, Spec: autoscalingv1.ScaleSpec{Replicas: 1}}}, nil)
	}
}

// allowed is what the plan of a turn writes.
func allowed(t *testing.T, turn *Turn[*disruption.Index, disruption.Action]) int32 {
	t.Helper()
	require.Equal(t, CarryOut, turn.Step)
	require.Len(t, turn.Result.Actions, 1)
	return turn.Result.Actions[0].(disruption.UpdateStatus).Budget.Status.DisruptionsAllowed
}

// grown are the pods of a workload that grew from 1 to 101.
func grown() disruption.Snapshot { return podsOf(slices.Repeat([]string{"a"}, 101)...) }

// A workload that grows while its scale is looked up is not counted with its new pods and its old scale: the pods of a plan are
// those of when it asked.
func TestPodsAreNeverNewerThanScales(t *testing.T) {
	l := newBudgetLoop()
	seeBudget(l, podsOf("a"))
	l.Start(start)
	_, ask := planned(start, l)
	require.Len(t, ask, 1)
	found(start, l, ask...)
	require.Contains(t, seeBudget(l, grown()), web)
	turn, _ := planned(start, l)
	require.EqualValues(t, 1, allowed(t, turn))
	require.Equal(t, Next{Requeue: true}, l.End(start, turn, nil, false), "and it is planned again")
}

// While a lookup is open, the status refuses. Neither an answer to the question before nor an early answer to this one is used.
func TestLateLookupsRefuse(t *testing.T) {
	l := newBudgetLoop()
	seeBudget(l, podsOf("a", "b"))
	l.Start(start)
	_, ask := planned(start, l)
	require.Len(t, ask, 2)
	slow := start.Add(LookupsDeadline - time.Second)
	found(slow, l, ask...)
	turn, _ := planned(slow, l)
	require.EqualValues(t, 1, allowed(t, turn))
	l.End(slow, turn, nil, false)

	seeBudget(l, podsOf("b")) // an event begins the next question
	_, ask = planned(slow, l)
	require.Len(t, ask, 2)
	require.Equal(t, "a", ask[0].Name)
	found(slow, l, ask[0])
	for _, gone := range []disruption.Snapshot{podsOf("a", "b"), podsOf("b")} { // what is open is about no pod any more
		l.Event(schema.GroupResource{}, "", func(x *disruption.Index) (*disruption.Index, []purekube.Key) { return x.Without(gone) })
	}
	seeBudget(l, grown())
	late := slow.Add(LookupsDeadline)
	require.True(t, l.Tick(late, web))
	turn, ask = planned(late, l)
	require.Empty(t, ask)
	require.EqualValues(t, 0, allowed(t, turn), "the scale of a is older than its pods")
	require.Equal(t, Next{Requeue: true}, l.End(late, turn, nil, false), "the budget has changed: it is asked again")
	_, ask = planned(late, l)
	require.Len(t, ask, 1)
}

// A status that refused before is not written again, and its lookups go on.
func TestLateLookupsGoOn(t *testing.T) {
	l := newBudgetLoop()
	seeBudget(l, podsOf("a", "b"))
	l.Start(start)
	_, ask := planned(start, l)
	late := start.Add(LookupsDeadline)
	turn, _ := planned(late, l)
	require.EqualValues(t, 0, allowed(t, turn))
	l.End(late, turn, errors.New("refused, say"), false)
	found(late, l, ask...)
	turn, ask = planned(late, l)
	require.Empty(t, ask)
	require.EqualValues(t, 1, allowed(t, turn))
}

// What a plan with answers wrote is no news to its key, which would be refused for having been written. To others it is, and to a
// key that was to be planned again meanwhile.
func TestOwnStatusIsNoNews(t *testing.T) {
	for _, waiting := range []bool{false, true} {
		l := newBudgetLoop()
		l.Watches(budgetResource)
		seeBudget(l, podsOf("a"))
		l.Start(start)
		_, ask := planned(start, l)
		found(start, l, ask...)
		turn, _ := planned(start, l)
		require.EqualValues(t, 1, allowed(t, turn))
		r := turn.Result.Actions[0].Request(nil)
		written := turn.Result.Actions[0].(disruption.UpdateStatus).Budget.DeepCopy()
		written.ResourceVersion = "9"
		l.Sent(start, turn, r, written, nil)
		l.End(start, turn, nil, false)
		event := func(version string) []purekube.Key {
			written.ResourceVersion = version
			return l.Event(budgetResource, version, func(x *disruption.Index) (*disruption.Index, []purekube.Key) {
				return x.With(disruption.Snapshot{Budgets: []*policyv1.PodDisruptionBudget{written.DeepCopy()}})
			})
		}
		if waiting {
			require.Equal(t, Wait, l.Begin(start, web).Step)
			require.Contains(t, event("9"), web)
			continue
		}
		require.NotContains(t, event("9"), web)
		require.Contains(t, event("10"), web, "somebody else wrote it")
		missed := l.Event(schema.GroupResource{Resource: "pods"}, "", func(x *disruption.Index) (*disruption.Index, []purekube.Key) {
			return x.Without(podsOf("a"))
		})
		require.Contains(t, missed, web, "a deletion that no watch showed has no version, and the write was for before it")
	}
}

// reserved is a claim that is reserved for a pod, which the Index does not have. Its plan looks that pod up.
var reserved = &resourcev1.ResourceClaim{
	ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "gpu", UID: "c", ResourceVersion: "5", Finalizers: []string{resourcev1.Finalizer}},
	Status: resourcev1.ResourceClaimStatus{Allocation: &resourcev1.AllocationResult{},
		ReservedFor: []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "p", UID: "p"}}},
}

func reservedLoop(claims ...*resourcev1.ResourceClaim) *Loop[*resourceclaim.Index, resourceclaim.Snapshot, resourceclaim.Action] {
	index := resourceclaim.NewIndex(resourceclaim.Snapshot{Claims: claims}, resourceclaim.Options{})
	return New(index, Options[*resourceclaim.Index, resourceclaim.Snapshot]{
		Synced: func() bool { return true },
		Answers: func(a map[purekube.Need]purekube.Answer) resourceclaim.Snapshot {
			return resourceclaim.Snapshot{Answers: a}
		},
	})
}

// Lookups that take longer than an answer may be old are not made again all together: what is young enough stays, and what is
// made again is reported.
func TestOnlyOldAnswersAreAskedForAgain(t *testing.T) {
	claim := reserved.DeepCopy()
	claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: "q", UID: "q"})
	key := resourceclaim.KeyOf(claim)
	l := reservedLoop(claim)
	l.Start(start)
	plan := func(now time.Time) *Turn[*resourceclaim.Index, resourceclaim.Action] {
		turn, ask := plannedClaim(now, l, key)
		turn.Ask = ask
		return turn
	}
	ask := plan(start).Ask
	require.Len(t, ask, 2)
	second := start.Add(MaxAgeOfAnswers - time.Second)
	require.True(t, l.Look(start, ask[0]))
	l.Found(ask[0], purekube.Answer{}, nil)
	require.True(t, l.Look(second, ask[1]))
	keys, _, _ := l.Found(ask[1], purekube.Answer{}, nil)
	require.Equal(t, []purekube.Key{key}, keys)

	now := start.Add(MaxAgeOfAnswers)
	turn := plan(now)
	require.ErrorContains(t, turn.Next.Err, "1 of 2 lookups are older than 1m0s and are made again")
	require.True(t, turn.Next.Requeue)
	again := plan(now).Ask
	require.Equal(t, ask[:1], again)
	require.True(t, l.Look(now, again[0]))
	l.Found(again[0], purekube.Answer{}, nil)
	require.Equal(t, CarryOut, plan(now).Step)
}

// A lookup that fails is made again at once, and then after longer and longer pauses or as a busy API server says. One
// that goes on failing is made again with the plan of its key, which has no result meanwhile.
func TestLookupsThatFailAreMadeAgain(t *testing.T) {
	key, away := resourceclaim.KeyOf(reserved), errors.New("away")
	l := reservedLoop(reserved)
	l.Start(start)
	plan := func() *Turn[*resourceclaim.Index, resourceclaim.Action] {
		turn := l.Begin(start, key)
		require.Equal(t, Plan, turn.Step)
		result, problems := turn.Index.Plan(key)
		l.Planned(start, turn, result, problems)
		require.Equal(t, Wait, turn.Step)
		return turn
	}
	fails := func(n purekube.Need, err error) (keys []purekube.Key, again bool, after time.Duration) {
		require.True(t, l.Look(start, n))
		return l.Found(n, purekube.Answer{}, err)
	}
	ask := plan().Ask
	require.Len(t, ask, 1)
	busy := apierrors.NewTooManyRequests("busy", 2)
	for _, attempt := range []struct {
		err   error
		after time.Duration
	}{{away, 5 * time.Millisecond}, {busy, 2 * time.Second}, {away, 20 * time.Millisecond}} {
		keys, again, after := fails(ask[0], attempt.err)
		require.Empty(t, keys)
		require.True(t, again)
		require.Equal(t, attempt.after, after)
	}
	keys, again, _ := fails(ask[0], away)
	require.Equal(t, []purekube.Key{key}, keys)
	require.False(t, again)

	next := plan().Next
	require.ErrorIs(t, next.Err, away)
	require.True(t, next.Requeue)
	require.Equal(t, ask, plan().Ask)
}

// An answer is for the keys that asked before the lookup was made. To a key that asks later it may be older than what
// its Index has: a pod that the API server did not have then may be there now.
func TestAnswerIsNewerThanTheQuestion(t *testing.T) {
	other := reserved.DeepCopy()
	other.Name, other.UID = "other", "o"
	early, late := resourceclaim.KeyOf(reserved), resourceclaim.KeyOf(other)
	l := reservedLoop(reserved, other)
	l.Start(start)
	ask := func(key purekube.Key) purekube.Need {
		turn := l.Begin(start, key)
		result, problems := turn.Index.Plan(key)
		l.Planned(start, turn, result, problems)
		require.Len(t, turn.Ask, 1)
		return turn.Ask[0]
	}
	need := ask(early)
	require.True(t, l.Look(start, need))
	require.Equal(t, need, ask(late))
	for _, key := range []purekube.Key{early, late} {
		keys, _, _ := l.Found(need, purekube.Answer{}, nil)
		require.Equal(t, []purekube.Key{key}, keys)
		require.Equal(t, key == early, l.Look(start, need), "each asked once")
	}
}

// After a create, a proxy may say that the service is unavailable although the API server did it. A Status of the API server
// itself says that it did nothing.
func TestUnanswered(t *testing.T) {
	resource := schema.GroupResource{Resource: "resourceclaims"}
	response := func(code int, byProxy bool) error {
		return apierrors.NewGenericServerResponse(code, http.MethodPost, resource, "", "<html>", 0, byProxy)
	}
	for _, tc := range []struct {
		name, reason string
		err          error
		want         bool
	}{
		{"no answer", "the connection was lost", errors.New("EOF"), true},
		{"502 of a proxy", "it got no answer", response(http.StatusBadGateway, true), true},
		{"503 of a proxy", "the API server may have answered it", response(http.StatusServiceUnavailable, true), true},
		{"504 of a proxy", "the API server may be at it", response(http.StatusGatewayTimeout, true), true},
		{"503 of the API server", "it does nothing", apierrors.NewServiceUnavailable("shutting down"), false},
		{"409 of the API server", "it did nothing", response(http.StatusConflict, false), false},
		{"429 of the API server", "it is not a Status, and comes before all else", response(http.StatusTooManyRequests, true), false},
	} {
		t.Run(tc.name, func(t *testing.T) { require.Equal(t, tc.want, unanswered(tc.err), tc.reason) })
	}
}
