package resourceclaim

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/resourceclaim/memory"
)

// An Index that many changes were made to is arranged anew now and then. It answers the same.
func TestIndexOfManyChanges(t *testing.T) {
	s := cluster(500, 10)
	x := NewIndex(s, Options{})
	for i := range 700 {
		changed := cluster(i%500+1, 3)
		last := Snapshot{Pods: changed.Pods[len(changed.Pods)-1:], Claims: changed.Claims[len(changed.Claims)-1:]}
		x, _ = x.With(last)
		s = Contract.With(s, last)
		if i%97 == 0 {
			gone := Snapshot{Pods: s.Pods[:1], Claims: s.Claims[1:2]}
			x, _ = x.Without(gone)
			s = Contract.Without(s, gone)
		}
	}
	out, err := x.PlanAll()
	require.NoError(t, err)
	want, err := PlanAll(s, Options{})
	require.NoError(t, err)
	require.Empty(t, outcomesEqual(want, out))
	require.Equal(t, len(s.Pods), x.pods.Len())
	require.Equal(t, len(s.Claims), x.claims.Len())
}

func TestIndexBadInput(t *testing.T) {
	x := NewIndex(Snapshot{Pods: pods(newPod("p", wants("a", "t"))), Templates: templates(newTemplate("t")), Claims: claims(newClaim("c"))}, Options{})
	require.NoError(t, x.Err())
	next, affected := x.With(Snapshot{Pods: pods(nil, newPod("q", wants("a", "t"))), Claims: claims(newClaim("")), Templates: templates(nil)})
	require.EqualError(t, next.Err(), "Pod: nil object in the snapshot\nResourceClaim: metadata.name: required\nResourceClaimTemplate: nil object in the snapshot")
	require.Equal(t, []string{"Pod/ml/q"}, texts(affected), "the rest counts; without PodGroups, no claim depends on a pod that cannot be named")
	require.NoError(t, x.Err())
	r, err := next.Plan(podKey("q"))
	require.ErrorIs(t, err, purekube.ErrNil, "as a Plan for that snapshot says")
	require.Len(t, r.Actions, 2)
	_, err = next.Explain(podKey("nobody"))
	require.ErrorIs(t, err, purekube.ErrNotFound)

	twice, affected := x.With(Snapshot{Pods: pods(newPod("p"), newPod("p", podUID("x")))})
	require.ErrorIs(t, twice.Err(), purekube.ErrDuplicate)
	require.Equal(t, []string{"Pod/ml/p"}, texts(affected))
	once, _ := twice.With(Snapshot{Pods: pods(newPod("p"))})
	require.NoError(t, once.Err(), "a pod takes the place of both")

	_, affected = NewIndex(Snapshot{}, grouped).With(Snapshot{Pods: pods(newPod("q"), newPod("q")), PodGroups: []PodGroup{newGroup("g"), newGroup("g")}})
	require.Equal(t, []string{"Pod/ml/q", "PodGroup/ml/g"}, texts(affected), "also without entries")
	for _, s := range []Snapshot{{Claims: claims(newClaim("c"), newClaim("c"))}, {Assumed: claims(newClaim("c"), newClaim("c"))}, {Templates: templates(newTemplate("t"), newTemplate("t"))}, {PodGroups: []PodGroup{newGroup("g"), newGroup("g")}}} {
		require.ErrorIs(t, NewIndex(s, grouped).Err(), purekube.ErrDuplicate)
	}

	same, affected := x.Without(Snapshot{Pods: pods(nil, newPod("nobody"), newPod("")), Claims: claims(newClaim("nothing"), nil), Answers: asked("nobody")})
	require.NoError(t, same.Err(), "what is not there changes nothing")
	require.Empty(t, affected)
	out, _ := same.PlanAll()
	require.Len(t, out, 1)

	empty := NewIndex(Snapshot{}, Options{})
	off, affected := empty.With(Snapshot{PodGroups: []PodGroup{newGroup("g", groupWants("a", "t"))}})
	require.Empty(t, affected)
	out, err = off.PlanAll()
	require.NoError(t, err)
	require.Empty(t, out, "without Options.PodGroupOf, a PodGroup does not count")
	_, affected = empty.With(Snapshot{})
	require.Empty(t, affected)
	out, err = empty.PlanAll()
	require.NoError(t, err)
	require.Empty(t, out)
}

// How what the caller remembers goes together with an Index, as its comment says.
func TestIndexWithWhatTheCallerRemembers(t *testing.T) {
	pod := newPod("p", wants("gpu", "gpu"))
	var assumed memory.AssumedClaims
	var deleted memory.DeletedPods
	index := NewIndex(Snapshot{Pods: pods(pod), Templates: templates(newTemplate("gpu")), Deleted: deleted.UIDs()}, Options{})

	// A claim is created. The caches do not show it yet, so it is assumed for the next plan.
	r, err := index.Plan(podKey("p"))
	require.NoError(t, err)
	require.Equal(t, "CreateClaim ml/p gpu: p-gpu-*", r.Actions[0].String())
	made := newClaim("p-gpu-x4z9k", madeFor("p", "gpu"), allocated, reservedFor("p"), version("7"))
	assumed.Add(made, now)
	planning, affected := index.With(Snapshot{Assumed: assumed.ListFor(now, index)})
	require.Equal(t, []string{"Pod/ml/p", "ResourceClaim/ml/p-gpu-x4z9k"}, texts(affected))
	r, err = planning.Plan(podKey("p"))
	require.NoError(t, err)
	require.Equal(t, []string{"SetClaimStatuses ml/p: gpu=p-gpu-x4z9k"}, lines(r.Actions), "no second claim")

	// The cache shows it: nothing is assumed any more.
	pod = newPod("p", onNode, has("gpu", "gpu", "p-gpu-x4z9k"))
	index, _ = index.With(Snapshot{Pods: pods(pod), Claims: claims(made)})
	require.Empty(t, assumed.ListFor(now, index))
	out, err := index.PlanAll()
	require.NoError(t, err)
	require.Empty(t, out)

	// The pod goes. Its UID is remembered before the Index is told, whose affected keys name the claim.
	deleted.Add(pod.UID)
	index, _ = index.With(Snapshot{Deleted: deletedUIDs(pod.UID)})
	index, affected = index.Without(Snapshot{Pods: pods(pod)})
	require.Equal(t, []string{"ResourceClaim/ml/p-gpu-x4z9k"}, texts(affected))
	answered, _ := index.With(Snapshot{Answers: asked("p")})
	r, err = answered.Plan(affected[0])
	require.NoError(t, err)
	require.Equal(t, []string{"Release ml/p-gpu-x4z9k: p, deallocate", "RemoveFinalizer ml/p-gpu-x4z9k"}, lines(r.Actions))

	// A pod that nobody saw go is looked up. The answer serves one plan and is dropped.
	index, _ = index.With(Snapshot{Claims: claims(newClaim("shared", allocated, reservedFor("q")))})
	r, err = index.Plan(claimKey("shared"))
	require.NoError(t, err)
	require.Len(t, r.Needs, 1)
	answered, affected = index.With(Snapshot{Answers: asked("q")})
	require.Equal(t, []string{"ResourceClaim/ml/shared"}, texts(affected))
	r, err = answered.Plan(claimKey("shared"))
	require.NoError(t, err)
	require.Len(t, r.Actions, 2)
	r, err = index.Plan(claimKey("shared"))
	require.NoError(t, err)
	require.Len(t, r.Needs, 1, "the Index before does not have the answer")
	both, _ := answered.With(Snapshot{Answers: asked("another")})
	r, err = both.Plan(claimKey("shared"))
	require.NoError(t, err)
	require.Len(t, r.Actions, 2, "the earlier answer stays")
	forgotten, _ := answered.Without(Snapshot{Answers: asked("q")})
	r, err = forgotten.Plan(claimKey("shared"))
	require.NoError(t, err)
	require.Len(t, r.Needs, 1)
}

// ListFor is List with the Index's claims, also where there are several of one name.
func TestAssumedClaimsListFor(t *testing.T) {
	twice := 0
	seeded(t, 300, func(t *testing.T, r *rand.Rand) {
		s := generator{r, false}.snapshot()
		x := NewIndex(s, Options{})
		var list, listFor memory.AssumedClaims
		for _, c := range s.Assumed {
			list.Add(c, now)
			listFor.Add(c, now)
		}
		if errors.Is(x.Err(), purekube.ErrDuplicate) {
			twice++
		}
		at := now.Add(time.Duration(r.IntN(2)) * memory.AssumeFor)
		require.Empty(t, cmp.Diff(list.List(at, s.Claims), listFor.ListFor(at, x)))
	})
	require.NotZero(t, twice, "some snapshots have two claims of one name")

	for _, tc := range []struct {
		reason string
		listed []*resourcev1.ResourceClaim
		kept   int
	}{
		{"neither is as new", claims(newClaim("c", version("8")), newClaim("c", version("9"))), 1},
		{"one of them is as new", claims(newClaim("c", version("8")), newClaim("c", version("10"))), 0},
		{"one of them is as new, in the other order", claims(newClaim("c", version("11")), newClaim("c", version("8"))), 0},
	} {
		var list, listFor memory.AssumedClaims
		list.Add(newClaim("c", version("10")), now)
		listFor.Add(newClaim("c", version("10")), now)
		require.Len(t, list.List(now, tc.listed), tc.kept, tc.reason)
		require.Len(t, listFor.ListFor(now, NewIndex(Snapshot{Claims: tc.listed}, Options{})), tc.kept, tc.reason)
	}
}
