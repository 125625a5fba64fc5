package fleet

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubectl/pkg/drain"

	nodedrain "github.com/purekube/purekube/disruption/drain"
	"github.com/purekube/purekube/internal/persistent"
	"github.com/purekube/purekube/internal/test/upstream/eviction"
)

// played is how the drain of a node goes, as far as the API server and kubectl say so.
type played struct {
	Outcome nodedrain.Outcome
	// NotStarted are kubectl's errors, sorted.
	NotStarted []string
	Skipped    []types.NamespacedName
	// Rounds are the pods that go in each round, sorted.
	Rounds [][]types.NamespacedName
	// Refused are the pods that stay, sorted.
	Refused []types.NamespacedName
	// Late are pods that go after all, when nothing had changed any more.
	Late []types.NamespacedName
}

// asPlayed is a drain in the same terms.
func asPlayed(d nodedrain.Drain) played {
	p := played{Outcome: d.Outcome, Rounds: d.Rounds}
	if d.Outcome == nodedrain.LeavesPending { // the API server says nothing about the pods that wait
		p.Outcome = nodedrain.Now
		if len(d.Rounds) > 1 {
			p.Outcome = nodedrain.InRounds
		}
	}
	// Rounds after the last pod of a drain that never ends: who waits for what in them is not the same.
	for n := len(p.Rounds); d.Outcome == nodedrain.Never && n > 0 && len(p.Rounds[n-1]) == 0; n = len(p.Rounds) {
		p.Rounds = p.Rounds[:n-1]
	}
	for _, s := range d.Skipped {
		p.Skipped = append(p.Skipped, s.Pod)
	}
	if d.Outcome != nodedrain.NotStarted {
		for _, r := range d.Refused {
			p.Refused = append(p.Refused, r.Pod)
		}
		return p
	}
	// kubectl names the pods of each class in one error, and does not get as far as to wait for one that is stuck.
	byMessage := map[string][]string{}
	for _, r := range d.Refused {
		if r.Code != nodedrain.ReasonStuckPod {
			byMessage[r.Message] = append(byMessage[r.Message], r.Pod.String())
		}
	}
	for message, pods := range byMessage {
		p.NotStarted = append(p.NotStarted, message+": "+strings.Join(pods, ", "))
	}
	slices.Sort(p.NotStarted)
	return p
}

// nodeDrain is one kubectl drain in progress.
type nodeDrain struct {
	helper *drain.Helper
	// pods are those that kubectl evicts, by name, and waiting the indexes of those that are left.
	pods    []corev1.Pod
	waiting []int
	now     played
}

// begin cordons the node and has kubectl's own filters say which pods go.
func (c *cluster) begin(node string, o nodedrain.Options) *nodeDrain {
	c.cordoned[node] = true
	d := &nodeDrain{helper: &drain.Helper{
		Ctx: context.Background(), Client: c.w.Client, Force: o.Force, IgnoreAllDaemonSets: o.IgnoreDaemonSets,
		DeleteEmptyDirData: o.DeleteEmptyDirData, GracePeriodSeconds: -1,
	}}
	list, errs := d.helper.GetPodsForDeletion(node)
	var goes []types.NamespacedName
	for _, pod := range list.Pods() {
		goes = append(goes, eviction.KeyOf(&pod))
		d.pods = append(d.pods, pod)
	}
	// A pod that does not end comes last, and takes no turn from another: its eviction changes nothing.
	slices.SortFunc(d.pods, func(a, b corev1.Pod) int {
		switch deadA, deadB := c.dead(&a), c.dead(&b); {
		case deadA == deadB:
			return persistent.CompareNames(eviction.KeyOf(&a), eviction.KeyOf(&b))
		case deadA:
			return 1
		}
		return -1
	})
	for _, err := range errs {
		d.now.NotStarted = append(d.now.NotStarted, err.Error())
	}
	slices.Sort(d.now.NotStarted)
	for _, pod := range c.sorted() {
		stops := slices.ContainsFunc(d.now.NotStarted, func(text string) bool {
			return strings.Contains(text+",", " "+eviction.KeyOf(pod).String()+",")
		})
		if pod.Spec.NodeName == node && !slices.Contains(goes, eviction.KeyOf(pod)) && !stops {
			d.now.Skipped = append(d.now.Skipped, eviction.KeyOf(pod))
		}
	}
	if len(errs) > 0 {
		d.now.Outcome = nodedrain.NotStarted
		return d
	}
	for i := range d.pods {
		d.waiting = append(d.waiting, i)
	}
	return d
}

// attempt is a round: each pod that is left is evicted once. It reports whether any goes.
func (c *cluster) attempt(drains []*nodeDrain) (any bool) {
	waiting := make([][]int, len(drains))
	for _, d := range drains {
		d.now.Rounds = append(d.now.Rounds, nil)
	}
	for i := range maxPods(drains) {
		for n, d := range drains {
			if !slices.Contains(d.waiting, i) {
				continue
			}
			if went, again := c.try(d, d.pods[i]); again {
				waiting[n] = append(waiting[n], i)
			} else if went {
				last := &d.now.Rounds[len(d.now.Rounds)-1]
				*last = append(*last, eviction.KeyOf(&d.pods[i]))
				any = true
			}
		}
	}
	for n, d := range drains {
		d.waiting = waiting[n]
	}
	return any
}

func maxPods(drains []*nodeDrain) (n int) {
	for _, d := range drains {
		n = max(n, len(d.pods))
	}
	return n
}

// try is one attempt at one pod, with what the disruption controller and the pods' controllers do after it. kubectl
// tries a 429 again and gives up after any other error (upstream: evictPods of k8s.io/kubectl/pkg/drain).
func (c *cluster) try(d *nodeDrain, pod corev1.Pod) (went, again bool) {
	now := c.pods[eviction.KeyOf(&pod)]
	err := d.helper.EvictPod(pod, policyv1.SchemeGroupVersion)
	c.settle()
	switch {
	case err == nil && now.UID == pod.UID && c.dead(now):
		d.now.Refused = append(d.now.Refused, eviction.KeyOf(&pod)) // kubectl waits for it until its timeout
		return false, false
	case err == nil:
		return true, false
	case apierrors.IsNotFound(err):
		return false, false
	case apierrors.IsTooManyRequests(err):
		return false, true
	}
	d.now.Refused = append(d.now.Refused, eviction.KeyOf(&pod))
	return false, false
}

// drain drains nodes at the same time, round after round: each evicts its first pod, then each its second, and so on.
func (c *cluster) drain(nodes []string, o nodedrain.Options) (all []played) {
	for _, pod := range c.sorted() {
		// A StatefulSet waits until the pod of the name is gone.
		if pod.DeletionTimestamp != nil && !strings.Contains(placeOf(pod), "/") {
			c.replaced[pod.UID] = true
		}
	}
	var drains []*nodeDrain
	for _, node := range nodes {
		drains = append(drains, c.begin(node, o))
	}
	for left(drains) > 0 {
		evicted := c.attempt(drains)
		changed := c.stop()
		changed = c.converge() || changed
		c.forget()
		if !evicted && !changed && left(drains) > 0 && !c.sleepToRecheck(drains) {
			break
		}
	}
	// What is left never goes, which 20 more rounds show, with a minute between them.
	for round := 0; round < 20 && left(drains) > 0; round++ {
		before := len(drains[0].now.Rounds)
		if c.attempt(drains) {
			for _, d := range drains {
				d.now.Late = append(d.now.Late, d.now.Rounds[before]...)
			}
		}
		c.stop()
		c.w.Sleep(time.Minute)
		c.converge()
	}
	for _, d := range drains {
		all = append(all, d.outcome())
	}
	return all
}

func left(drains []*nodeDrain) (n int) {
	for _, d := range drains {
		n += len(d.waiting)
	}
	return n
}

// outcome says how the drain went.
func (d *nodeDrain) outcome() played {
	p := d.now
	for _, i := range d.waiting {
		p.Refused = append(p.Refused, eviction.KeyOf(&d.pods[i]))
	}
	slices.SortFunc(p.Refused, persistent.CompareNames)
	last := 0
	for i, r := range p.Rounds {
		if len(r) > 0 {
			last = i + 1
		}
	}
	p.Rounds = p.Rounds[:last]
	switch {
	case p.Outcome == nodedrain.NotStarted:
	case len(p.Refused) > 0:
		p.Outcome = nodedrain.Never
	case last > 1:
		p.Outcome = nodedrain.InRounds
	default:
		p.Outcome = nodedrain.Now
	}
	return p
}

// forget drops the health of pods that nothing took the place of. A StatefulSet may still make its pods.
func (c *cluster) forget() {
	maps.DeleteFunc(c.left, func(place string, _ []health) bool { return !strings.Contains(place, "/") })
}
