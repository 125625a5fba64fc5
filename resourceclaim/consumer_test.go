package resourceclaim

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
)

// TestBR3006_Existence walks all that a snapshot can say about one consumer: what Pods holds
// under its name, whether its UID is known to be deleted, and the API server's answer. The
// four letters are the verdicts for the four answers (not asked, not found, this UID, another
// UID): k keep, r release, a ask.
func TestBR3006_Existence(t *testing.T) {
	const x = "x"
	for _, row := range []struct {
		cached         string
		pods           []*corev1.Pod
		deleted        bool
		want, upstream string
		reason         string
	}{
		{"running", pods(newPod(x, onNode, phase(corev1.PodRunning))), false, "kkkk", "kkkk", "the cache comes before the API server"},
		{"not scheduled", pods(newPod(x)), false, "kkkk", "kkkk", "it may run"},
		{"succeeded", pods(newPod(x, onNode, phase(corev1.PodSucceeded))), false, "rrrr", "rrrr", "BR-30-05: a final phase is final"},
		{"failed", pods(newPod(x, onNode, phase(corev1.PodFailed))), false, "rrrr", "rrrr", "BR-30-05: a final phase is final"},
		{"deleting without node", pods(newPod(x, podDeleting)), false, "rrrr", "rrrr", "it cannot be bound to a node any more"},
		{"deleting with node", pods(newPod(x, podDeleting, onNode, phase(corev1.PodRunning))), false, "kkkk", "kkkk", "its containers may still run"},
		{"unknown phase", pods(newPod(x, onNode, phase(corev1.PodUnknown))), false, "kkkk", "kkkk", "unknown is not done"},
		{"another UID", pods(newPod(x, podUID("other"))), false, "arkr", "rrrr", "D-21: it may be the predecessor, and the API server's word wins; upstream's cache comes before the API server"},
		{"another UID, done", pods(newPod(x, podUID("other"), phase(corev1.PodFailed))), false, "arkr", "rrrr", "D-21: whatever the other one does"},
		{"absent", nil, false, "arkr", "arkr", "not in the cache is not gone"},
		{"running", pods(newPod(x, onNode, phase(corev1.PodRunning))), true, "arkr", "rrrr", "D-37: after a restore from a backup a UID comes back; upstream releases at once"},
		{"not scheduled", pods(newPod(x)), true, "arkr", "rrrr", "D-37: it may run"},
		{"succeeded", pods(newPod(x, onNode, phase(corev1.PodSucceeded))), true, "rrrr", "rrrr", "BR-30-05: it is done, whatever else is known"},
		{"failed", pods(newPod(x, onNode, phase(corev1.PodFailed))), true, "rrrr", "rrrr", "BR-30-05: it is done, whatever else is known"},
		{"deleting without node", pods(newPod(x, podDeleting)), true, "rrrr", "rrrr", "BR-30-05: it is done, whatever else is known"},
		{"deleting with node", pods(newPod(x, podDeleting, onNode)), true, "arkr", "rrrr", "D-37: its containers may still run"},
		{"unknown phase", pods(newPod(x, onNode, phase(corev1.PodUnknown))), true, "arkr", "rrrr", "D-37: unknown is not done"},
		{"another UID", pods(newPod(x, podUID("other"))), true, "arkr", "rrrr", "D-37: that it was seen to be deleted proves no absence, and the API server's word wins"},
		{"another UID, done", pods(newPod(x, podUID("other"), phase(corev1.PodFailed))), true, "arkr", "rrrr", "D-37: that it was seen to be deleted proves no absence, and the API server's word wins"},
		{"absent", nil, true, "arkr", "rrrr", "D-37: that it was seen to be deleted proves no absence, and the API server's word wins"},
	} {
		for i, confirmed := range []replies{
			nil,
			asked(x),
			asked(newPod(x, phase(corev1.PodFailed))), // upstream does not look at its phase
			asked(newPod(x, podUID("third"))),
		} {
			for _, mode := range modes {
				want := row.want[i]
				if mode.options.matchUpstream() {
					want = row.upstream[i]
				}
				answer := []string{"not asked", "not found", "this UID", "another UID"}[i]
				t.Run(fmt.Sprintf("BR-30-06 %s/deleted %t/%s/%s", row.cached, row.deleted, answer, mode.name), func(t *testing.T) {
					// The claim is not owned, so that nothing but the consumer counts.
					s := Snapshot{Pods: row.pods, Claims: claims(newClaim("c", allocated, reservedFor(x))), Answers: confirmed}
					if row.deleted {
						s.Deleted = deletedUIDs("uid-x")
					}
					r, err := Plan(s, claimKey("c"), mode.options)
					require.NoError(t, err)
					switch want {
					case 'k':
						require.True(t, r.Empty(), row.reason)
					case 'r':
						require.Equal(t, []string{"Release ml/c: x, deallocate", "RemoveFinalizer ml/c"}, lines(r.Actions), row.reason)
						require.Empty(t, r.Needs)
					case 'a':
						require.Equal(t, []purekube.Need{{APIVersion: "v1", Kind: "Pod", Namespace: ns, Name: x}}, r.Needs, row.reason)
						require.Empty(t, r.Actions, "while there are Needs there is nothing to do")
					}
				})
			}
		}
	}
}

// A cached pod with another UID says nothing about the consumer or the owner that has its name.
func TestD21_CachedPodMayBeThePredecessor(t *testing.T) {
	const x = "x"
	released := []string{"Release ml/c: x, deallocate", "RemoveFinalizer ml/c"}
	for _, tc := range []struct {
		name, reason string
		confirmed    replies
		deleted      []types.UID
		want         []string
		asks         bool
		owned        []string // what becomes of an unused claim whose owner is x
		asksForOwner bool
	}{
		{name: "not asked", reason: "the cached pod may be the predecessor", asks: true, asksForOwner: true},
		{name: "not found", reason: "it is gone", confirmed: asked(x), want: released, owned: []string{"DeleteClaim ml/owned"}},
		{name: "this UID", reason: "the cache is behind", confirmed: asked(newPod(x))},
		{name: "another UID", reason: "the cached pod, or one after it", confirmed: asked(newPod(x, podUID("third"))), want: released, owned: []string{"DeleteClaim ml/owned"}},
		{name: "deleted", reason: "D-37: the API server is asked all the same", deleted: []types.UID{"uid-x"}, asks: true, asksForOwner: true},
		{name: "deleted, not found", reason: "it is gone", deleted: []types.UID{"uid-x"}, confirmed: asked(x), want: released, owned: []string{"DeleteClaim ml/owned"}},
		{name: "cached one deleted", reason: "it does not count: the claim's owner is not in the cache, its consumer is asked for", deleted: []types.UID{"other"}, asks: true},
		{name: "cached one deleted, this UID", reason: "it does not count", deleted: []types.UID{"other"}, confirmed: asked(newPod(x))},
		{name: "cached one deleted, not found", reason: "the owner is left to the garbage collector", deleted: []types.UID{"other"}, confirmed: asked(x), want: released},
	} {
		t.Run("D-21 "+tc.name, func(t *testing.T) {
			s := Snapshot{
				Pods:    pods(newPod(x, podUID("other"))),
				Claims:  claims(newClaim("c", allocated, reservedFor(x)), newClaim("owned", madeFor(x, "gpu"))),
				Answers: tc.confirmed, Deleted: deletedUIDs(tc.deleted...),
			}
			r, err := Plan(s, claimKey("c"), Options{})
			require.NoError(t, err)
			require.Equal(t, tc.want, lines(r.Actions), tc.reason)
			require.Equal(t, tc.asks, len(r.Needs) > 0, tc.reason)

			// The owner of a claim is asked about in the same way (BR-30-08).
			r, err = Plan(s, claimKey("owned"), Options{})
			require.NoError(t, err)
			require.Equal(t, tc.owned, lines(r.Actions), tc.reason)
			require.Equal(t, tc.asksForOwner, len(r.Needs) > 0, tc.reason)

			upstream, err := Plan(s, claimKey("c"), Options{MatchUpstream: purekube.V1_36})
			require.NoError(t, err)
			require.Equal(t, released, lines(upstream.Actions), "upstream goes by its cache")
		})
	}
}

// A pod that Pods still holds although it was seen to be deleted gets what the API server's answer
// allows: for a pod that is gone the claim's plan would take it back.
func TestD37_SeenToBeDeletedIsLookedUp(t *testing.T) {
	s := Snapshot{
		Pods:      pods(newPod("p", onNode, uses("a", "c"), wants("b", "gpu"))),
		Claims:    claims(newClaim("c", allocated)),
		Templates: templates(newTemplate("gpu")),
		Deleted:   deletedUIDs("uid-p"),
	}
	r, err := Plan(s, podKey("p"), Options{})
	require.NoError(t, err)
	require.Empty(t, r.Actions)
	require.Equal(t, []purekube.Need{{APIVersion: "v1", Kind: "Pod", Namespace: ns, Name: "p"}}, r.Needs, "D-37: it may have come back")
	for _, tc := range []struct {
		reason    string
		confirmed replies
		actions   int
	}{
		{"D-21: it is gone", asked("p"), 0},
		{"D-21: another one has its name", asked(newPod("p", podUID("other"))), 0},
		{"D-37: it is there", asked(newPod("p")), 3},
	} {
		s.Answers = tc.confirmed
		r, err = Plan(s, podKey("p"), Options{})
		require.NoError(t, err)
		require.Empty(t, r.Needs, tc.reason)
		require.Len(t, r.Actions, tc.actions, tc.reason)
	}
	s.Answers = nil
	settled := s
	settled.Pods = pods(newPod("p", onNode, uses("a", "c")))
	settled.Claims = claims(newClaim("c", allocated, reservedFor("p")))
	r, err = Plan(settled, podKey("p"), Options{})
	require.NoError(t, err)
	require.True(t, r.Empty(), "there is nothing to do for it, so that no answer matters")
	r, err = Plan(s, podKey("p"), Options{MatchUpstream: purekube.V1_36})
	require.NoError(t, err)
	require.Len(t, r.Actions, 3, "upstream's pass over a pod does not ask whether it was seen to go")
}

func TestConsumersThatAreNotPods(t *testing.T) {
	for _, tc := range []struct {
		name, reason string
		ref          resourcev1.ResourceClaimConsumerReference
	}{
		{"pod group", "PodGroups are behind a feature that is off", resourcev1.ResourceClaimConsumerReference{APIGroup: "scheduling.k8s.io", Resource: "podgroups", Name: "g", UID: "u"}},
		{"another group's pods", "only the core group's pods are pods", resourcev1.ResourceClaimConsumerReference{APIGroup: "metrics.k8s.io", Resource: "pods", Name: "x", UID: "uid-x"}},
		{"another resource of the core group", "whatever it is, it cannot be asked for", resourcev1.ResourceClaimConsumerReference{Resource: "services", Name: "x", UID: "uid-x"}},
		{"the kind in place of the resource", "the API spells it pods", resourcev1.ResourceClaimConsumerReference{Resource: "Pod", Name: "x", UID: "uid-x"}},
	} {
		for _, mode := range modes {
			t.Run("BR-30-05 "+tc.name+"/"+mode.name, func(t *testing.T) {
				s := Snapshot{
					Claims:  claims(newClaim("c", allocated, claimDeleting, consumer(tc.ref))),
					Deleted: deletedUIDs("uid-x", "u"),
					Answers: asked("x", "g"),
				}
				r, err := Plan(s, claimKey("c"), mode.options)
				require.NoError(t, err)
				require.True(t, r.Empty(), tc.reason)

				s.Claims = claims(newClaim("c", allocated, consumer(tc.ref), reservedFor("x")))
				r, err = Plan(s, claimKey("c"), mode.options)
				require.NoError(t, err)
				require.Equal(t, []string{"Release ml/c: x"}, lines(r.Actions), "the claim stays allocated for the consumer that is not known")
			})
		}
	}
}

// Two pods of one name, a pod without UID, a reference without UID: whatever the truth is, the
// reservation stays, and so does the claim.
func TestConsumersThatCannotBeToldApart(t *testing.T) {
	for _, tc := range []struct {
		name, reason string
		s            Snapshot
		want         error
		kind         string
	}{
		{"two pods of the name", "one of them may be the live one", Snapshot{
			Pods:   pods(newPod("x", phase(corev1.PodFailed)), newPod("x", podUID("other"))),
			Claims: claims(newClaim("c", allocated, reservedFor("x"))),
		}, purekube.ErrDuplicate, "Pod"},
		{"cached pod without UID", "it may be the one", Snapshot{
			Pods:   pods(newPod("x", podUID(""), phase(corev1.PodFailed))),
			Claims: claims(newClaim("c", allocated, reservedFor("x"))),
		}, errNoUID, "Pod"},
		{"reference without UID", "it may mean any pod", Snapshot{
			Pods:   pods(newPod("x", phase(corev1.PodFailed))),
			Claims: claims(newClaim("c", allocated, consumer(resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: "x"}))),
		}, errNoUID, "Pod"},
		{"owner without UID", "it may mean any pod", Snapshot{
			Pods:   pods(newPod("x", podUID(""))),
			Claims: claims(newClaim("c", ownedBy("x", ""))),
		}, errNoUID, "Pod"},
		{"answer without UID", "an empty pod is no answer", Snapshot{
			Answers: replies{needOf(PodKey(ns, "x")): {Object: &corev1.Pod{}}},
			Claims:  claims(newClaim("c", allocated, reservedFor("x"))),
		}, errNoUID, "Pod"},
	} {
		for _, mode := range modes {
			t.Run(tc.name+"/"+mode.name, func(t *testing.T) {
				r, err := Plan(tc.s, claimKey("c"), mode.options)
				require.True(t, r.Empty(), tc.reason)
				require.ErrorIs(t, err, tc.want)
				var objectError *purekube.ObjectError
				require.ErrorAs(t, err, &objectError)
				require.Equal(t, tc.kind, objectError.Kind)
				require.Equal(t, "x", objectError.Name)
			})
		}
	}
}
