package disruption

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/internal/podstate"
)

// disruptedPods are the entries of a budget's status.disruptedPods at one time. The loop that makes them is over the
// entries and not over the pods. There are few: the eviction handler refuses at more than 2,000 entries.
type disruptedPods struct {
	kept    map[string]metav1.Time // the entries that stay
	recheck time.Time              // when the first of them is over
	evicted int32                  // pods that are ready, and not healthy by an entry
	overdue []*corev1.Pod          // sorted by name
}

func (x *Index) disruptedPods(st *budgetState) disruptedPods {
	var d disruptedPods
	keep := func(name string, at metav1.Time, until time.Time) {
		if d.kept == nil {
			d.kept = map[string]metav1.Time{}
		}
		d.kept[name] = at
		if d.recheck.IsZero() || until.Before(d.recheck) {
			d.recheck = until
		}
	}
	for name, at := range st.Status.DisruptedPods {
		key := types.NamespacedName{Namespace: st.Namespace, Name: name}
		pod := x.pods.Find(key)
		switch until := at.Add(x.options.deletionTimeout()); {
		// Several pods have the name, and D-14 needs to know which of them the entry is about. So the entry stays, whatever
		// their creation times are.
		case x.pods.Ambiguous(key) && until.After(x.now):
			keep(name, at, until)
			continue
		// The entry has done its work: the pod is gone, or has lost the label.
		case pod == nil || !st.selects(pod):
			continue
		}
		e, at, until := x.options.entryOf(pod, st.Status.DisruptedPods, x.now)
		switch e {
		case keptEntry:
			keep(name, at, until)
			// BR-25-04: a pod that is about to be deleted is not healthy. With MatchUpstream an entry that is exactly two
			// minutes old is kept although its pod counts (D-19).
			if until.After(x.now) && podstate.Ready(pod) {
				d.evicted++
			}
		case overdueEntry:
			d.overdue = append(d.overdue, pod)
		// The entry is a predecessor's (D-14), or the pod is being deleted and does not count as ready.
		case noEntry:
		}
	}
	slices.SortFunc(d.overdue, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return d
}
