package drain

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/test/seed"
)

// crowd is a random cluster of one budget, whose pods are lost, recreated or being deleted in every mix.
func crowd(r *rand.Rand) (disruption.Snapshot, []string) {
	s := disruption.Snapshot{Now: now}
	nodes := []string{"node-0", "node-1", "node-2", "node-3", "node-4"}
	number := 0
	for _, kind := range []string{"ReplicaSet", "ReplicaSet", "StatefulSet", "Job", ""} {
		name := fmt.Sprint("c-", number)
		pods := r.IntN(5)
		if kind == "ReplicaSet" {
			s.ReplicaSets = append(s.ReplicaSets, replicaSet(name, "", ptr.To(int32(max(0, pods+r.IntN(5)-2)))))
		}
		if kind == "StatefulSet" {
			ss := statefulSet(name, ptr.To(int32(pods)))
			ss.Spec.PodManagementPolicy = []appsv1.PodManagementPolicyType{appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement}[r.IntN(2)]
			s.StatefulSets = append(s.StatefulSets, ss)
		}
		for i := range pods {
			p := pod(fmt.Sprint(name, "-", i))
			switch kind {
			case "":
			case "Job":
				by("batch/v1", kind, name)(p)
			default:
				by("apps/v1", kind, name)(p)
			}
			switch r.IntN(8) {
			case 0:
				deleting(p)
			case 1:
				unready(p)
			}
			p.Spec.NodeName = nodes[r.IntN(len(nodes))]
			s.Pods = append(s.Pods, p)
		}
		number++
	}
	b := budget(minAvailable(fmt.Sprint(r.IntN(len(s.Pods) + 1))))
	if r.IntN(4) == 0 {
		b = budget(maxUnavailable(fmt.Sprint(r.IntN(4))))
	}
	s.Budgets = []*policyv1.PodDisruptionBudget{b}
	return s, nodes
}

// Waves whose pods are counted are feasible, also before the whole wave is played, and no node could be added.
func TestWavesCountAsTheyPlay(t *testing.T) {
	counted := 0
	for seed := range seed.Each(t, 1500) {
		r := rand.New(rand.NewPCG(seed, 7))
		s, nodes := crowd(r)
		o := WaveOptions{Options: Options{Force: true}, Rounds: []int{2, 3, -1}[r.IntN(3)]}
		x := disruption.NewIndex(s, disruption.Options{})
		p := newPlanner(x, nodes, o)
		drain := func(names ...string) bool {
			drains, _, err := Nodes(x, names, o.Options)
			require.NoError(t, err)
			return !slices.ContainsFunc(drains, func(d Drain) bool {
				return d.Outcome != Now && d.Outcome != InRounds || p.rounds > 0 && len(d.Rounds) > p.rounds
			})
		}
		for g, formed := p.groups[0], true; formed; x = p.x {
			p.form(g)
			if members := p.wave.members; len(members) > 0 {
				require.True(t, p.drainer(members).drains(), "seed %d: %d nodes were counted wrong", seed, len(members))
			}
			var w Wave
			w, formed = p.next(g)
			if len(w.Nodes) > 1 && p.played == 0 {
				counted++
			}
			require.True(t, drain(w.Nodes...), "seed %d: %v do not drain", seed, w.Nodes)
			for _, c := range g.left {
				require.False(t, drain(append(slices.Clone(w.Nodes), c.name)...), "seed %d: %s could be added to %v", seed, c.name, w.Nodes)
			}
		}
	}
	require.Greater(t, counted, 300, "waves for which counting is enough")
}

// Whatever is in the wave already: where counting has an answer, a play has the same.
func TestCountingAgreesWithPlaying(t *testing.T) {
	counts := map[string]int{}
	for seed := range seed.Each(t, 1500) {
		r := rand.New(rand.NewPCG(seed, 7))
		s, nodes := crowd(r)
		if r.IntN(3) == 0 { // evictions were granted before
			entries := map[string]metav1.Time{}
			for range 1 + r.IntN(2) {
				if len(s.Pods) > 0 {
					entries[s.Pods[r.IntN(len(s.Pods))].Name] = metav1.NewTime(now.Add(-time.Duration(r.IntN(150)) * time.Second))
				}
			}
			s.Budgets[0].Status.DisruptedPods = entries
		}
		p := newPlanner(disruption.NewIndex(s, disruption.Options{}), nodes, WaveOptions{Options: Options{Force: true}, Rounds: []int{2, 3, -1}[r.IntN(3)]})
		for g, formed := p.groups[0], true; formed; _, formed = p.next(g) {
			p.wave = wave{number: p.wave.number + 1, linked: map[int][]*candidate{}}
			for _, c := range g.left {
				if c.never {
					continue
				}
				drains := p.drainer(append(slices.Clone(p.wave.members), c)).drains()
				counted := true
				for i := range c.demands {
					fits, known := p.hasRoom(&c.demands[i])
					require.False(t, known && !fits && drains, "seed %d: %s has no room with %d others, and drains", seed, c.name, len(p.wave.members))
					counted = counted && known
				}
				if counted && !p.wave.listed {
					counts[strconv.FormatBool(drains)]++
					require.Equal(t, drains, p.fits(c), "seed %d: %s with %d others", seed, c.name, len(p.wave.members))
				} else if len(s.Budgets[0].Status.DisruptedPods) == 0 {
					counts["played"]++
				}
				if drains {
					p.add(c)
				}
			}
		}
	}
	t.Log(counts)
	require.Less(t, counts["played"]*5, counts["true"]+counts["false"], "counting is enough for most nodes")
}
