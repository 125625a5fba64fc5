// Package claimmemory is what a controller of package resourceclaim remembers beyond its Index, and when it forgets
// that. Package clientgo runs it, and the model checker of internal/test searches it.
package claimmemory

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/resourceclaim/memory"
)

// Memory is what a controller remembers. Its methods are for the fields of reconcile.Options and for the handlers of
// deletions.
type Memory struct {
	// Written are claims that the informer may not show yet.
	Written memory.AssumedClaims
	// Deleted are pods and PodGroups that were seen to be deleted.
	Deleted memory.DeletedPods
}

// At returns what an Index does not learn from events.
func (m *Memory) At(now time.Time, index *resourceclaim.Index) resourceclaim.Snapshot {
	return resourceclaim.Snapshot{Now: now, Assumed: m.Written.ListFor(now, index)}
}

// Wrote is told of each object as a write left it.
func (m *Memory) Wrote(now time.Time, o runtime.Object) {
	// A claim that is being deleted may be gone by now, and would be believed in for an hour.
	if claim, err := meta.Accessor(o); err == nil && claim.GetDeletionTimestamp() == nil {
		m.Written.Add(o, now)
	}
}

// PodGone is told of a deleted pod before the Index is. It returns a change for the Index, or nil where the pod has no
// claims.
func (m *Memory) PodGone(o *corev1.Pod) func(*resourceclaim.Index) (*resourceclaim.Index, []purekube.Key) {
	if len(o.Spec.ResourceClaims) == 0 && o.Status.ExtendedResourceClaimStatus == nil {
		return nil
	}
	return m.Gone(o.UID)
}

// Gone is told of the UID of a deleted pod or PodGroup before the Index is. It returns a change for the Index.
func (m *Memory) Gone(uid types.UID) func(*resourceclaim.Index) (*resourceclaim.Index, []purekube.Key) {
	dropped := m.Deleted.Add(uid)
	return func(index *resourceclaim.Index) (*resourceclaim.Index, []purekube.Key) {
		index, affected := index.With(resourceclaim.Snapshot{Deleted: sets.New(uid)})
		index, others := index.Without(resourceclaim.Snapshot{Deleted: dropped})
		return index, append(affected, others...)
	}
}

// ClaimGone is told of a deleted claim before the Index is.
func (m *Memory) ClaimGone(o *resourcev1.ResourceClaim) { m.Written.Forget(o.UID) }

// Confirmed are the answers as package resourceclaim takes them. A lookup that failed is no answer.
func Confirmed(answers map[purekube.Need]purekube.Answer) resourceclaim.Snapshot {
	s := resourceclaim.Snapshot{Answers: map[purekube.Need]purekube.Answer{}}
	for n, a := range answers {
		if a.Err == nil {
			s.Answers[n] = a
		}
	}
	return s
}
