package fleet

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/disruption"
	nodedrain "github.com/purekube/purekube/disruption/drain"
	"github.com/purekube/purekube/internal/test/seed"
)

const disruptedPodTimeout = disruption.DefaultDeletionTimeout

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

func number(t *testing.T, variable string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// TestNode drains one node of each cluster.
func TestNode(t *testing.T) {
	seed, cases := seed.FromVariable(t, "PARITY_SEED", 1), number(t, "PARITY_CASES", 200)
	only := number(t, "PARITY_CASE", cases)
	seen := map[string]int{}
	for i := range cases {
		if only < cases && i != only {
			continue
		}
		r := rand.New(rand.NewPCG(seed, i))
		play(t, r, func(c *cluster) {
			m := &maker{cluster: c, r: r}
			m.fill()
			node := c.nodes[pick(r, 0, 0, 0, r.IntN(len(c.nodes)))]
			c.cordoned[node] = true
			flags := nodedrain.Options{IgnoreDaemonSets: !m.oneIn(8), DeleteEmptyDirData: !m.oneIn(8), Force: !m.oneIn(8)}
			s := m.last()
			ours, _, err := nodedrain.Node(disruption.NewIndex(s, disruption.Options{MatchUpstream: release}), node, flags)
			if err != nil {
				t.Fatal(err)
			}
			real := c.drain(node, flags)
			seen[string(ours.Outcome)]++
			seen[fmt.Sprintf("rounds: %d", len(ours.Rounds))]++
			if diff := cmp.Diff(real, asPlayed(ours), cmpopts.EquateEmpty()); diff != "" {
				seen["different"]++
				t.Errorf("PARITY_SEED=%d PARITY_CASE=%d, draining %s with %+v (- Kubernetes, + ours):\n%s\nfor\n%s", seed, i, node, flags, diff, text(s))
			}
		})
	}
	for _, kind := range slices.Sorted(maps.Keys(seen)) {
		t.Logf("%6d  %s", seen[kind], kind)
	}
}

// last has a few pods be deleted, and is the snapshot of that moment: before the controllers look, or when they
// have done all that they can while those pods are still there.
func (m *maker) last() disruption.Snapshot {
	s, stale := m.snapshot(), m.oneIn(2)
	deleted := m.remove(!stale)
	for _, pod := range deleted {
		m.put(pod)
		at := slices.IndexFunc(s.Pods, func(p *corev1.Pod) bool { return keyOf(p) == keyOf(pod) })
		s.Pods[at] = pod
	}
	if stale {
		m.settle()
		return s
	}
	m.converge()
	for _, pod := range m.sorted() {
		// Whatever time has passed, a kubelet has this pod for some more seconds.
		if pod.DeletionTimestamp != nil && !m.dead(pod) {
			pod = pod.DeepCopy()
			pod.DeletionTimestamp = ptr.To(metav1.NewTime(time.Now().Add(30 * time.Second)))
			m.put(pod)
		}
	}
	m.settle()
	return m.snapshot()
}
