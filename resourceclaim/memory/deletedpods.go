package memory

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// DefaultDeletedPods is how many UIDs a [DeletedPods] remembers unless told otherwise
// (BR-30-09; maxUIDCacheEntries in upstream's controller.go).
const DefaultDeletedPods = 500

// DeletedPods remembers the UIDs of the last deleted pods and PodGroups. If a cache still shows a pod with such a UID,
// the pod gets nothing until you have looked it up at the API server. For a UID that is no longer remembered, a plan
// has a Need if the decision depends on it.
//
// Call Add in the handler of a pod's deletion, at least for pods with entries in spec.resourceClaims or with
// status.extendedResourceClaimStatus, and in the handler of a PodGroup's deletion. Assign UIDs to the field Deleted of
// a Snapshot. If you use an Index, call With for the added UID and Without for the UIDs that Add returns. After a
// restore of etcd from a backup, deleted UIDs may exist again: begin with an empty DeletedPods.
//
// It is safe for concurrent use. The zero value is empty and remembers [DefaultDeletedPods] UIDs.
//
// A plan needs the UIDs because caches lag apart: the event of a claim may be planned before the cache of pods shows
// that the claim's pod is gone. The memory is bounded: a forgotten UID costs a lookup.
type DeletedPods struct {
	// mu protects all fields. size is 0 for the zero value, until the first Add. uids and order have the same UIDs.
	mu    sync.Mutex
	size  int
	uids  sets.Set[types.UID]
	order []types.UID // the one added first comes first
}

// NewDeletedPods returns an empty DeletedPods that remembers that many UIDs; 0 or less means [DefaultDeletedPods].
func NewDeletedPods(size int) *DeletedPods { return &DeletedPods{size: size} }

// Add records that the pod or PodGroup with that UID is gone. It returns the UIDs that are no longer remembered.
func (d *DeletedPods) Add(uid types.UID) (dropped sets.Set[types.UID]) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.size <= 0 {
		d.size = DefaultDeletedPods
	}
	// A UID that is added again moves to the end, as in upstream's LRU, and no other UID is dropped for it.
	if d.uids.Has(uid) {
		d.order = slices.DeleteFunc(d.order, func(known types.UID) bool { return known == uid })
	} else if len(d.order) == d.size {
		dropped = sets.New(d.order[0])
		d.uids.Delete(d.order[0])
		d.order = slices.Delete(d.order, 0, 1)
	}
	if d.uids == nil {
		d.uids = sets.New[types.UID]()
	}
	d.uids.Insert(uid)
	d.order = append(d.order, uid)
	return dropped
}

// Has reports whether the pod or PodGroup with that UID is remembered.
func (d *DeletedPods) Has(uid types.UID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.uids.Has(uid)
}

// UIDs returns all remembered UIDs, as a new set.
func (d *DeletedPods) UIDs() sets.Set[types.UID] {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.uids.Clone()
}
