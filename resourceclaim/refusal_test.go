package resourceclaim

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/apiserver"
)

// What still happens when the API server refuses one call of a plan. A pod on a node waits for two
// claims from templates and has two others to be reserved; a claim of a pod that is done is
// released, freed of its finalizer and deleted.
func TestRefusals(t *testing.T) {
	for _, tc := range []struct {
		name, reason     string
		key              purekube.Key
		refuse           string // what the request that fails begins with
		nth              int    // which of those, counted from 0
		want, upstream   []string
		events, upsEvent int
	}{
		{
			name: "nothing", reason: "all of it happens; upstream's reserving ends at an entry that the status does not name (D-8)", key: podKey("p"), refuse: "none",
			want:     []string{"claim p-a", "claim p-b", "status a b", "reserved c1", "reserved c2"},
			upstream: []string{"claim p-a", "claim p-b", "status a b", "reserved c1"},
		}, {
			name: "first claim", reason: "a quota is used up: the other claim, its name and the reservations are right without it", key: podKey("p"), refuse: "create resourceclaims",
			want: []string{"claim p-b", "status b", "reserved c1", "reserved c2"}, events: 1,
			upstream: nil, upsEvent: 1,
		}, {
			name: "second claim", reason: "the name of the one that was made is written; upstream stops before that", key: podKey("p"), refuse: "create resourceclaims", nth: 1,
			want: []string{"claim p-a", "status a", "reserved c1", "reserved c2"}, events: 1,
			upstream: []string{"claim p-a"}, upsEvent: 1,
		}, {
			name: "status", reason: "claims that were there before are reserved all the same; the next plan adopts the new ones", key: podKey("p"), refuse: "patch pods/status",
			want:     []string{"claim p-a", "claim p-b", "reserved c1", "reserved c2"},
			upstream: []string{"claim p-a", "claim p-b"},
		}, {
			name: "first reservation", reason: "the second one is of another claim", key: podKey("p"), refuse: "patch resourceclaims/status",
			want:     []string{"claim p-a", "claim p-b", "status a b", "reserved c2"},
			upstream: []string{"claim p-a", "claim p-b", "status a b"},
		}, {
			name: "release", reason: "the finalizer protects the allocation, and the deletion would take it from whoever changed the claim", key: claimKey("over-gpu"), refuse: "patch resourceclaims/status",
			want: []string{"protected", "in use"},
		}, {
			name: "finalizer", reason: "the claim has changed since it was released", key: claimKey("over-gpu"), refuse: "patch resourceclaims ",
			want: []string{"protected"},
		}, {
			name: "deletion", reason: "nothing is behind it", key: claimKey("over-gpu"), refuse: "delete resourceclaims",
			want: []string{},
		},
	} {
		for _, mode := range modes {
			for _, dynamic := range []bool{false, true} {
				client := "typed"
				if dynamic {
					client = "dynamic"
				}
				t.Run(tc.name+"/"+mode.name+"/"+client, func(t *testing.T) {
					c := &served{Server: apiserver.New(newTemplate("gpu"),
						newPod("p", onNode, uses("c", "c1"), wants("a", "gpu"), wants("b", "gpu"), uses("d", "c2")),
						newPod("over", onNode, phase(corev1.PodSucceeded), has("gpu", "gpu", "over-gpu")),
						newClaim("c1", allocated), newClaim("c2", allocated),
						newClaim("over-gpu", allocated, madeFor("over", "gpu"), reservedFor("over"))),
						options: mode.options, dynamic: dynamic}
					seen := 0
					c.Refuse = func(r purekube.Request) error {
						if strings.HasPrefix(r.String(), tc.refuse) {
							if seen++; seen == tc.nth+1 {
								return apiserver.QuotaExceeded(r)
							}
						}
						return nil
					}
					r, err := Plan(c.snapshot(), tc.key, mode.options)
					require.NoError(t, err)
					c.carryOut(t, r.Actions)

					want, events := tc.want, tc.events
					if mode.options.matchUpstream() && tc.key.Kind == podKind {
						want, events = tc.upstream, tc.upsEvent
					}
					require.ElementsMatch(t, want, happened(c.Server, tc.key), tc.reason)
					require.Len(t, c.events, events)
					if tc.refuse != "none" {
						require.Equal(t, tc.nth+1, min(seen, tc.nth+1), "the call was made")
					}

					// Once nothing is refused any more, the same end is reached.
					c.Refuse = nil
					if !mode.options.matchUpstream() { // whose status flaps (D-5)
						c.settle(t)
						require.ElementsMatch(t, []string{"claim p-a", "claim p-b", "status a b", "reserved c1", "reserved c2"}, happened(c.Server, podKey("p")))
						require.Equal(t, []string{}, happened(c.Server, claimKey("over-gpu")))
					}
				})
			}
		}
	}
}

// happened is what a plan for the key has brought about.
func happened(s *apiserver.Server, key purekube.Key) []string {
	out := []string{}
	var pod *corev1.Pod
	for _, p := range apiserver.List[corev1.Pod](s) {
		if KeyOf(p) == key {
			pod = p
		}
	}
	for _, c := range apiserver.List[resourcev1.ResourceClaim](s) {
		if pod == nil {
			if KeyOf(c) != key {
				continue
			}
			for what, is := range map[string]bool{"protected": len(c.Finalizers) > 0, "in use": c.Status.Allocation != nil,
				"deleting": c.DeletionTimestamp != nil} {
				if is {
					out = append(out, what)
				}
			}
			continue
		}
		if c.GenerateName != "" {
			out = append(out, "claim "+strings.TrimSuffix(c.GenerateName, "-"))
		}
		if isReservedFor(pod.UID, c) {
			out = append(out, "reserved "+c.Name)
		}
	}
	if pod != nil && len(pod.Status.ResourceClaimStatuses) > 0 {
		var entries []string
		for _, st := range pod.Status.ResourceClaimStatuses {
			entries = append(entries, st.Name)
		}
		slices.Sort(entries)
		out = append(out, "status "+strings.Join(entries, " "))
	}
	return out
}
