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
}

// trimmed has no empty rounds at the end of a drain that never ends: who waits for what there is not the same.
func (p played) trimmed() played {
	for n := len(p.Rounds); p.Outcome == nodedrain.Never && n > 0 && len(p.Rounds[n-1]) == 0; n = len(p.Rounds) {
		p.Rounds = p.Rounds[:n-1]
	}
	return p
}

// asPlayed is a drain in the same terms.
func asPlayed(d nodedrain.Drain) played {
	p := played{Outcome: d.Outcome, Rounds: d.Rounds}.trimmed()
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
	left   []corev1.Pod
	now    played
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
		goes = append(goes, keyOf(&pod))
		d.left = append(d.left, pod)
	}
	slices.SortFunc(d.left, func(a, b corev1.Pod) int { return byKey(keyOf(&a), keyOf(&b)) })
	for _, err := range errs {
		d.now.NotStarted = append(d.now.NotStarted, err.Error())
	}
	slices.Sort(d.now.NotStarted)
	for _, pod := range c.sorted() {
		stops := slices.ContainsFunc(d.now.NotStarted, func(text string) bool { return strings.Contains(text+",", " "+keyOf(pod).String()+",") })
		if pod.Spec.NodeName == node && !slices.Contains(goes, keyOf(pod)) && !stops {
			d.now.Skipped = append(d.now.Skipped, keyOf(pod))
		}
	}
	d.now.Outcome = nodedrain.Now
	if len(errs) > 0 {
		d.now.Outcome, d.left = nodedrain.NotStarted, nil
	}
	return d
}

// attempt evicts each pod that is left once. It returns those that go.
func (c *cluster) attempt(d *nodeDrain) (evicted []types.NamespacedName) {
	var waiting []corev1.Pod
	for _, pod := range d.left {
		if went, again := c.try(d, pod); again {
			waiting = append(waiting, pod)
		} else if went {
			evicted = append(evicted, keyOf(&pod))
		}
	}
	d.left = waiting
	return evicted
}

// try is one attempt at one pod, with what the disruption controller and the pods' controllers do after it. kubectl tries a 429
// again and gives up after any other error (upstream: evictPods of k8s.io/kubectl/pkg/drain).
func (c *cluster) try(d *nodeDrain, pod corev1.Pod) (went, again bool) {
	now := c.pods[keyOf(&pod)]
	err := d.helper.EvictPod(pod, policyv1.SchemeGroupVersion)
	c.settle()
	switch {
	case err == nil && now.UID == pod.UID && c.dead(now):
		d.now.Refused = append(d.now.Refused, keyOf(&pod)) // kubectl waits for it until its timeout
		return false, false
	case err == nil:
		return true, false
	case apierrors.IsNotFound(err):
		return false, false
	case apierrors.IsTooManyRequests(err):
		return false, true
	}
	d.now.Refused = append(d.now.Refused, keyOf(&pod))
	return false, false
}

// drain drains a node alone, round after round.
func (c *cluster) drain(node string, o nodedrain.Options) played {
	d := c.begin(node, o)
	for len(d.left) > 0 {
		evicted := c.attempt(d)
		went := c.stop()
		c.converge()
		c.forget()
		if !went && len(evicted) == 0 && len(d.left) > 0 && !c.sleepToRecheck() {
			break
		}
		if len(evicted) == 0 && len(d.left) == 0 {
			break // only pods that never end
		}
		d.now.Rounds = append(d.now.Rounds, evicted)
		if len(d.left) > 0 {
			d.now.Outcome = nodedrain.InRounds
		}
	}
	return c.end(d)
}

// end says how the drain went. What is left never goes, which 20 rounds more show, with a minute between them.
func (c *cluster) end(d *nodeDrain) played {
	left := slices.Clone(d.left)
	for range 20 {
		if len(left) == 0 {
			break
		}
		if late := c.attempt(d); len(late) > 0 {
			c.t.Errorf("%v went long after nothing had changed any more", late)
		}
		c.stop()
		c.w.Sleep(time.Minute)
		c.converge()
	}
	for _, pod := range left {
		d.now.Refused = append(d.now.Refused, keyOf(&pod))
	}
	slices.SortFunc(d.now.Refused, byKey)
	d.now.Refused = slices.Compact(d.now.Refused)
	if len(d.now.Refused) > 0 {
		d.now.Outcome = nodedrain.Never
	}
	return d.now.trimmed()
}

// forget drops the health of pods that nothing took the place of. A StatefulSet may still make its pods.
func (c *cluster) forget() {
	maps.DeleteFunc(c.left, func(place string, _ []health) bool { return !strings.Contains(place, "/") })
}
