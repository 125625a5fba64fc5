package disruption

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// drainNode plays a drain through and returns the state after it.
func drainNode(state drainState, node string, o DrainOptions) (Drain, drainState) {
	d, left := classify(state, node, o)
	if d.Outcome != 0 {
		return d, state
	}
	play := newDrainer(state, left)
	var waiting []RefusedPod
	stuck := false
	for len(left) > 0 && (o.MaxRounds <= 0 || len(d.Rounds) < o.MaxRounds) {
		r := play.round(left)
		left, waiting = r.left, r.waiting
		d.Refused = append(d.Refused, r.refused...)
		changed, needs := play.finish(waiting)
		if needs = append(needs, r.needs...); len(needs) > 0 {
			return Drain{Outcome: DrainsUnknown, Skipped: d.Skipped, Needs: sortedNeeds(needs)}, state
		}
		if len(r.evicted) == 0 && !changed && len(left) > 0 && !play.wait(waiting) {
			stuck = true
			break
		}
		if len(r.evicted) > 0 || len(left) > 0 {
			d.Rounds = append(d.Rounds, r.evicted)
		}
	}
	switch {
	case stuck || len(d.Refused) > 0:
		d.Outcome = DrainsNever
	case len(left) > 0:
		// MaxRounds rounds are over.
	case len(d.Rounds) <= 1:
		d.Outcome = DrainsNow
	default:
		d.Outcome = DrainsInRounds
	}
	d.Refused = append(d.Refused, waiting...)
	slices.SortFunc(d.Refused, func(a, b RefusedPod) int { return comparePods(a.Pod, b.Pod) })
	return d, play.state
}

// classify sorts the pods of the node into those that are skipped, those that stop the drain and those
// that are left to evict.
func classify(state drainState, node string, o DrainOptions) (Drain, []*corev1.Pod) {
	var d Drain
	var left []*corev1.Pod
	if node == "" {
		// Pods without a node are on none.
		return d, nil
	}
	for _, pod := range state.podsOn(node) {
		key := snapshot.KeyOf(pod)
		if state.duplicate(key) {
			// Which of them is the real one cannot be known.
			if !slices.ContainsFunc(d.Refused, func(r RefusedPod) bool { return r.Pod == key }) {
				d.Refused = append(d.Refused, RefusedPod{Pod: key, Code: DrainDuplicatePod, Message: purekube.ErrDuplicate.Error()})
			}
			continue
		}
		switch t := o.treat(pod); {
		case t.code == "":
			left = append(left, pod)
		case t.stops:
			d.Outcome = DrainNotStarted
			d.Refused = append(d.Refused, RefusedPod{Pod: key, Code: t.code, Message: t.message})
		default:
			d.Skipped = append(d.Skipped, SkippedPod{Pod: key, Code: t.code, Message: t.message})
		}
	}
	return d, left
}

func comparePods(a, b types.NamespacedName) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// sortedNeeds are the needs in order, each once.
func sortedNeeds(needs []purekube.Need) []purekube.Need {
	slices.SortFunc(needs, func(a, b purekube.Need) int {
		return cmp.Or(
			cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Subresource, b.Subresource),
		)
	})
	return slices.Compact(needs)
}
