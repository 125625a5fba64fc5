package resourceclaim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube"
)

// web-0 of a StatefulSet shares a claim. It is deleted and made again; the scheduler reserves the
// claim for the new one. The controller's cache has the claim as it is now, but its pods are
// behind, and it still has the old web-0 there.
func TestPodCacheIsBehind(t *testing.T) {
	for _, tc := range []struct {
		name, reason string
		options      Options
		podsLead     bool
		violations   []string
	}{
		{"upstream", "it takes the pod for replaced by its predecessor", Options{MatchUpstream: purekube.V1_36}, false,
			[]string{"shared taken from share-0, which may run", "shared deallocated under share-0, which may run"}},
		{"D-21", "it asks, and the API server has the new one", Options{}, false, nil},
		{"pods that are no older than the claims", "then there is no such moment", Options{}, true, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server := newAPIServer()
			w := &world{server: server}
			w.createShared()
			w.createPod("share-0")
			c := newCaller(server, tc.options) // it sees the old pod
			c.podsLead = tc.podsLead

			w.deletePod("share-0")
			w.deletePod("share-0")
			w.createPod("share-0")
			for w.schedule("share-0") {
			}
			c.watch(c.podsAt, server.latest())
			c.work(claimKey("shared"))
			require.Equal(t, tc.violations, server.violations, tc.reason)
			require.Equal(t, tc.violations == nil, len(server.claims["shared"].Status.ReservedFor) == 1)
		})
	}
}

// D-5: two entries get their claims one after the other, since the second template comes later.
// What upstream applies then takes the first one's name away, and gives it back, and so on.
func TestD5_StatusFlaps(t *testing.T) {
	for _, mode := range modes {
		t.Run("D-5 "+mode.name, func(t *testing.T) {
			server := newAPIServer()
			p := newPod("p", wants("a", "gpu"), wants("b", "gpu"))
			server.putPod(p)
			o := podClaimant(p)
			first, err := server.createClaim(fromTemplate(&o, "a", server.template, mode.options))
			require.NoError(t, err)
			body := SetClaimStatuses{Kind: podKind, Namespace: ns, Name: "p"}.withStatus("a", first.Name).body()
			_, err = server.applyStatuses("p", body)
			require.NoError(t, err)

			c := newCaller(server, mode.options)
			c.work(podKey("p"))
			c.watch(server.latest(), server.latest())
			if mode.options.matchUpstream() {
				require.Equal(t, []purekube.Key{podKey("p")}, c.keys(), "the first entry has lost its name")
				c.work(podKey("p"))
				c.watch(server.latest(), server.latest())
				require.Equal(t, []purekube.Key{podKey("p")}, c.keys(), "and now the second one has")
				return
			}
			require.Empty(t, c.keys())
			require.Len(t, server.pods["p"].Status.ResourceClaimStatuses, 2)
		})
	}
}

func (a SetClaimStatuses) withStatus(entry, claim string) SetClaimStatuses {
	a.Pending = []string{entry}
	return a.withCreated(map[string]string{entry: claim})
}
