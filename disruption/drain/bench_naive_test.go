package drain_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/disruption/drain"
)

// naive is what a program does that has the API server's and the disruption controller's way to decide, and lists of
// objects instead of an Index: it evicts the pods of a node one by one, looks through all budgets of the namespace for
// each, and computes the status of the budget from all pods of the namespace. It knows what drainCluster makes and nothing
// else: maxUnavailable, healthy pods, and workloads that are complete. It plays the first round only.
type naive struct {
	pods    map[string][]*corev1.Pod
	budgets map[string][]*policyv1.PodDisruptionBudget
	onNode  map[string][]*corev1.Pod
}

func newNaive(s disruption.Snapshot) *naive {
	n := &naive{map[string][]*corev1.Pod{}, map[string][]*policyv1.PodDisruptionBudget{}, map[string][]*corev1.Pod{}}
	for _, p := range s.Pods {
		n.pods[p.Namespace] = append(n.pods[p.Namespace], p)
		n.onNode[p.Spec.NodeName] = append(n.onNode[p.Spec.NodeName], p)
	}
	for _, b := range s.Budgets {
		n.budgets[b.Namespace] = append(n.budgets[b.Namespace], b)
	}
	return n
}

// drain returns how many pods of the node go in the first round.
func (n *naive) drain(node string) (goes int, err error) {
	gone := map[string]bool{}
	for _, p := range n.onNode[node] {
		allowed, err := n.allows(p, gone)
		if err != nil {
			return 0, err
		}
		if allowed {
			gone[p.Namespace+"/"+p.Name] = true
			goes++
		}
	}
	return goes, nil
}

func (n *naive) allows(p *corev1.Pod, gone map[string]bool) (bool, error) {
	for _, b := range n.budgets[p.Namespace] {
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil {
			return false, err
		}
		if !selector.Matches(labels.Set(p.Labels)) {
			continue
		}
		expected, healthy := 0, 0
		for _, other := range n.pods[p.Namespace] {
			if !selector.Matches(labels.Set(other.Labels)) {
				continue
			}
			expected++
			if !gone[other.Namespace+"/"+other.Name] {
				healthy++
			}
		}
		most, err := intstr.GetScaledValueFromIntOrPercent(b.Spec.MaxUnavailable, expected, true)
		if err != nil {
			return false, err
		}
		if healthy <= expected-most {
			return false, nil
		}
	}
	return true, nil
}

// The other way and drain.Node give the same answer.
func TestNaiveDrain(t *testing.T) {
	for _, shared := range []bool{false, true} {
		s := drainCluster(20, shared, func(i, n, nodes int) int { return (i + n%10) % nodes })
		x := disruption.NewIndex(s, disruption.Options{})
		for i := range 20 {
			node := fmt.Sprint("node-", i)
			d, _, err := drain.Node(x, node, drain.Options{})
			require.NoError(t, err)
			goes, err := newNaive(s).drain(node)
			require.NoError(t, err)
			require.Len(t, d.Rounds[0], goes)
		}
	}
}

// BenchmarkBesideNaive asks the other way how many pods of a node go in the first round, and drain.Node for all rounds.
// The ratio is of their times.
func BenchmarkBesideNaive(b *testing.B) {
	for _, shared := range []bool{false, true} {
		for _, nodes := range []int{50, 500, 5000} {
			s := drainCluster(nodes, shared, far)
			name := fmt.Sprintf("nodes=%d,pods=%d,budgets=%d", nodes, len(s.Pods), len(s.Budgets))
			var slow float64
			b.Run(name+"/list and count", func(b *testing.B) {
				n := newNaive(s)
				b.ReportAllocs()
				drained := 0
				for b.Loop() {
					if goes, err := n.drain(fmt.Sprint("node-", 101*drained%nodes)); err != nil || goes == 0 {
						b.Fatalf("%d pods: %v", goes, err)
					}
					drained++
				}
				slow = b.Elapsed().Seconds() / float64(drained)
			})
			b.Run(name+"/drain.Node", func(b *testing.B) {
				x := disruption.NewIndex(s, disruption.Options{})
				b.ReportAllocs()
				drained := 0
				for b.Loop() {
					if d, _, _ := drain.Node(x, fmt.Sprint("node-", 101*drained%nodes), drain.Options{}); len(d.Rounds) == 0 {
						b.Fatalf("%v", d.Outcome)
					}
					drained++
				}
				b.ReportMetric(slow/(b.Elapsed().Seconds()/float64(drained)), "ratio")
			})
		}
	}
}
