package resourceclaim

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/aliasing"
)

type uidType = types.UID

func TestBR3009_DeletedPods(t *testing.T) {
	require.Equal(t, 500, DefaultDeletedPods, "maxUIDCacheEntries")
	for name, memory := range map[string]*DeletedPods{"zero value": {}, "0": NewDeletedPods(0), "negative": NewDeletedPods(-1), "500": NewDeletedPods(500)} {
		t.Run("BR-30-09 "+name, func(t *testing.T) {
			require.False(t, memory.Has("u0"))
			for i := range 500 {
				memory.Add(uidType(fmt.Sprintf("u%d", i)))
			}
			require.True(t, memory.Has("u0"), "500 fit, and asking for u0 makes u1 the oldest")
			memory.Add("one more")
			require.True(t, memory.Has("u0"))
			require.False(t, memory.Has("u1"), "the one used longest ago drops out")
			require.True(t, memory.Has("one more"))
		})
	}
	small := NewDeletedPods(1)
	small.Add("a")
	small.Add("b")
	require.False(t, small.Has("a"))
	require.True(t, small.Has("b"))

	// It fits the snapshot.
	r, err := Plan(Snapshot{Deleted: small.Has, Claims: claims(newClaim("c", allocated, consumer(resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: "p", UID: "b"})))}, claimKey("c"), Options{})
	require.NoError(t, err)
	require.Len(t, r.Actions, 2)
}

func TestMemoriesAreSafeForConcurrentUse(t *testing.T) {
	var deleted DeletedPods
	var assumed AssumedClaims
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 100 {
				uid := uidType(fmt.Sprint(i, j))
				deleted.Add(uid)
				deleted.Has(uid)
				assumed.Add(newClaim(fmt.Sprint("c", i, "-", j)), now)
				assumed.List(now, claims(newClaim(fmt.Sprint("c", i, "-", j))))
				assumed.Forget(uidType(fmt.Sprint("uid-c", i, "-", j)))
			}
		})
	}
	wg.Wait()
	require.Empty(t, assumed.List(now, nil))
}

func TestBR3004_AssumedClaims(t *testing.T) {
	var a AssumedClaims
	require.Empty(t, a.List(now, nil))
	a.Add(nil, now)
	a.Forget("nobody")

	written := newClaim("c", version("10"))
	a.Add(written, now)
	listed := a.List(now, claims(newClaim("other"), nil))
	require.Equal(t, claims(written), listed)
	require.Empty(t, aliasing.Shared(written, listed), "it keeps a copy")

	a.Add(newClaim("c", version("9")), now)
	require.Equal(t, "10", a.List(now, nil)[0].ResourceVersion, "an older one does not replace a newer one")
	a.Add(newClaim("c", version("11")), now)
	require.Equal(t, "11", a.List(now, nil)[0].ResourceVersion)
	require.Len(t, a.List(now, claims(newClaim("c", version("10")))), 1, "the cache is behind")

	a.Add(newClaim("b", version("5")), now)
	require.Equal(t, []string{"b", "c"}, []string{a.List(now, nil)[0].Name, a.List(now, nil)[1].Name}, "sorted")
	require.Len(t, a.List(now, claims(newClaim("c", version("11")))), 1, "the cache has c as it is")
	require.Len(t, a.List(now, nil), 1, "and c does not come back when the cache drops it")

	a.Forget("uid-b")
	require.Empty(t, a.List(now, nil), "the caller saw b go")

	a.Add(newClaim("d", version("20")), now)
	require.Len(t, a.List(now.Add(time.Hour-1), nil), 1, "BR-30-04: an hour")
	require.Empty(t, a.List(now.Add(time.Hour), nil), "BR-30-04: an hour")
	require.Empty(t, a.List(now, nil), "dropped for good")

	a.Add(newClaim("d", version("20")), now)
	a.Add(newClaim("d", version("20")), now.Add(time.Minute))
	require.Len(t, a.List(now.Add(time.Hour), nil), 1, "a write that brought the same version is the one that the hour counts from")
	a.Add(newClaim("d", version("19")), now.Add(time.Hour))
	require.Empty(t, a.List(now.Add(time.Hour+time.Minute), nil), "an older version is no news")

	a.Add(newPod("e"), now)
	a.Add(ofType(asUnstructured(t, newClaim("e")), "v1", "Pod"), now)
	a.Add((*unstructured.Unstructured)(nil), now)
	unreadable := asUnstructured(t, newClaim("e"))
	unreadable.Object["status"] = "none"
	a.Add(unreadable, now)
	unreadable.Object["status"] = func() {}
	a.Add(unreadable, now)
	require.Empty(t, a.List(now, nil), "what is no claim changes nothing")

	a.Add(newClaim("e", version("not a number")), now)
	require.Len(t, a.List(now, nil), 1)
	require.Empty(t, a.List(now, claims(newClaim("e", version("7")))), "versions that do not compare: the cache counts")
}

// Which version of a claim counts. The pod is done; a claim that lists it is released, and its
// resourceVersion says which version the plan used.
func TestBR3004_NewerVersionCounts(t *testing.T) {
	over := newPod("over", phase("Failed"))
	for _, tc := range []struct {
		name, reason     string
		claims, assumed  []*resourcev1.ResourceClaim
		want             string // the version used; empty: none
		err              string
		upstream, upsErr string
	}{
		{name: "listed only", reason: "there is nothing else", claims: claims(newClaim("c", version("7"))), want: "7", upstream: "7"},
		{name: "assumed only", reason: "written a moment ago; upstream does not plan it yet", assumed: claims(newClaim("c", version("7"))), want: "7"},
		{name: "assumed newer", reason: "the cache is behind", claims: claims(newClaim("c", version("9"))), assumed: claims(newClaim("c", version("10"))), want: "10", upstream: "9"},
		{name: "assumed older", reason: "the cache has caught up", claims: claims(newClaim("c", version("10"))), assumed: claims(newClaim("c", version("9"))), want: "10", upstream: "10"},
		{name: "same version", reason: "they are the same", claims: claims(newClaim("c", version("10"))), assumed: claims(newClaim("c", version("10"))), want: "10", upstream: "10"},
		{name: "several assumed", reason: "the newest of them", claims: claims(newClaim("c", version("9"))), assumed: claims(newClaim("c", version("11")), newClaim("c", version("100")), newClaim("c", version("12"))), want: "100", upstream: "9"},
		{name: "several assumed, not listed", reason: "the newest of them", assumed: claims(newClaim("c", version("100")), newClaim("c", version("12"))), want: "100"},
		{name: "malformed assumed", reason: "the listed one counts, and somebody should know", claims: claims(newClaim("c", version("9"))), assumed: claims(newClaim("c", version("x10"))), want: "9", err: "ResourceClaim ml/c: metadata.resourceVersion: resource version is not well formed: x10", upstream: "9"},
		{name: "malformed listed", reason: "the listed one counts, and somebody should know", claims: claims(newClaim("c", version(""))), assumed: claims(newClaim("c", version("10"))), want: "", err: "ResourceClaim ml/c: metadata.resourceVersion: resource version is not well formed: ", upstream: ""},
		{name: "malformed assumed only", reason: "there is nothing to compare it with", assumed: claims(newClaim("c", version("x"))), want: "x"},
		{name: "malformed beside well formed", reason: "the one that is well formed counts", assumed: claims(newClaim("c", version("x")), newClaim("c", version("10"))), want: "10", err: "ResourceClaim ml/c: metadata.resourceVersion: resource version is not well formed: x"},
	} {
		for _, mode := range modes {
			t.Run("BR-30-04 "+tc.name+"/"+mode.name, func(t *testing.T) {
				s := Snapshot{Pods: pods(over), Claims: tc.claims, Assumed: tc.assumed}
				for _, c := range append(append([]*resourcev1.ResourceClaim{}, tc.claims...), tc.assumed...) {
					c.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{podRef("over")}
				}
				want, wantErr, there := tc.want, tc.err, true
				if mode.options.upstream() {
					want, wantErr, there = tc.upstream, tc.upsErr, len(tc.claims) > 0
				}
				r, err := Plan(s, claimKey("c"), mode.options)
				if wantErr == "" {
					require.NoError(t, err)
				} else {
					require.EqualError(t, err, wantErr, tc.reason)
				}
				all, whole := PlanAll(s, mode.options)
				require.NoError(t, whole)
				if !there {
					require.True(t, r.Empty(), tc.reason)
					require.Empty(t, all)
					return
				}
				require.Len(t, all, 1)
				require.Empty(t, cmp.Diff(r, all[0].Result))
				require.Equal(t, errorText(err), errorText(all[0].Err))
				require.Len(t, r.Actions, 1)
				require.Equal(t, want, r.Actions[0].(Release).Claim.ResourceVersion, tc.reason)
			})
		}
	}
	s := Snapshot{Pods: pods(over), Assumed: claims(newClaim("c", version("7"), reservedFor("over")), newClaim("c", version("7")))}
	r, err := Plan(s, claimKey("c"), Options{})
	require.ErrorIs(t, err, purekube.ErrDuplicate, "two that differ and are of one version")
	require.True(t, r.Empty())
	s.Assumed = claims(newClaim("c", version("7"), reservedFor("over")), newClaim("c", version("7"), reservedFor("over")))
	r, err = Plan(s, claimKey("c"), Options{})
	require.NoError(t, err, "the same one twice")
	require.Len(t, r.Actions, 1)

	// One that differs from the listed one, and two that differ.
	s.Claims = claims(newClaim("c", version("7"), reservedFor("over")))
	s.Assumed = claims(newClaim("c", version("7")))
	for range 2 {
		r, err = Plan(s, claimKey("c"), Options{})
		require.NoError(t, err)
		require.Len(t, r.Actions, 1, "no newer than the listed one, which counts")
		s.Assumed = claims(newClaim("c", version("7")), newClaim("c", version("7"), allocated))
	}

	// Two that differ, beside an older one that is listed.
	s.Claims = claims(newClaim("c", version("6"), reservedFor("over")))
	s.Assumed = claims(newClaim("c", version("7")), newClaim("c", version("7"), reservedFor("over")))
	_, err = Plan(s, claimKey("c"), Options{})
	require.ErrorIs(t, err, purekube.ErrDuplicate, "one of the two is newer than the listed one, and it is not known which")
	r, err = Plan(s, claimKey("c"), Options{MatchUpstream: purekube.V1_36})
	require.NoError(t, err, "upstream plans the listed one")
	require.Len(t, r.Actions, 1)

	// Two that are listed: whatever is assumed, it is not known which counts.
	s.Claims = claims(newClaim("c", reservedFor("over")), newClaim("c", reservedFor("over")))
	s.Assumed = claims(newClaim("c", version("x")), newClaim("c", version("8")))
	r, err = Plan(s, claimKey("c"), Options{})
	require.EqualError(t, err, "ResourceClaim ml/c: more than one object of this name in the snapshot", "no version is looked at")
	require.True(t, r.Empty())
	s.Assumed = nil
	all, whole := PlanAll(s, Options{})
	require.NoError(t, whole)
	require.Len(t, all, 1)
	require.True(t, all[0].Result.Empty(), "neither of the two is planned")
}
