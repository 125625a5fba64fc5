package resourceclaim

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/purekube/purekube"
)

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
		{name: "several assumed", reason: "nobody knows which is real", claims: claims(newClaim("c", version("9"))), assumed: claims(newClaim("c", version("11")), newClaim("c", version("100")), newClaim("c", version("12"))), err: "ResourceClaim ml/c: several objects in the snapshot have this name", upstream: "9"},
		{name: "several assumed, not listed", reason: "nobody knows which is real", assumed: claims(newClaim("c", version("100")), newClaim("c", version("12"))), err: "ResourceClaim ml/c: several objects in the snapshot have this name"},
		{name: "malformed assumed", reason: "neither counts", claims: claims(newClaim("c", version("9"))), assumed: claims(newClaim("c", version("x10"))), err: "ResourceClaim ml/c: metadata.resourceVersion: resource version is not well formed: x10", upstream: "9"},
		{name: "malformed listed", reason: "neither counts", claims: claims(newClaim("c", version(""))), assumed: claims(newClaim("c", version("10"))), err: "ResourceClaim ml/c: metadata.resourceVersion: resource version is not well formed: ", upstream: ""},
		{name: "malformed assumed only", reason: "there is nothing to compare it with", assumed: claims(newClaim("c", version("x"))), want: "x"},
	} {
		for _, mode := range modes {
			t.Run("BR-30-04 "+tc.name+"/"+mode.name, func(t *testing.T) {
				s := Snapshot{Pods: pods(over), Claims: tc.claims, Assumed: tc.assumed}
				for _, c := range append(append([]*resourcev1.ResourceClaim{}, tc.claims...), tc.assumed...) {
					c.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{podRef("over")}
				}
				want, wantErr, there := tc.want, tc.err, true
				if mode.options.matchUpstream() {
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
				if wantErr != "" {
					require.True(t, r.Empty(), tc.reason)
					return
				}
				require.Len(t, r.Actions, 1)
				require.Equal(t, want, r.Actions[0].(Release).Claim.ResourceVersion, tc.reason)
			})
		}
	}
	// Several that are assumed, whatever is listed beside them.
	for _, assumed := range [][]*resourcev1.ResourceClaim{
		claims(newClaim("c", version("7"), reservedFor("over")), newClaim("c", version("7"))),
		claims(newClaim("c", version("7"), reservedFor("over")), newClaim("c", version("7"), reservedFor("over"))),
		claims(newClaim("c", version("x")), newClaim("c", version("8"))),
	} {
		for _, listed := range [][]*resourcev1.ResourceClaim{nil, claims(newClaim("c", version("6"), reservedFor("over"))), claims(newClaim("c", version("9"), reservedFor("over")))} {
			s := Snapshot{Pods: pods(over), Claims: listed, Assumed: assumed}
			r, err := Plan(s, claimKey("c"), Options{})
			require.EqualError(t, err, "ResourceClaim ml/c: several objects in the snapshot have this name")
			require.True(t, r.Empty())
			r, err = Plan(s, claimKey("c"), Options{MatchUpstream: purekube.V1_36})
			require.NoError(t, err, "upstream plans the listed one")
			require.Len(t, r.Actions, len(listed))
		}
	}
	// One that differs from the listed one and is no newer.
	s := Snapshot{Pods: pods(over), Claims: claims(newClaim("c", version("7"), reservedFor("over"))), Assumed: claims(newClaim("c", version("7")))}
	r, err := Plan(s, claimKey("c"), Options{})
	require.NoError(t, err)
	require.Len(t, r.Actions, 1)
	// An entry that names it, by its name or because it was generated for it, gets nothing.
	owned := claims(newClaim("c", version("6"), madeFor("p", "gpu")))
	for _, p := range []*corev1.Pod{newPod("p", onNode, uses("gpu", "c")), newPod("p", onNode, has("gpu", "gpu", "c")), newPod("p", onNode, wants("gpu", "gpu"))} {
		s := Snapshot{Pods: pods(p), Claims: owned, Assumed: claims(newClaim("c", version("x"), madeFor("p", "gpu"))), Templates: templates(newTemplate("gpu"))}
		r, err := Plan(s, podKey("p"), Options{})
		require.EqualError(t, err, "ResourceClaim ml/c: metadata.resourceVersion: resource version is not well formed: x")
		require.True(t, r.Empty(), "%v", lines(r.Actions))
	}

	// Two that are listed: whatever is assumed, it is not known which counts.
	s.Claims = claims(newClaim("c", reservedFor("over")), newClaim("c", reservedFor("over")))
	s.Assumed = claims(newClaim("c", version("8")))
	for range 2 {
		r, err := Plan(s, claimKey("c"), Options{})
		require.EqualError(t, err, "ResourceClaim ml/c: several objects in the snapshot have this name", "no version is looked at")
		require.True(t, r.Empty())
		all, whole := PlanAll(s, Options{})
		require.NoError(t, whole)
		require.Len(t, all, 1)
		require.True(t, all[0].Result.Empty(), "neither of the two is planned")
		s.Assumed = nil
	}
}
