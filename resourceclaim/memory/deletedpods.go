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

// DeletedPods remembers the UIDs of the pods and PodGroups that the caller last saw go. A pod that a cache
// still shows, and that is remembered here, gets nothing before the API server was asked for it. A UID that is no
// longer remembered is asked for where that matters.
//
// Call Add in the handler of a pod's deletion, for pods with entries in spec.resourceClaims or
// with status.extendedResourceClaimStatus at least, and in that of a PodGroup's. Hand UIDs to
// the Deleted of a Snapshot; with an Index, With the UID that was added and Without those that Add
// returns. Call Clear when [AssumedClaims.CacheAt] reports that the API server was restored from a backup.
//
// It is safe for concurrent use. The zero value is empty and holds [DefaultDeletedPods].
type DeletedPods struct {
	mu    sync.Mutex
	size  int
	uids  sets.Set[types.UID]
	order []types.UID // the one added first comes first
}

// NewDeletedPods returns an empty DeletedPods that holds that many UIDs; 0 or less is
// [DefaultDeletedPods].
func NewDeletedPods(size int) *DeletedPods { return &DeletedPods{size: size} }

// Add records that the pod or PodGroup with that UID is gone. It returns the UIDs that are not
// remembered any more.
func (d *DeletedPods) Add(uid types.UID) (dropped sets.Set[types.UID]) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.size <= 0 {
		d.size = DefaultDeletedPods
	}
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

// Clear forgets all UIDs.
func (d *DeletedPods) Clear() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.uids, d.order = nil, nil
}

// Has reports whether the pod or PodGroup with that UID is remembered.
func (d *DeletedPods) Has(uid types.UID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.uids.Has(uid)
}

// UIDs returns all that are remembered. The set belongs to the caller.
func (d *DeletedPods) UIDs() sets.Set[types.UID] {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.uids.Clone()
}
