package docs

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/apiserver"
	"github.com/purekube/purekube/internal/test/largecluster"
	"github.com/purekube/purekube/purekubetest"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/servicecidr"
	"github.com/purekube/purekube/ttl"
)

// pictures are drawn from what the packages do: each one drives its package through all states that it can reach,
// and draws the steps that were taken.
var pictures = map[string]func(*testing.T) string{
	"ttl":           pictureOfTTL,
	"resourceclaim": pictureOfClaim,
	"servicecidr":   pictureOfServiceCIDR,
}

// picture is a state diagram. The end of the states is gone.
type picture struct {
	ids   map[string]string
	edges map[[2]string][]string // labels
}

const gone = "gone"

func newPicture() *picture { return &picture{map[string]string{}, map[[2]string][]string{}} }

func (p *picture) edge(from, to, label string) {
	at := [2]string{from, to}
	if !slices.Contains(p.edges[at], label) {
		p.edges[at] = append(p.edges[at], label)
	}
}

// draw is the picture with the states in this order, which has to name all of them; the first is the beginning.
func (p *picture) draw(t *testing.T, states ...string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n")
	id := map[string]string{}
	for i, state := range states {
		if id[state] = fmt.Sprintf("s%d", i); state == gone {
			id[state] = "[*]"
			continue
		}
		fmt.Fprintf(&b, "    %s: %s\n", id[state], state)
	}
	fmt.Fprintf(&b, "    [*] --> %s\n", id[states[0]])
	seen := map[string]bool{}
	for _, from := range states {
		for _, to := range states {
			labels := p.edges[[2]string{from, to}]
			slices.Sort(labels)
			for _, label := range labels {
				fmt.Fprintf(&b, "    %s --> %s: %s\n", id[from], id[to], label)
				seen[from], seen[to] = true, true
			}
		}
	}
	for at := range p.edges {
		require.Contains(t, id, at[0], "a state that the picture does not have")
		require.Contains(t, id, at[1], "a state that the picture does not have")
	}
	require.Len(t, seen, len(states), "no step leads to some state")
	return b.String()
}

// Every step is tried with the numbers of nodes around all limits.
func pictureOfTTL(t *testing.T) string {
	steps := ttl.Steps()
	name := func(step int) string { return fmt.Sprintf("step %d, TTL %d s", step, int(steps[step].TTL.Seconds())) }
	p, states := newPicture(), []string{}
	limits := []int{0, 1}
	for _, b := range steps[1:] {
		limits = append(limits, b.SizeMin-1, b.SizeMin)
	}
	for _, b := range steps[:len(steps)-1] {
		limits = append(limits, b.SizeMax, b.SizeMax+1)
	}
	for step := range steps {
		states = append(states, name(step))
		up, down := math.MaxInt, -1 // the first number of nodes that leads up, the last that leads down
		for _, nodes := range limits {
			to := ttl.NewIndex(ttl.Snapshot{Step: step, Nodes: largecluster.Nodes(nodes, "0").Nodes}, ttl.Options{}).Step()
			switch {
			case to > step:
				up = min(up, nodes)
			case to < step:
				down = max(down, nodes)
			}
		}
		if up != math.MaxInt {
			require.Equal(t, steps[step].SizeMax+1, up)
			p.edge(name(step), name(step+1), fmt.Sprintf("more than %d nodes", up-1))
		}
		if down >= 0 {
			require.Equal(t, steps[step].SizeMin-1, down)
			p.edge(name(step), name(step-1), fmt.Sprintf("fewer than %d nodes", down+1))
		}
	}
	return p.draw(t, states...)
}

// cluster is one state on the way: the objects, and the time.
type cluster struct {
	now     time.Time
	objects []apiserver.Object
}

func (c cluster) server() *apiserver.Server {
	s := apiserver.New(c.objects...)
	s.Now = c.now
	return s
}

// key tells clusters apart. Versions do not count.
func (c cluster) key() string {
	var b strings.Builder
	fmt.Fprintln(&b, c.now)
	for _, o := range c.objects {
		o = o.DeepCopyObject().(apiserver.Object)
		o.SetResourceVersion("")
		text, _ := json.Marshal(o)
		fmt.Fprintf(&b, "%T %s\n", o, text)
	}
	return b.String()
}

// explore calls next for each cluster that can be reached from the first.
func explore(t *testing.T, first cluster, next func(cluster) []cluster) {
	t.Helper()
	seen := map[string]bool{first.key(): true}
	for queue := []cluster{first}; len(queue) > 0; queue = queue[1:] {
		for _, c := range next(queue[0]) {
			if key := c.key(); !seen[key] {
				seen[key] = true
				queue = append(queue, c)
			}
		}
		require.Less(t, len(seen), 5000, "the clusters do not come to an end")
	}
}

// carryOut makes the calls of one plan, and tells of each.
func carryOut[A purekube.Action](t *testing.T, server *apiserver.Server, actions []A, tell func(A)) {
	t.Helper()
	var done []runtime.Object
	for _, a := range actions {
		o, err := server.Do(a.Request(done))
		require.NoError(t, err, a)
		done = append(done, o)
		tell(a)
	}
}

// kindOf is the name of an action's type.
func kindOf(a purekube.Action) string { return a.Type() }

// A range that is made, used, covered by another one, and deleted, in every order.
func pictureOfServiceCIDR(t *testing.T) string {
	const (
		fresh    = "without the finalizer"
		added    = "with the finalizer"
		ready    = "Ready=True"
		deleted  = "being deleted"
		blocked  = "being deleted, Ready=False"
		oneRange = "range"
	)
	of := func(c cluster) *networkingv1.ServiceCIDR {
		for _, o := range apiserver.List[networkingv1.ServiceCIDR](c.server()) {
			if o.Name == oneRange {
				return o
			}
		}
		return nil
	}
	state := func(c cluster) string {
		o := of(c)
		if o == nil {
			return gone
		}
		condition := apimeta.FindStatusCondition(o.Status.Conditions, networkingv1.ServiceCIDRConditionReady)
		switch isReady := condition != nil && condition.Status == metav1.ConditionTrue; {
		case o.DeletionTimestamp != nil && condition != nil && !isReady:
			return blocked
		case o.DeletionTimestamp != nil:
			return deleted
		case len(o.Finalizers) == 0:
			return fresh
		case isReady:
			return ready
		}
		return added
	}
	p := newPicture()
	met := map[[3]string]map[string]bool{} // from, to, action: under which circumstances
	after := func(s *apiserver.Server, now time.Time) cluster { return cluster{now, s.All()} }
	start := purekubetest.Created.Time
	explore(t, cluster{start, []apiserver.Object{&networkingv1.ServiceCIDR{
		ObjectMeta: metav1.ObjectMeta{Name: oneRange}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.96.0.0/24"}},
	}}}, func(c cluster) (next []cluster) {
		o := of(c)
		if o == nil {
			return nil
		}
		snapshot := func(s *apiserver.Server) servicecidr.Snapshot {
			return servicecidr.Snapshot{Now: c.now, ServiceCIDRs: apiserver.List[networkingv1.ServiceCIDR](s), IPAddresses: apiserver.List[networkingv1.IPAddress](s)}
		}
		// What the controller does.
		s := c.server()
		deletion, err := servicecidr.NewIndex(snapshot(s), servicecidr.Options{}).CheckDeletion(servicecidr.Key(oneRange), 0)
		require.NoError(t, err)
		result, err := servicecidr.Plan(snapshot(s), servicecidr.Key(oneRange), servicecidr.Options{})
		require.NoError(t, err)
		from := state(c)
		carryOut(t, s, result.Actions, func(a servicecidr.Action) {
			is := after(s, c.now) // a controller may stop after each call
			next = append(next, is)
			to := state(is)
			if from == to {
				return // the condition's message or time
			}
			circumstances := "an address would be orphaned"
			if deletion.Safe {
				circumstances = "no address would be orphaned"
			}
			if o.DeletionTimestamp != nil {
				// The ten seconds are told apart by whether they have passed.
				if c.now.Before(o.DeletionTimestamp.Add(servicecidr.DeletionGracePeriod)) {
					circumstances += ", at once"
				} else {
					circumstances += ", 10 s after the deletion"
				}
			}
			at := [3]string{from, to, kindOf(a)}
			if met[at] == nil {
				met[at] = map[string]bool{}
			}
			met[at][circumstances] = true
			from = to
		})
		// What others do.
		other := func(change func(*apiserver.Server), now time.Time, label string) {
			s := c.server()
			s.Now = now
			change(s)
			if is := state(after(s, now)); is != state(c) {
				p.edge(state(c), is, label)
			}
			next = append(next, after(s, now))
		}
		if o.DeletionTimestamp == nil {
			other(func(s *apiserver.Server) {
				_, err := s.Do(purekube.Request{Verb: "delete", Resource: networkingv1.SchemeGroupVersion.WithResource("servicecidrs"), Name: oneRange})
				require.NoError(t, err)
			}, c.now, "a user deletes it")
		} else {
			other(func(*apiserver.Server) {}, o.DeletionTimestamp.Add(servicecidr.DeletionGracePeriod), "")
		}
		toggle := func(o apiserver.Object) {
			there := slices.ContainsFunc(c.objects, func(x apiserver.Object) bool { return x.GetName() == o.GetName() })
			other(func(s *apiserver.Server) {
				if there {
					s.Remove(o)
				} else {
					s.Put(o)
				}
			}, c.now, "")
		}
		toggle(purekubetest.Address("10.96.0.7", "shop/web"))
		toggle(purekubetest.ServiceCIDR("wide", "10.96.0.0/20"))
		return next
	})
	for at, circumstances := range met {
		label := at[2]
		// What holds in all cases is the condition of the step; where everything occurs there is none.
		switch all := slices.Sorted(maps.Keys(circumstances)); {
		case len(all) == 1:
			label += ", " + all[0]
		case !slices.ContainsFunc(all, func(c string) bool { return !strings.HasPrefix(c, "an address") }):
			label += ", an address would be orphaned"
		}
		p.edge(at[0], at[1], label)
	}
	return p.draw(t, fresh, added, ready, deleted, blocked, gone)
}

// A claim that is generated for a pod, from the pod to the end of both, in every order.
func pictureOfClaim(t *testing.T) string {
	const (
		none        = "no claim"
		created     = "created"
		allocated   = "allocated"
		reserved    = "allocated and reserved"
		released    = "released, with the finalizer"
		deleting    = ", being deleted"
		nameOfPod   = "train-0"
		allocatedTo = "a scheduler allocates it"
	)
	podOf := func(s *apiserver.Server) *corev1.Pod {
		for _, p := range apiserver.List[corev1.Pod](s) {
			return p
		}
		return nil
	}
	claimOf := func(s *apiserver.Server) *resourcev1.ResourceClaim {
		claims := apiserver.List[resourcev1.ResourceClaim](s)
		require.LessOrEqual(t, len(claims), 1)
		for _, c := range claims {
			return c
		}
		return nil
	}
	state := func(s *apiserver.Server, began bool) string {
		c := claimOf(s)
		if c == nil && !began {
			return none
		}
		if c == nil {
			return gone
		}
		is := created
		switch {
		case c.Status.Allocation != nil && len(c.Status.ReservedFor) > 0:
			is = reserved
		case c.Status.Allocation != nil:
			is = allocated
		case len(c.Finalizers) > 0:
			is = released
		}
		if c.DeletionTimestamp != nil {
			is += deleting
		}
		return is
	}
	pod := purekubetest.Pod("ml/" + nameOfPod)
	template := "one-gpu"
	pod.UID = "uid-of-train-0"
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending}
	pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: &template}}

	p := newPicture()
	acted := map[string]bool{}
	began := map[string]bool{} // the clusters in which there has been a claim
	first := cluster{purekubetest.Created.Time, []apiserver.Object{pod,
		&resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: template}}}}
	explore(t, first, func(c cluster) (next []cluster) {
		hasBegun := began[c.key()]
		if state(c.server(), hasBegun) == gone {
			return nil // the next claim begins anew
		}
		to := func(s *apiserver.Server) {
			after := cluster{c.now, s.All()}
			began[after.key()] = hasBegun || claimOf(s) != nil
			next = append(next, after)
		}
		// What the controller does: each plan alone, with the API server's answers to all lookups.
		s := c.server()
		snapshot := resourceclaim.Snapshot{
			Now: c.now, Pods: apiserver.List[corev1.Pod](s), Claims: apiserver.List[resourcev1.ResourceClaim](s),
			Templates: apiserver.List[resourcev1.ResourceClaimTemplate](s),
			Answers:   map[purekube.Need]purekube.Answer{{APIVersion: "v1", Kind: "Pod", Namespace: "ml", Name: nameOfPod}: answerAbout(podOf(s))},
		}
		outcomes, err := resourceclaim.PlanAll(snapshot, resourceclaim.Options{})
		require.NoError(t, err)
		for _, o := range outcomes {
			if claim := claimOf(s); claim == nil || claim.DeletionTimestamp == nil { // such a claim takes no new consumer
				require.NoError(t, o.Err)
			}
			require.Empty(t, o.Result.Needs)
			s := c.server()
			from, seen := state(s, hasBegun), hasBegun
			carryOut(t, s, o.Result.Actions, func(a resourceclaim.Action) {
				acted[kindOf(a)] = true
				seen = seen || claimOf(s) != nil
				if is := state(s, seen); is != from {
					p.edge(from, is, kindOf(a))
					from = is
				}
				to(s) // a controller may stop after each call
			})
		}
		// What others do.
		other := func(label string, change func(*apiserver.Server)) {
			s := c.server()
			change(s)
			if from, is := state(c.server(), hasBegun), state(s, hasBegun); from != is {
				p.edge(from, is, label)
			}
			to(s)
		}
		pod, claim := podOf(s), claimOf(s)
		active := pod != nil && pod.Status.Phase == corev1.PodPending
		if claim != nil && claim.DeletionTimestamp == nil && active && claim.Status.Allocation == nil && len(claim.Finalizers) == 0 {
			claim.Finalizers = []string{resourcev1.Finalizer}
			claim.Status.Allocation = &resourcev1.AllocationResult{}
			other(allocatedTo, func(s *apiserver.Server) { s.Put(claim) })
			bound := claim.DeepCopy()
			bound.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: pod.Name, UID: pod.UID}}
			other("the scheduler allocates it for the pod", func(s *apiserver.Server) { s.Put(bound) })
		}
		if claim := claimOf(s); claim != nil && claim.DeletionTimestamp == nil {
			label := "a user deletes it"
			if pod == nil {
				label = "the garbage collector deletes it, the pod is gone"
			}
			other(label, func(s *apiserver.Server) {
				_, err := s.Do(purekube.Request{Verb: "delete", Resource: resourcev1.SchemeGroupVersion.WithResource("resourceclaims"), Namespace: "ml", Name: claim.Name})
				require.NoError(t, err)
			})
		}
		if active && pod.Spec.NodeName == "" {
			bound := pod.DeepCopy()
			bound.Spec.NodeName = "node-a"
			other("", func(s *apiserver.Server) { s.Put(bound) })
		}
		if active {
			ended := pod.DeepCopy()
			ended.Status.Phase = corev1.PodSucceeded
			other("", func(s *apiserver.Server) { s.Put(ended) })
		}
		if pod != nil && claim != nil {
			other("", func(s *apiserver.Server) { s.Remove(pod) })
		}
		return next
	})
	require.Equal(t, []string{"CreateClaim", "DeleteClaim", "Release", "RemoveFinalizer", "Reserve", "SetClaimStatuses"}, slices.Sorted(maps.Keys(acted)), "each action is on the way")
	return p.draw(t, none, created, allocated, reserved, released, allocated+deleting, reserved+deleting, released+deleting, gone)
}

// answerAbout is the API server's answer about a pod, nil if there is none.
func answerAbout(pod *corev1.Pod) purekube.Answer {
	if pod == nil {
		return purekube.Answer{}
	}
	return purekube.Answer{Object: pod}
}
