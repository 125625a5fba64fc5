package drain

import (
	"errors"

	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/snapshot"
)

// Pods evicts the pods in the given order, one after the other, and returns the answer to each, in the same order. This
// is what an autoscaler asks: may these pods go together, before any of them is back?
//
// Each eviction is decided as by [disruption.Index.CheckEviction], after the evictions before it: an allowed pod is
// being deleted from then on, and is not recreated. A refused pod stays, and the next eviction is decided all the same:
// the caller decides whether to stop. Of the options only Budgets counts. With AsWritten only the pods and their
// budgets are read, and each allowed eviction lowers the budget's disruptionsAllowed.
//
// The Index returned is the cluster in which the allowed pods are being deleted: with AsWritten with the budgets as the
// API server writes them, otherwise with the statuses that the disruption controller computes. Ask it about the pods
// that you would evict next. To have a pod back, put the pod that replaces it into the Index with With, and take the
// old one out with Without.
//
// A pod that is named twice is being deleted the second time. A pod that is missing from the Index, or is in it twice,
// has no verdict. The error joins one [purekube.ObjectError] for each of these pods and [disruption.Index.Err], what is
// wrong with the objects as a whole. With options that are wrong no pod has a verdict.
//
// It costs O(log n) for each pod.
func Pods(
	x *disruption.Index, pods []types.NamespacedName, o Options,
) ([]disruption.Eviction, *disruption.Index, error) {
	evictions := make([]disruption.Eviction, len(pods))
	if err := optionsErr(x, o); err != nil {
		return evictions, x, err
	}
	w := newDrainer(x, nil, nil, o)
	gone := map[types.NamespacedName]bool{}
	var touched []types.NamespacedName
	var problems snapshot.Problems
	for i, name := range pods {
		pod := w.x.Pod(name)
		if pod == nil {
			if _, err := x.CheckEviction(name, disruption.AsWritten); errors.Is(err, purekube.ErrNotFound) {
				problems.Add(
					&purekube.ObjectError{Kind: "Pod", Namespace: name.Namespace, Name: name.Name, Err: purekube.ErrNotFound})
			}
			continue
		}
		if gone[name] {
			w.show()
		}
		covering := budgetsOf(x, pod)
		// What is wrong with the objects of the namespace is in the error of the index, or the verdict says so.
		evictions[i], _ = w.ask(name, covering)
		if evictions[i].Verdict.Allowed() && !gone[name] {
			gone[name] = true
			touched = append(touched, covering...)
			// The eviction is the caller's to write to, and the index is not.
			w.evict(pod, covering, evictions[i].Update.DeepCopy())
		}
	}
	w.show()
	if o.Budgets == Recomputed {
		w.x = writtenBy(w.x, sortNames(touched))
	}
	return evictions, w.x, errors.Join(x.Err(), problems.Err())
}
