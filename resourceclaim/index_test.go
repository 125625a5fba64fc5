package resourceclaim

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
	"github.com/purekube/purekube/internal/test/aliasing"
	"github.com/purekube/purekube/resourceclaim/memory"
)

// with is the snapshot that an Index of s comes to by With.
func with(s, changed Snapshot) Snapshot {
	n := without(s, Snapshot{Pods: changed.Pods, Claims: changed.Claims, Assumed: changed.Assumed, Templates: changed.Templates})
	n.Pods = append(n.Pods, changed.Pods...)
	n.Claims = append(n.Claims, changed.Claims...)
	n.Assumed = append(n.Assumed, changed.Assumed...)
	n.Templates = append(n.Templates, changed.Templates...)
	n.Deleted = s.Deleted.Union(changed.Deleted)
	n.Answers = all(s.Answers, changed.Answers)
	n.PodGroups = append(slices.DeleteFunc(slices.Clone(s.PodGroups), func(g PodGroup) bool {
		return g.Name != "" && slices.ContainsFunc(changed.PodGroups, func(c PodGroup) bool { return c.Name == g.Name })
	}), changed.PodGroups...)
	return n
}

// without is the snapshot that an Index of s comes to by Without.
func without(s, gone Snapshot) Snapshot {
	n := s
	n.Pods, n.Claims, n.Assumed, n.Templates = less(s.Pods, gone.Pods), less(s.Claims, gone.Claims), less(s.Assumed, gone.Assumed), less(s.Templates, gone.Templates)
	n.Deleted = s.Deleted.Difference(gone.Deleted)
	n.Answers = maps.Clone(s.Answers)
	for need := range gone.Answers {
		delete(n.Answers, need)
	}
	n.PodGroups = slices.DeleteFunc(slices.Clone(s.PodGroups), func(g PodGroup) bool {
		return g.Name != "" && slices.ContainsFunc(gone.PodGroups, func(c PodGroup) bool { return c.Name == g.Name })
	})
	return n
}

func less[T any, P snapshot.Object[T]](objects, gone []P) []P {
	return slices.DeleteFunc(slices.Clone(objects), func(o P) bool {
		return o != nil && o.GetName() != "" && slices.ContainsFunc(gone, func(g P) bool { return g != nil && snapshot.KeyOf(g) == snapshot.KeyOf(o) })
	})
}

// answersOf are all answers of an Index, or of the functions for a snapshot.
type answers struct {
	plans        map[purekube.Key]string
	outcomes     []Outcome
	planAllErr   string
	explanations []Explanation
	explained    map[purekube.Key]string
	err          string
}

func planText(r Result, err error) string {
	return fmt.Sprintf("%v %v %v %v %s", lines(r.Actions), r.Events, r.Needs, r.RecheckAt, errorText(err))
}

func indexAnswers(x *Index) answers {
	a := answers{plans: map[purekube.Key]string{}, explained: map[purekube.Key]string{}, err: errorText(x.Err())}
	for _, key := range append(everyGroupKey(), purekube.Key{}, podKey("nobody"), purekube.Key{Kind: "Job", Namespace: ns, Name: "x"}) {
		a.plans[key] = planText(x.Plan(key))
		e, err := x.Explain(key)
		a.explained[key] = fmt.Sprint(e, errorText(err))
	}
	var err error
	a.outcomes, err = x.PlanAll()
	a.planAllErr = errorText(err)
	a.explanations, _ = x.ExplainAll()
	return a
}

func snapshotAnswers(s Snapshot, o Options) answers {
	a := answers{plans: map[purekube.Key]string{}, explained: map[purekube.Key]string{}, err: problemsAsAWhole(s)}
	for _, key := range append(everyGroupKey(), purekube.Key{}, podKey("nobody"), purekube.Key{Kind: "Job", Namespace: ns, Name: "x"}) {
		a.plans[key] = planText(Plan(s, key, o))
		e, err := NewIndex(s, o).Explain(key)
		a.explained[key] = fmt.Sprint(e, errorText(err))
	}
	var err error
	a.outcomes, err = PlanAll(s, o)
	a.planAllErr = errorText(err)
	a.explanations, _ = NewIndex(s, o).ExplainAll()
	return a
}

// problemsAsAWhole is what Err has to say, found by looking at everything.
func problemsAsAWhole(s Snapshot) string {
	var problems snapshot.Problems
	wrongWith("Pod", s.Pods, true, &problems)
	wrongWith("ResourceClaim", s.Claims, true, &problems)
	wrongWith("ResourceClaim", s.Assumed, true, &problems)
	wrongWith("ResourceClaimTemplate", s.Templates, true, &problems)
	for i, g := range s.PodGroups {
		switch {
		case g.Name == "":
			problems.Add(snapshot.NamelessError("PodGroup"))
		case slices.ContainsFunc(s.PodGroups[:i], func(o PodGroup) bool { return o.Name == g.Name }):
			problems.Add(snapshot.DuplicateError("PodGroup", at(g.Name)))
		}
	}
	return errorText(problems.Err())
}

func wrongWith[T any, P snapshot.Object[T]](kind string, objects []P, once bool, problems *snapshot.Problems) {
	for i, o := range objects {
		switch {
		case o == nil:
			problems.Add(&purekube.ObjectError{Kind: kind, Err: purekube.ErrNil})
		case o.GetName() == "":
			problems.Add(snapshot.NamelessError(kind))
		case once && slices.ContainsFunc(objects[:i], func(p P) bool { return p != nil && snapshot.KeyOf(p) == snapshot.KeyOf(o) }):
			problems.Add(snapshot.DuplicateError(kind, snapshot.KeyOf(o)))
		}
	}
}

func (a answers) diff(b answers) string {
	return cmp.Diff(a, b, cmp.AllowUnexported(answers{}), cmp.Comparer(func(x, y error) bool { return errorText(x) == errorText(y) }))
}

// step is a random change: mostly of one object, as an informer has it, sometimes of many.
func (g generator) step(s Snapshot) (changed Snapshot, single bool) {
	if g.IntN(5) == 0 {
		changed = g.snapshot()
		if g.often() {
			changed.Deleted = nil
		}
		return changed, false
	}
	switch g.IntN(8) {
	case 0, 1, 2:
		changed.Pods = pods(g.pod(g.podName()))
	case 3, 4, 5:
		changed.Claims = claims(g.claim(g.claimName()))
	case 6:
		changed.Assumed = claims(g.claim(g.claimName()))
	default:
		changed.Templates = templates(g.template(g.one("t0", "t1")))
	}
	return changed, true
}

// Random sequences of With and Without: every question equals the function's answer on the snapshot
// that they come to, affected names every key whose plan differs and not all keys, and the Indexes
// before answer as they did.
func TestIndexAnswersAsTheFunctions(t *testing.T) {
	steps, named, all := 0, 0, 0
	seeded(t, 40, func(t *testing.T, r *rand.Rand) {
		g := generator{r, r.IntN(3) > 0}
		o := Options{MatchUpstream: purekube.Upstream(g.one("", "", string(purekube.V1_36), string(purekube.V1_37)))}
		o.DenyAdminAccess = r.IntN(2) == 0
		s := g.snapshot()
		if r.IntN(2) == 0 {
			o.PodGroupOf, s = groupOfLabel, g.withGroups(s)
		}
		x := NewIndex(s, o)
		type version struct {
			x    *Index
			then answers
		}
		now := indexAnswers(x)
		require.Empty(t, snapshotAnswers(s, o).diff(now))
		versions := []version{{x, now}}
		for range 12 {
			changed, single := g.step(s)
			if o.PodGroupOf != nil {
				changed = g.joined(changed)
				if !single || r.IntN(4) == 0 {
					changed, single = g.withGroups(changed), false
				}
			}
			var next *Index
			var affected []purekube.Key
			after := with(s, changed)
			if gone := r.IntN(3) == 0; gone {
				after = without(s, changed)
				next, affected = x.Without(changed)
			} else {
				next, affected = x.With(changed)
			}
			before := copySnapshot(changed)
			now := indexAnswers(next)
			require.Empty(t, snapshotAnswers(after, o).diff(now))
			require.Empty(t, cmp.Diff(data(before), data(changed)), "the objects are as they were")
			require.Empty(t, aliasing.Shared(data(after), now.outcomes))
			require.Empty(t, aliasing.Shared(data(after), now.explanations))

			require.True(t, slices.IsSortedFunc(affected, purekube.Key.Compare))
			require.Len(t, slices.Compact(slices.Clone(affected)), len(affected), "each key once")
			for _, key := range everyGroupKey() {
				// Problems of the snapshot as a whole are every plan's.
				was, _ := x.plan(key)
				is, _ := next.plan(key)
				if !cmp.Equal(was, is) || planErr(x, key) != planErr(next, key) {
					require.Contains(t, affected, key, "%s: %v, now %v", key, lines(was.Actions), lines(is.Actions))
				}
			}
			if single {
				steps++
				named += len(affected)
				all += len(everyKey())
			}
			s, x = after, next
			versions = append(versions, version{x, now})
		}
		for _, v := range versions {
			require.Empty(t, v.then.diff(indexAnswers(v.x)), "an older Index answers as before")
		}
	})
	require.Greater(t, steps, few(160))
	require.Less(t, named, all/3, "that would be all keys")
}

func planErr(x *Index, key purekube.Key) string {
	_, err := x.plan(key)
	return errorText(err)
}

// An Index that many changes were made to is arranged anew now and then. It answers the same.
func TestIndexOfManyChanges(t *testing.T) {
	s := cluster(500, 10)
	x := NewIndex(s, Options{})
	for i := range 700 {
		changed := cluster(i%500+1, 3)
		last := Snapshot{Pods: changed.Pods[len(changed.Pods)-1:], Claims: changed.Claims[len(changed.Claims)-1:]}
		x, _ = x.With(last)
		s = with(s, last)
		if i%97 == 0 {
			gone := Snapshot{Pods: s.Pods[:1], Claims: s.Claims[1:2]}
			x, _ = x.Without(gone)
			s = without(s, gone)
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

// Indexes are derived from one another, and read, in many goroutines (go test -race).
func TestIndexInManyGoroutines(t *testing.T) {
	s := cluster(300, 3)
	x := NewIndex(s, Options{})
	want, _ := x.PlanAll()
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			own := x
			for i := range 60 {
				pod := s.Pods[(g*37+i)%300].DeepCopy()
				pod.Status.Phase = corev1.PodFailed
				x.With(Snapshot{Pods: pods(pod)})
				own, _ = own.With(Snapshot{Pods: pods(pod), Assumed: s.Claims[i : i+1]})
				own, _ = own.Without(Snapshot{Pods: s.Pods[i : i+1]})
				x.Plan(KeyOf(pod))
			}
			if got, _ := x.PlanAll(); outcomesEqual(want, got) != "" {
				t.Error("the Index has changed")
			}
		})
	}
	wg.Wait()
}

func TestIndexBadInput(t *testing.T) {
	x := NewIndex(Snapshot{Pods: pods(newPod("p", wants("a", "t"))), Templates: templates(newTemplate("t"))}, Options{})
	require.NoError(t, x.Err())
	next, affected := x.With(Snapshot{Pods: pods(nil, newPod("q", wants("a", "t"))), Claims: claims(newClaim("")), Templates: templates(nil)})
	require.EqualError(t, next.Err(), "Pod: nil object in the snapshot\nResourceClaim: metadata.name: required\nResourceClaimTemplate: nil object in the snapshot")
	require.Equal(t, []string{"Pod/ml/q"}, texts(affected), "the rest counts")
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

	same, affected := x.Without(Snapshot{Pods: pods(nil, newPod("nobody"), newPod("")), Claims: claims(newClaim("nothing"), nil), Answers: asked("nobody")})
	require.NoError(t, same.Err(), "what is not there changes nothing")
	require.Empty(t, affected)
	out, _ := same.PlanAll()
	require.Len(t, out, 1)

	empty := NewIndex(Snapshot{}, Options{})
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
