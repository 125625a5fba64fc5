package model

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/test/seed"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/servicecidr"
	"github.com/purekube/purekube/ttl"
)

// TestTwoAtOnce has two controllers of one package at work for a minute: neither has a Lease. Each is the loop that
// clientgo runs, with caches, a queue and a memory of its own. Then one of them ends, and everything comes to rest. One
// guarantee of each of three packages needs one controller: the tests below say why. All others hold.
func TestTwoAtOnce(t *testing.T) {
	first := seed.First(t, 1)
	for _, p := range pairs() {
		rounds := p.rounds
		if seed.Short() {
			rounds = 3
		}
		t.Run(p.name, func(t *testing.T) {
			harm := map[string]int{}
			for seed := first; seed < first+rounds; seed++ {
				p.play(t, seed, harm)
			}
			t.Log("broken so often: ", harm)
			if p.always {
				require.Positive(t, harm[p.without])
			}
		})
	}
}

// pair is two controllers of one package.
type pair struct {
	name string
	make func() player
	// rounds is how many seeds there are.
	rounds uint64
	events []Event
	right  func(*View) string
	// without is the guarantee that two controllers do not keep. always: it is broken in some of these runs.
	without string
	always  bool
}

func pairs() []pair {
	return []pair{
		{"servicecidr", func() player { return serviceCIDRPlayer() }, 30,
			serviceCIDRWorld("", servicecidr.Options{}, nil, nil).Events, rangesOfTwoAreRight, ranges, false},
		{"resourceclaim", func() player { return claimPlayer() }, 30,
			append(podGroupWorld(resourceclaim.Options{}).Events, Event{Name: "shared claim made again"}),
			servedByOneOfTwo, oneClaim, true},
		{"disruption", func() player { return budgetPlayer() }, 10,
			budgetWorld(disruption.Options{}).Events, budgetsAreExact, evictions, false},
		{"rbacaggregate", func() player { return clusterRolePlayer() }, 10,
			[]Event{{Name: "role changed"}, {Name: "role deleted or made"}}, rulesHaveSources, "", false},
		{"ttl", func() player { return nodePlayer() }, 10, []Event{{Name: "nodes"}}, nodesHaveOneTTL, "", false},
	}
}

// play has both at work for a minute, and counts in harm how often the guarantee is broken that they do without.
func (p pair) play(t testing.TB, seed uint64, harm map[string]int) {
	if p.without != "" {
		harm[p.without] += 0
	}
	l := newLoop(t, seed)
	l.harm, l.right = harm, []func(*View) string{p.right}
	l.events = slices.DeleteFunc(l.events, func(e Event) bool {
		return !slices.ContainsFunc(p.events, func(of Event) bool { return of.Name == e.Name })
	})
	// There are few names, so that pods are recreated under them and share claims.
	l.events = Scenario{Events: l.events}.withPods(
		"one-0", "two-0", "both-0", "both-1", "share-0", "share-1", "share-2", "team-0", "also-0").Events
	l.all = []player{p.make(), p.make()}
	for _, c := range l.all {
		c.begin(l)
	}
	if kinds := l.all[0].watches(); len(kinds) > 1 {
		l.slow = kinds[seed%uint64(len(kinds))]
	}
	l.forAMinute(seed)
}

// forAMinute lets everybody work for a minute of the cluster's time. Then the last controller ends for good, and
// everything comes to rest. At that time most keys are queued anyway, which hides an event that does not queue its keys:
// so there are a few more events afterwards, one at a time.
func (l *loop) forAMinute(seed uint64) {
	defer func() {
		if l.t.Failed() {
			l.t.Logf("-seed %d; the last steps:\n%s", seed, strings.Join(l.story[max(0, len(l.story)-60):], "\n"))
		}
	}()
	for end := l.now.Add(time.Minute); l.now.Before(end); {
		l.step()
	}
	l.all = l.all[:len(l.all)-1]
	l.rest()
	for range 10 {
		l.happen(l.events[l.random.IntN(len(l.events))])
		for _, c := range l.all {
			l.drain(c)
		}
		l.rest()
	}
}

// rangesOfTwoAreRight is serviceCIDRsAreRight where any of the ServiceCIDRs that are being deleted may go first: the order
// of the records is not the order of the timestamps.
func rangesOfTwoAreRight(v *View) string {
	return serviceCIDRsAreRightIn(v, func(_, _ *networkingv1.ServiceCIDR) bool { return false })
}

// servedByOneOfTwo is claimsServePods where a PodGroup may have two claims for an entry: one of its pods may know the
// claim that the PodGroup does not name.
func servedByOneOfTwo(v *View) string {
	if wrong := claimsServePods(v); !strings.HasPrefix(wrong, "at rest, a pod has the claims of its PodGroup") {
		return wrong
	}
	return ""
}

// TestTwoRecordsOfDeletions is why two controllers of ServiceCIDRs need a Lease. One has seen the deletions in their
// order; the other one started later, and has seen them in the order of a list. Each lets another one of two equal
// ServiceCIDRs go, and the address has no range.
func TestTwoRecordsOfDeletions(t *testing.T) {
	const grace = servicecidr.DeletionGracePeriod
	later := newServiceCIDR("a", 1, []string{"10.0.0.0/24"})
	sooner := newServiceCIDR("b", 2, []string{"10.0.0.0/24"})
	for i, c := range []*networkingv1.ServiceCIDR{sooner, later} {
		c.Finalizers = []string{servicecidr.Finalizer}
		c.DeletionTimestamp = &metav1.Time{Time: Start.Add(time.Duration(i) * time.Second)}
	}
	address := &networkingv1.IPAddress{ObjectMeta: metav1.ObjectMeta{Name: "10.0.0.5", Labels: map[string]string{
		networkingv1.LabelManagedBy: servicecidr.ManagedBy, networkingv1.LabelIPAddressFamily: "IPv4"}}}
	s := servicecidr.Snapshot{Now: Start.Add(time.Minute), ServiceCIDRs: []*networkingv1.ServiceCIDR{sooner, later},
		IPAddresses: []*networkingv1.IPAddress{address}}
	goes := func(first, second *networkingv1.ServiceCIDR) (names []string) {
		s.DeletionSeen = map[types.UID]time.Time{first.UID: s.Now.Add(-grace - 1), second.UID: s.Now.Add(-grace)}
		outcomes, err := servicecidr.PlanAll(s, servicecidr.Options{})
		require.NoError(t, err)
		for _, o := range outcomes {
			for _, a := range o.Result.Actions {
				if _, removes := a.(servicecidr.RemoveFinalizer); removes {
					names = append(names, o.Key.Name)
				}
			}
		}
		return names
	}
	inOrder, listed := goes(sooner, later), goes(later, sooner)
	require.Len(t, inOrder, 1, "one controller alone keeps the range")
	require.Len(t, listed, 1, "one controller alone keeps the range")
	require.NotEqual(t, inOrder, listed)
}

// TestTwoSteps is why two controllers of nodes need a Lease: where two steps overlap, each takes the step from where
// the number of nodes came from. Each then writes over the TTL of the other one.
func TestTwoSteps(t *testing.T) {
	for step, other := range []string{"15", "0"} {
		s := ttl.Snapshot{Step: step}
		for i := range 95 {
			n := newNode(fmt.Sprint("node-", i), zero)
			n.Annotations[ttl.Annotation] = other
			s.Nodes = append(s.Nodes, n)
		}
		outcomes, err := ttl.PlanAll(s, ttl.Options{})
		require.NoError(t, err)
		require.Len(t, outcomes, 95)
		for _, o := range outcomes {
			require.Len(t, o.Result.Actions, 1, "step %d writes over %s", step, other)
		}
	}
}

// TestTwoViewsOfAnEviction is why two controllers of budgets need a Lease. One has seen that an evicted pod is being
// deleted, and takes it off the list in the status. The other one has that status already, and the pod as it was
// before: it counts the pod as healthy.
func TestTwoViewsOfAnEviction(t *testing.T) {
	view := &View{objects: budgetWorld(disruption.Options{}).Objects}
	db := Get[*policyv1.PodDisruptionBudget](view, "ns", "db").DeepCopy()
	evicted := Get[*corev1.Pod](view, "ns", "db-0")
	deleted := evicted.DeepCopy()
	deleted.DeletionTimestamp = &metav1.Time{Time: Start}
	db.Status.DisruptedPods = map[string]metav1.Time{evicted.Name: metav1.NewTime(Start)}
	status := func(b *policyv1.PodDisruptionBudget, pod *corev1.Pod) *policyv1.PodDisruptionBudget {
		s := disruption.Snapshot{Now: Start.Add(time.Second), Budgets: []*policyv1.PodDisruptionBudget{b},
			Pods:         []*corev1.Pod{pod, Get[*corev1.Pod](view, "ns", "db-1")},
			StatefulSets: All[*appsv1.StatefulSet](view)}
		r, err := disruption.Plan(s, disruption.KeyOf(b), disruption.Options{})
		require.NoError(t, err)
		require.Len(t, r.Actions, 1)
		return r.Actions[0].(disruption.UpdateStatus).Apply(b)
	}
	require.Zero(t, status(db, evicted).Status.DisruptionsAllowed, "before a controller sees the deletion")
	one := status(db, deleted)
	require.Zero(t, one.Status.DisruptionsAllowed, "when it sees the deletion")
	require.EqualValues(t, 1, status(one, evicted).Status.DisruptionsAllowed, "the other controller")
}
