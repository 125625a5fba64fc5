package eviction

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/kubectl/pkg/drain"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	nodedrain "github.com/purekube/purekube/disruption/drain"
	"github.com/purekube/purekube/internal/persistent"
	"github.com/purekube/purekube/internal/test/samplecluster"
	"github.com/purekube/purekube/internal/test/upstream/parity"
)

// drained is how a drain goes, as far as the API server and kubectl say so.
type drained struct {
	Outcome string
	// NotStarted are kubectl's errors, sorted.
	NotStarted []string
	Skipped    []string
	// Rounds are the pods that went, without the rounds that only waited.
	Rounds [][]types.NamespacedName
	// Refused are the pods that stay, with the last answer to their eviction.
	Refused map[types.NamespacedName]Answer
}

// skipped is the label of pods that --pod-selector leaves out.
const skipped = "skipped"

// TestDrainNode drains nodes of random clusters. kubectl's own filters say which pods are evicted, and
// its texts why a drain does not start. The evictions are asked of the real handler, round after
// round, with the real disruption controller between them.
func TestDrainNode(t *testing.T) {
	cases := parity.Settings(t, 5000)
	for name, o := range map[string]disruption.Options{"default": {}, "MatchUpstream": {MatchUpstream: purekube.V1_36}} {
		t.Run(name, func(t *testing.T) {
			seen := map[string]int{}
			for i := range cases.Numbers() {
				r := cases.Source(i)
				sample := samplecluster.New(r, parity.Epoch)
				for _, p := range sample.Pods {
					if r.IntN(15) == 0 {
						p.Labels = maps.Clone(p.Labels)
						p.Labels[skipped] = ""
					}
				}
				flags := nodedrain.Options{IgnoreDaemonSets: r.IntN(6) > 0, DeleteEmptyDirData: r.IntN(6) > 0, Force: r.IntN(6) > 0,
					SkipPod: func(p *corev1.Pod) bool { _, found := p.Labels[skipped]; return found }}
				node := sample.Nodes[[]int{0, 0, 1, 2}[r.IntN(4)]]
				if o.MatchUpstream == "" && hasDivergence(sample) {
					seen["divergence D-13"]++
					continue
				}
				ours, _, err := nodedrain.Node(disruption.NewIndex(sample.Snapshot, o), node, flags)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(really(t, sample, node, flags), asDrained(ours)); diff != "" {
					t.Fatalf("draining %s with %+v (- kubectl and kube-apiserver, + ours):\n%s\nfor\n%s\n%s",
						node, flags, diff, text(sample), cases.Again(t, i))
				}
				seen[string(ours.Outcome)]++
				for _, p := range ours.Refused {
					seen["refused: "+string(p.Code)]++
				}
				for _, p := range ours.Skipped {
					seen["skipped: "+string(p.Code)]++
				}
				if slices.ContainsFunc(ours.Rounds, func(r []types.NamespacedName) bool { return len(r) == 0 }) {
					seen["a round that only waits"]++
				}
				if len(ours.Rounds) > 2 {
					seen["more than two rounds"]++
				}
			}
			for _, kind := range slices.Sorted(maps.Keys(seen)) {
				t.Logf("%6d  %s", seen[kind], kind)
			}
			for _, kind := range []string{
				"Now", "InRounds", "Never", "NotStarted", "a round that only waits", "more than two rounds",
				"refused: StuckPod", "refused: DaemonSetPod", "refused: LocalStorage", "refused: NoController", "refused: EvictionRefused",
				"skipped: DaemonSetPod", "skipped: MirrorPod", "skipped: SkipPod",
			} {
				if cases.AtLeast(1000) && seen[kind] < cases.Count/200 {
					t.Errorf("%q is in %d of %d cases only", kind, seen[kind], cases.Count)
				}
			}
		})
	}
}

// asDrained is ours in the terms of kubectl and the API server.
func asDrained(d nodedrain.Drain) drained {
	a := drained{Outcome: string(d.Outcome)}
	for _, p := range d.Skipped {
		a.Skipped = append(a.Skipped, p.Pod.String())
	}
	if d.Outcome == nodedrain.NotStarted {
		// kubectl names the pods of each class in one error.
		byMessage := map[string][]string{}
		for _, p := range d.Refused {
			if p.Code == nodedrain.ReasonStuckPod {
				continue // kubectl does not get as far as to wait for it
			}
			byMessage[p.Message] = append(byMessage[p.Message], p.Pod.String())
		}
		for message, pods := range byMessage {
			a.NotStarted = append(a.NotStarted, message+": "+strings.Join(pods, ", "))
		}
		slices.Sort(a.NotStarted)
		return a
	}
	for _, r := range d.Rounds {
		if len(r) > 0 {
			a.Rounds = append(a.Rounds, r)
		}
	}
	for _, p := range d.Refused {
		if a.Refused == nil {
			a.Refused = map[types.NamespacedName]Answer{}
		}
		a.Refused[p.Pod] = oneFailure(ours(p.Eviction))
	}
	return a
}

// really is how the drain goes.
func really(t *testing.T, sample samplecluster.Cluster, node string, flags nodedrain.Options) (d drained) {
	t.Helper()
	list, errs := kubectl(sample, node, flags)
	listed := map[types.NamespacedName]bool{}
	var left []types.NamespacedName
	for _, p := range list.Pods() {
		left = append(left, KeyOf(&p))
		listed[KeyOf(&p)] = true
	}
	if len(errs) > 0 {
		d.Outcome = string(nodedrain.NotStarted)
		for _, err := range errs {
			d.NotStarted = append(d.NotStarted, err.Error())
		}
		slices.Sort(d.NotStarted)
	}
	for _, p := range sample.On(node) {
		stops := slices.ContainsFunc(d.NotStarted, func(text string) bool { return strings.Contains(text+",", KeyOf(p).String()+",") })
		if !listed[KeyOf(p)] && !stops {
			d.Skipped = append(d.Skipped, KeyOf(p).String())
		}
	}
	if len(errs) > 0 {
		return d
	}
	slices.SortFunc(left, persistent.CompareNames)
	play(t, sample, func(c *cluster) { c.drain(left, &d) })
	return d
}

// drain evicts the pods, round after round.
func (c *cluster) drain(left []types.NamespacedName, d *drained) {
	d.Outcome = string(nodedrain.Now)
	refuse := func(key types.NamespacedName, a Answer) {
		if d.Refused == nil {
			d.Refused = map[types.NamespacedName]Answer{}
		}
		d.Refused[key] = oneFailure(a)
	}
	for len(left) > 0 {
		var evicted, waiting []types.NamespacedName
		answers := map[types.NamespacedName]Answer{}
		for _, key := range left {
			// kubectl waits for a pod that does not end.
			dead := c.pods[key].DeletionTimestamp != nil && deadNode(c.pods[key])
			switch a := c.evict(key); a.Code {
			case 201:
				if dead {
					refuse(key, Answer{})
					continue
				}
				evicted = append(evicted, key)
			case 429:
				waiting = append(waiting, key)
				answers[key] = a
			default:
				refuse(key, a) // kubectl gives up
			}
		}
		left = waiting
		if len(evicted) > 0 {
			d.Rounds = append(d.Rounds, evicted)
		}
		if !c.finish() && len(left) > 0 && !c.sleepToRecheck() {
			for key, a := range answers {
				refuse(key, a)
			}
			break
		}
		if len(left) > 0 {
			d.Outcome = string(nodedrain.InRounds)
		}
	}
	if len(d.Refused) > 0 {
		d.Outcome = string(nodedrain.Never)
	}
}

// kubectl is what its filters make of the node's pods.
func kubectl(sample samplecluster.Cluster, node string, flags nodedrain.Options) (*drain.PodDeleteList, []error) {
	client := fake.NewClientset(copies(sample.DaemonSets)...)
	client.PrependReactor("list", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		list := &corev1.PodList{}
		selector := action.(clienttesting.ListAction).GetListRestrictions().Labels
		for _, p := range sample.On(node) {
			if selector.Matches(labels.Set(p.Labels)) {
				list.Items = append(list.Items, *p.DeepCopy())
			}
		}
		return true, list, nil
	})
	helper := &drain.Helper{
		Ctx: context.Background(), Client: client, Force: flags.Force, IgnoreAllDaemonSets: flags.IgnoreDaemonSets,
		DeleteEmptyDirData: flags.DeleteEmptyDirData, GracePeriodSeconds: -1, PodSelector: "!" + skipped,
	}
	return helper.GetPodsForDeletion(node)
}
