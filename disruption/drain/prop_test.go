package drain_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/disruption/drain"
	"github.com/purekube/purekube/internal/test/samplecluster"
	"github.com/purekube/purekube/internal/test/seed"
)

// play is drain.Node, whose error is about objects that no drain rests on.
func play(x *disruption.Index, node string, o drain.Options) (drain.Drain, *disruption.Index) {
	d, after, _ := drain.Node(x, node, o)
	return d, after
}

// everything evicts all that can be evicted.
var everything = drain.Options{IgnoreDaemonSets: true, DeleteEmptyDirData: true, Force: true}

// forEachDrain runs the property on the nodes of random clusters.
func forEachDrain(t *testing.T, property func(r *rand.Rand, c samplecluster.Cluster, node string) error) {
	t.Helper()
	for seed := range seed.Each(t, 300) {
		r := rand.New(rand.NewPCG(seed, 0))
		c := samplecluster.New(r, scenarioTime)
		for _, node := range c.Nodes {
			if err := property(r, c, node); err != nil {
				t.Fatalf("seed %d, %s: %v", seed, node, err)
			}
		}
	}
}

// Every pod of the node is evicted once, skipped or refused; and none twice.
func TestDrainNamesEveryPodOnce(t *testing.T) {
	forEachDrain(t, func(_ *rand.Rand, c samplecluster.Cluster, node string) error {
		d, _ := play(disruption.NewIndex(c.Snapshot, disruption.Options{}), node, everything)
		var named, want []types.NamespacedName
		for _, round := range d.Rounds {
			if !slices.IsSortedFunc(round, compareNames) {
				return fmt.Errorf("a round out of order: %v", round)
			}
			named = append(named, round...)
		}
		for _, p := range d.Skipped {
			named = append(named, p.Pod)
		}
		for _, p := range d.Refused {
			if p.Message == "" || p.Code == drain.ReasonEvictionRefused && (p.Eviction.Verdict.Allowed() || len(p.Eviction.Blocking) == 0) {
				return fmt.Errorf("refused for no reason: %+v", p)
			}
			named = append(named, p.Pod)
		}
		for _, p := range c.On(node) {
			want = append(want, nameOf(p))
		}
		slices.SortFunc(named, compareNames)
		return differ(want, named)
	})
}

// After a drain nothing is left to do: what went is not on the node any more, what stays stays, and
// the budgets that cover evicted pods have the status that they should have.
func TestDrainComesToRest(t *testing.T) {
	forEachDrain(t, func(_ *rand.Rand, c samplecluster.Cluster, node string) error {
		d, after := play(disruption.NewIndex(c.Snapshot, disruption.Options{}), node, everything)
		again, _ := play(after, node, everything)
		for _, round := range again.Rounds {
			if len(round) > 0 {
				return fmt.Errorf("%v goes in a second drain", round)
			}
		}
		if err := differ(d.Refused, again.Refused); err != nil {
			return err
		}
		for _, pod := range slices.Concat(d.Rounds...) {
			for _, b := range c.Budgets {
				if b.Namespace != pod.Namespace || !covers(b, c.Pods, pod) {
					continue
				}
				r, _ := after.Plan(disruption.KeyOf(b))
				if len(r.Actions) > 0 {
					return fmt.Errorf("the status of %s is yet to be written: %v", b.Name, r.Actions)
				}
			}
		}
		return nil
	})
}

func covers(b *policyv1.PodDisruptionBudget, pods []*corev1.Pod, pod types.NamespacedName) bool {
	at := slices.IndexFunc(pods, func(p *corev1.Pod) bool { return nameOf(p) == pod })
	covering, _ := disruption.NewIndex(disruption.Snapshot{Budgets: []*policyv1.PodDisruptionBudget{b}}, disruption.Options{}).BudgetsFor(pods[at])
	return len(covering) == 1
}

// MaxRounds cuts a drain short, and changes nothing of the rounds before.
func TestDrainMaxRounds(t *testing.T) {
	forEachDrain(t, func(_ *rand.Rand, c samplecluster.Cluster, node string) error {
		x := disruption.NewIndex(c.Snapshot, disruption.Options{})
		whole, _ := play(x, node, everything)
		for n := 1; n <= len(whole.Rounds)+1; n++ {
			o := everything
			o.MaxRounds = n
			d, _ := play(x, node, o)
			if err := differ(whole.Rounds[:min(n, len(whole.Rounds))], d.Rounds); err != nil {
				return err
			}
			if n >= len(whole.Rounds) {
				continue
			}
			if d.Outcome != drain.RoundsExhausted && d.Outcome != drain.Never || len(d.Refused) == 0 {
				return fmt.Errorf("%v after %d of %d rounds, %d pods left", d.Outcome, n, len(whole.Rounds), len(d.Refused))
			}
		}
		return nil
	})
}

// withoutSomeWorkloads returns the snapshot of a cluster that lacks some workloads and every scale, and the snapshot that
// has them, in which the StatefulSets that the first one lacks are OrderedReady: a scale does not say that they are Parallel.
func withoutSomeWorkloads(r *rand.Rand, c samplecluster.Cluster) (some, all disruption.Snapshot) {
	some, all = c.Snapshot, c.Snapshot
	some.Answers = map[purekube.Need]purekube.Answer{}
	some.ReplicationControllers, some.ReplicaSets = samplecluster.SomeOf(r, c.ReplicationControllers), samplecluster.SomeOf(r, c.ReplicaSets)
	some.Deployments, some.StatefulSets = samplecluster.SomeOf(r, c.Deployments), samplecluster.SomeOf(r, c.StatefulSets)
	all.StatefulSets = nil
	for _, ss := range c.StatefulSets {
		if !slices.Contains(some.StatefulSets, ss) {
			ss = ss.DeepCopy()
			ss.Spec.PodManagementPolicy = appsv1.OrderedReadyPodManagement
		}
		all.StatefulSets = append(all.StatefulSets, ss)
	}
	return some, all
}

// lookUp is what the API server of the cluster answers.
func lookUp(c samplecluster.Cluster, n purekube.Need) purekube.Answer {
	is := func(o metav1.Object) bool { return o.GetNamespace() == n.Namespace && o.GetName() == n.Name }
	found := func(o metav1.Object, replicas *int32) purekube.Answer {
		return purekube.Answer{Object: &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{UID: o.GetUID()}, Spec: autoscalingv1.ScaleSpec{Replicas: *replicas}}}
	}
	switch n.Kind {
	case "ReplicaSet":
		for _, o := range c.ReplicaSets {
			if is(o) {
				if n.Subresource == "" {
					return purekube.Answer{Object: o}
				}
				return found(o, o.Spec.Replicas)
			}
		}
	case "Deployment":
		for _, o := range c.Deployments {
			if is(o) {
				return found(o, o.Spec.Replicas)
			}
		}
	case "StatefulSet":
		for _, o := range c.StatefulSets {
			if is(o) {
				return found(o, o.Spec.Replicas)
			}
		}
	case "ReplicationController":
		for _, o := range c.ReplicationControllers {
			if is(o) {
				return found(o, o.Spec.Replicas)
			}
		}
	}
	return c.Answers[n]
}

func TestDrainOfNobody(t *testing.T) {
	x := disruption.NewIndex(disruption.Snapshot{Pods: []*corev1.Pod{{}, nil}}, disruption.Options{})
	for _, node := range []string{"", "nowhere"} {
		d, after := play(x, node, drain.Options{})
		require.Equal(t, drain.Drain{Node: node, Outcome: drain.Now}, d)
		require.NotNil(t, after)
	}
}

func nameOf(p *corev1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
}

func compareNames(a, b types.NamespacedName) int {
	return slices.Compare([]string{a.Namespace, a.Name}, []string{b.Namespace, b.Name})
}

func differ[T any](want, got T) error {
	if diff := cmp.Diff(want, got, cmpopts.EquateErrors(), cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })); diff != "" {
		return fmt.Errorf("-want +got:\n%s", diff)
	}
	return nil
}
