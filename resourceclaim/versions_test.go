package resourceclaim

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
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
	require.EqualError(t, err, "ResourceClaim ml/c: several objects in the snapshot have this name", "no version is looked at")
	require.True(t, r.Empty())
	s.Assumed = nil
	all, whole := PlanAll(s, Options{})
	require.NoError(t, whole)
	require.Len(t, all, 1)
	require.True(t, all[0].Result.Empty(), "neither of the two is planned")
}
