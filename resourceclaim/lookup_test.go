package resourceclaim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube"
)

// D-28: a claim that the status names and no cache shows is looked up before another one is made. So
// does v1.37; v1.36 makes another one.
func TestD28_NamedClaimIsLookedUp(t *testing.T) {
	const makes, asks, rests, reserves = "makes another", "asks for the named one", "leaves it alone", "reserves the named one"
	mine := newClaim("c", madeFor("p", "gpu"), allocated)
	for _, tc := range []struct {
		name, reason          string
		s                     Snapshot
		byDefault, v136, v137 string
	}{
		{"not asked", "a lagging cache proves nothing", Snapshot{}, asks, makes, asks},
		{"not found", "it is gone", Snapshot{Answers: askedClaims("c")}, makes, makes, makes},
		{"another pod's", "the named claim is not the pod's", Snapshot{Answers: askedClaims(newClaim("c", madeFor("q", "gpu")))}, makes, makes, makes},
		{"in another namespace", "an answer from elsewhere is not the claim", Snapshot{Answers: askedClaims(newClaim("c", madeFor("p", "gpu"), inNamespace("other")))}, makes, makes, makes},
		{"there", "upstream reserves what its cache shows, and nothing else", Snapshot{Answers: askedClaims(mine)}, reserves, makes, rests},
		{"written by ourselves", "one's own write is known, and upstream's cache of them is not asked by its reservations", Snapshot{Assumed: claims(mine)}, reserves, "adopts", rests},
		{"written by ourselves for another", "the named claim is not the pod's", Snapshot{Assumed: claims(newClaim("c", madeFor("q", "gpu")))}, makes, makes, makes},
		{"in the cache", "there is nothing to ask", Snapshot{Claims: claims(mine)}, reserves, reserves, reserves},
		{"no template", "it is asked for before the template is looked at", Snapshot{Pods: pods(newPod("p", onNode, has("gpu", "none", "c")))}, asks, "fails", asks},
	} {
		for _, mode := range []struct {
			release purekube.Upstream
			want    string
		}{{"", tc.byDefault}, {purekube.V1_36, tc.v136}, {purekube.V1_37, tc.v137}} {
			t.Run(tc.name+"/"+string(mode.release), func(t *testing.T) {
				s := tc.s
				if s.Pods == nil {
					s.Pods = pods(newPod("p", onNode, has("gpu", "gpu", "c")))
				}
				s.Templates = templates(newTemplate("gpu"))
				r, err := Plan(s, podKey("p"), Options{MatchUpstream: mode.release})
				got := rests
				switch {
				case len(r.Needs) > 0:
					require.Equal(t, []purekube.Need{{APIVersion: "resource.k8s.io/v1", Kind: "ResourceClaim", Namespace: ns, Name: "c"}}, r.Needs)
					require.Empty(t, r.Actions)
					require.Empty(t, r.Events)
					got = asks
				case err != nil:
					require.ErrorIs(t, err, errTemplateNotFound)
					got = "fails"
				case len(r.Actions) > 0:
					switch r.Actions[0].(type) {
					case CreateClaim:
						got = makes
					case SetClaimStatuses:
						got = "adopts"
					case Reserve:
						got = reserves
					}
				}
				require.Equal(t, mode.want, got, tc.reason)
			})
		}
	}
}

// Of two of one's own writes it is not known which counts: neither says whose the claim is.
func TestD28_WrittenTwice(t *testing.T) {
	s := Snapshot{
		Pods:    pods(newPod("p", has("gpu", "gpu", "c"))),
		Claims:  claims(newClaim("c", version("7"), madeFor("q", "gpu"))),
		Assumed: claims(newClaim("c", version("8"), madeFor("p", "gpu")), newClaim("c", version("8"), madeFor("q", "gpu"))),
	}
	r, err := Plan(s, podKey("p"), Options{MatchUpstream: purekube.V1_37})
	require.NoError(t, err)
	require.Equal(t, []purekube.Need{needOf(ClaimKey(ns, "c"))}, r.Needs, "so the API server is asked")
}

// A claim that its user names is the user's: whether it exists changes nothing.
func TestUsersClaimIsNotLookedUp(t *testing.T) {
	s := Snapshot{Pods: pods(newPod("p", onNode, uses("a", "c")))}
	for _, release := range []purekube.Upstream{"", purekube.V1_36, purekube.V1_37} {
		r, err := Plan(s, podKey("p"), Options{MatchUpstream: release})
		require.NoError(t, err)
		require.True(t, r.Empty())
	}
}

// One lookup for each named claim, and nothing is done for the pod before all are answered.
func TestLookUpsComeFirst(t *testing.T) {
	s := Snapshot{Pods: pods(newPod("p", has("b", "gpu", "c2"), has("a", "gpu", "c1"), wants("c", "gpu"), wants("d", "none"))), Templates: templates(newTemplate("gpu"))}
	r, err := Plan(s, podKey("p"), Options{})
	require.ErrorIs(t, err, errTemplateNotFound)
	require.Empty(t, r.Actions)
	require.Equal(t, []string{"c1", "c2"}, []string{r.Needs[0].Name, r.Needs[1].Name})
	r, err = Plan(s, podKey("p"), Options{MatchUpstream: purekube.V1_37})
	require.NoError(t, err)
	require.Equal(t, []purekube.Need{needOf(ClaimKey(ns, "c2"))}, r.Needs, "upstream asks for one after the other")

	s.Answers = askedClaims("c2")
	r, _ = Plan(s, podKey("p"), Options{})
	require.Equal(t, []purekube.Need{needOf(ClaimKey(ns, "c1"))}, r.Needs)
	require.Empty(t, r.Actions, "one that is left is enough")

	s.Answers = askedClaims(newClaim("c1", madeFor("p", "a")), "c2")
	r, err = Plan(s, podKey("p"), Options{})
	require.ErrorIs(t, err, errTemplateNotFound)
	require.Equal(t, []string{"CreateClaim ml/p b: p-b-*", "CreateClaim ml/p c: p-c-*", "SetClaimStatuses ml/p: a=c1, b pending, c pending"}, lines(r.Actions))
}

// v1.37 applies the names that were there together with the new ones, but drops an entry without a
// name (D-5).
func TestStatusesUnderV137(t *testing.T) {
	p := newPod("p", wants("new", "gpu"), has("old", "gpu", "c1"), wants("skip", "gpu"), notNeeded("skip"), wants("adopted", "gpu"), got("stray", "c8"))
	s := Snapshot{Pods: pods(p), Templates: templates(newTemplate("gpu")), Claims: claims(newClaim("c1", madeFor("p", "old")), newClaim("c2", madeFor("p", "adopted")))}
	for release, want := range map[purekube.Upstream]string{
		"":             "SetClaimStatuses ml/p: adopted=c2, old=c1, skip not needed, new pending",
		purekube.V1_36: "SetClaimStatuses ml/p: adopted=c2, new pending",
		purekube.V1_37: "SetClaimStatuses ml/p: adopted=c2, old=c1, stray=c8, new pending",
	} {
		r, err := Plan(s, podKey("p"), Options{MatchUpstream: release})
		require.NoError(t, err)
		require.Equal(t, want, r.Actions[1].String(), release)
	}
}

func TestExplainLookUp(t *testing.T) {
	s := Snapshot{Pods: pods(newPod("p", has("gpu", "gpu", "c")))}
	e, err := NewIndex(s, Options{}).Explain(podKey("p"))
	require.NoError(t, err)
	require.Equal(t, []Reason{{Field: "spec.resourceClaims[0]", Code: ReasonClaimUnknown, Object: claimKey("c"),
		Message: "claim ml/c, which the pod's status names, must be looked up at the API server first"}}, e.Reasons)

	s.Answers = askedClaims(newClaim("c", madeFor("p", "gpu")))
	e, err = NewIndex(s, Options{MatchUpstream: purekube.V1_37}).Explain(podKey("p"))
	require.NoError(t, err)
	require.Equal(t, ReasonClaimNotInCache, e.Reasons[0].Code)
}
