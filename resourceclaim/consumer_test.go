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
		{"another UID", pods(newPod(x, podUID("other"))), false, "rrrr", "rrrr", "BR-30-06: a name belongs to one pod at a time, and the cache comes before the API server"},
		{"another UID, done", pods(newPod(x, podUID("other"), phase(corev1.PodFailed))), false, "rrrr", "rrrr", "whatever the other one does"},
		{"absent", nil, false, "arkr", "arkr", "not in the cache is not gone"},
		{"running", pods(newPod(x, onNode, phase(corev1.PodRunning))), true, "rrrr", "rrrr", "a deleted UID does not come back; the cache is older"},
		{"not scheduled", pods(newPod(x)), true, "rrrr", "rrrr", "deleted comes first"},
		{"succeeded", pods(newPod(x, onNode, phase(corev1.PodSucceeded))), true, "rrrr", "rrrr", "deleted comes first"},
		{"failed", pods(newPod(x, onNode, phase(corev1.PodFailed))), true, "rrrr", "rrrr", "deleted comes first"},
		{"deleting without node", pods(newPod(x, podDeleting)), true, "rrrr", "rrrr", "deleted comes first"},
		{"deleting with node", pods(newPod(x, podDeleting, onNode)), true, "rrrr", "rrrr", "deleted comes first"},
		{"unknown phase", pods(newPod(x, onNode, phase(corev1.PodUnknown))), true, "rrrr", "rrrr", "deleted comes first"},
		{"another UID", pods(newPod(x, podUID("other"))), true, "rrrr", "rrrr", "deleted comes first, no need to ask"},
		{"another UID, done", pods(newPod(x, podUID("other"), phase(corev1.PodFailed))), true, "rrrr", "rrrr", "deleted comes first"},
		{"absent", nil, true, "rrrr", "rrrr", "deleted comes first, no need to ask"},
	} {
		for i, confirmed := range []map[types.NamespacedName]*corev1.Pod{
			nil,
			asked(x),
			asked(newPod(x, phase(corev1.PodFailed))), // upstream does not look at its phase
			asked(newPod(x, podUID("third"))),
		} {
			for _, mode := range modes {
				want := row.want[i]
				if mode.options.MatchUpstream {
					want = row.upstream[i]
				}
				answer := []string{"not asked", "not found", "this UID", "another UID"}[i]
				t.Run(fmt.Sprintf("BR-30-06 %s/deleted %t/%s/%s", row.cached, row.deleted, answer, mode.name), func(t *testing.T) {
					// The claim is not owned, so that nothing but the consumer counts.
					s := Snapshot{Pods: row.pods, Claims: claims(newClaim("c", allocated, reservedFor(x))), Confirmed: confirmed}
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

// With ConfirmReplaced, a cached pod with another UID says nothing about the consumer.
func TestConfirmReplaced(t *testing.T) {
	const x = "x"
	for _, tc := range []struct {
		name, reason string
		confirmed    map[types.NamespacedName]*corev1.Pod
		deleted      bool
		want         []string
		asks         bool
	}{
		{"not asked", "the cached pod may be the predecessor", nil, false, nil, true},
		{"not found", "it is gone", asked(x), false, []string{"Release ml/c: x, deallocate", "RemoveFinalizer ml/c"}, false},
		{"this UID", "the cache is behind", asked(newPod(x)), false, nil, false},
		{"another UID", "the cached pod, or one after it", asked(newPod(x, podUID("third"))), false, []string{"Release ml/c: x, deallocate", "RemoveFinalizer ml/c"}, false},
		{"deleted", "no need to ask", nil, true, []string{"Release ml/c: x, deallocate", "RemoveFinalizer ml/c"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := Snapshot{
				Pods:      pods(newPod(x, podUID("other"))),
				Claims:    claims(newClaim("c", allocated, reservedFor(x)), newClaim("owned", madeFor(x, "gpu"))),
				Confirmed: tc.confirmed,
			}
			if tc.deleted {
				s.Deleted = deletedUIDs("uid-x")
			}
			r, err := Plan(s, claimKey("c"), Options{ConfirmReplaced: true})
			require.NoError(t, err)
			require.Equal(t, tc.want, lines(r.Actions), tc.reason)
			require.Equal(t, tc.asks, len(r.Needs) > 0, tc.reason)

			// The owner of a claim is asked about in the same way (BR-30-08).
			r, err = Plan(s, claimKey("owned"), Options{ConfirmReplaced: true})
			require.NoError(t, err)
			require.Equal(t, tc.want != nil, len(r.Actions) > 0, tc.reason)
			require.Equal(t, tc.asks, len(r.Needs) > 0, tc.reason)

			upstream, err := Plan(s, claimKey("c"), Options{ConfirmReplaced: true, MatchUpstream: true})
			require.NoError(t, err)
			require.Equal(t, []string{"Release ml/c: x, deallocate", "RemoveFinalizer ml/c"}, lines(upstream.Actions), "upstream has no such option")
		})
	}
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
					Claims:    claims(newClaim("c", allocated, claimDeleting, consumer(tc.ref))),
					Deleted:   deletedUIDs("uid-x", "u"),
					Confirmed: asked("x", "g"),
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
// reservation stays.
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
		}, ErrNoUID, "Pod"},
		{"reference without UID", "it may mean any pod", Snapshot{
			Pods:   pods(newPod("x", phase(corev1.PodFailed))),
			Claims: claims(newClaim("c", allocated, consumer(resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: "x"}))),
		}, ErrNoUID, "Pod"},
		{"answer without UID", "an empty pod is no answer", Snapshot{
			Confirmed: map[types.NamespacedName]*corev1.Pod{at("x"): {}},
			Claims:    claims(newClaim("c", allocated, reservedFor("x"))),
		}, ErrNoUID, "Pod"},
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
