package fleet

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/klog/v2"

	"github.com/purekube/purekube/disruption"
	nodedrain "github.com/purekube/purekube/disruption/drain"
	"github.com/purekube/purekube/internal/test/parity"
	"github.com/purekube/purekube/internal/test/seed"
)

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// ways are how nodes are drained.
var ways = []string{"alone", "one after the other", "together"}

// TestDrains drains nodes of each cluster: one alone, some one after the other, and some at the same time.
func TestDrains(t *testing.T) {
	seed, cases := seed.FromVariable(t, "PARITY_SEED", 1), parity.Number[uint64](t, "PARITY_CASES", 200)
	only := parity.Number(t, "PARITY_CASE", cases)
	for n, way := range ways {
		t.Run(way, func(t *testing.T) {
			seen := map[string]int{}
			for i := range cases {
				if only < cases && i != only {
					continue
				}
				failed := ""
				r := rand.New(rand.NewPCG(seed, uint64(n)<<32|i))
				play(t, r, func(c *cluster) {
					if diff := compare(&maker{cluster: c, r: r}, way, seen); diff != "" {
						failed = fmt.Sprintf("PARITY_SEED=%d PARITY_CASE=%d go test ./fleet -run '%s'\n%s", seed, i, t.Name(), diff)
					}
				})
				if failed != "" {
					t.Fatal(failed)
				}
			}
			for _, kind := range slices.Sorted(maps.Keys(seen)) {
				t.Logf("%6d  %s", seen[kind], kind)
			}
			for _, outcome := range []nodedrain.Outcome{nodedrain.Now, nodedrain.InRounds, nodedrain.Never, nodedrain.NotStarted} {
				if kind := "outcome " + string(outcome); cases >= 200 && only >= cases && seen[kind] < int(cases/100) {
					t.Errorf("%s is in %d of %d clusters only", kind, seen[kind], cases)
				}
			}
		})
	}
}

// compare drains nodes of a random cluster. It returns the difference, unless ours goes in the same way, or in a
// stricter one for a reason that is known.
func compare(m *maker, way string, seen map[string]int) string {
	m.fill()
	nodes := m.nodes[:1]
	switch {
	case way != "alone":
		nodes = m.nodes[:1+m.r.IntN(min(len(m.nodes)-1, 8))]
	case m.oneIn(4):
		nodes = []string{pick(m.r, m.nodes...)}
	}
	for _, node := range nodes {
		m.cordoned[node] = true
	}
	flags := nodedrain.Options{IgnoreDaemonSets: !m.oneIn(8), DeleteEmptyDirData: !m.oneIn(8), Force: !m.oneIn(8)}
	s := m.last(way != "one after the other")
	x := disruption.NewIndex(s, disruption.Options{MatchUpstream: release})
	var ours []nodedrain.Drain
	var err error
	var really []played
	switch way {
	case "alone":
		ours = make([]nodedrain.Drain, 1)
		ours[0], _, err = nodedrain.Node(x, nodes[0], flags)
		really = m.drain(nodes, flags)
	case "together":
		ours, _, err = nodedrain.Nodes(x, nodes, flags)
		really = m.drain(nodes, flags)
	default:
		ours = make([]nodedrain.Drain, len(nodes))
		for i, node := range nodes {
			var failed error
			ours[i], x, failed = nodedrain.Node(x, node, flags)
			err = errors.Join(err, failed)
			really = append(really, m.drain([]string{node}, flags)...)
		}
	}
	if err != nil {
		return err.Error()
	}
	seen["clusters"]++
	for i, node := range nodes {
		got, want := asPlayed(ours[i]), really[i]
		seen["outcome "+string(want.Outcome)]++
		seen[fmt.Sprintf("rounds  %2d", len(want.Rounds))]++
		diff := cmp.Diff(want, got, cmpopts.EquateEmpty())
		if diff == "" {
			continue
		}
		why := stricter(s, want, got)
		if why == "" {
			return fmt.Sprintf("draining %s of %v with %+v (- Kubernetes, + ours):\n%s\nfor\n%s",
				node, nodes, flags, diff, text(s))
		}
		seen["stricter: "+why]++
		return "" // the nodes after it meet other clusters
	}
	return ""
}
