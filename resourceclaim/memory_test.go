package resourceclaim

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/aliasing"
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
				if !there {
					require.True(t, r.Empty(), tc.reason)
					return
				}
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
}
