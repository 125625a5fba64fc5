package resourceclaim

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
)

// DefaultDeletedPods is how many UIDs a [DeletedPods] remembers unless told otherwise
// (BR-30-09; maxUIDCacheEntries in upstream's controller.go).
const DefaultDeletedPods = 500

// DeletedPods remembers the UIDs of pods and PodGroups that the caller saw go, the ones used last. It
// saves look-ups and decides nothing by itself: a UID that has dropped out of it is asked for again.
//
// Call Clear when [AssumedClaims.CacheAt] reports that the API server was restored from a backup.
//
// Call Add in the handler of a pod's deletion, for pods with entries in spec.resourceClaims or
// with status.extendedResourceClaimStatus at least, and in that of a PodGroup's, and hand Has to
// [Snapshot].Deleted. It is safe for concurrent use. The zero value is empty and holds [DefaultDeletedPods].
type DeletedPods struct {
	once  sync.Once
	cache *lru.Cache
}

// NewDeletedPods returns an empty DeletedPods that holds that many UIDs; 0 or less is
// [DefaultDeletedPods].
func NewDeletedPods(size int) *DeletedPods {
	d := &DeletedPods{}
	d.once.Do(func() { d.cache = lru.New(sizeOrDefault(size)) })
	return d
}

func sizeOrDefault(size int) int {
	if size <= 0 {
		return DefaultDeletedPods
	}
	return size
}

func (d *DeletedPods) uids() *lru.Cache {
	d.once.Do(func() { d.cache = lru.New(DefaultDeletedPods) })
	return d.cache
}

// Add records that the pod or PodGroup with that UID is gone.
func (d *DeletedPods) Add(uid types.UID) { d.uids().Add(uid, nil) }

// Clear forgets all UIDs.
func (d *DeletedPods) Clear() { d.uids().Clear() }

// Has reports whether the pod or PodGroup with that UID is known to be gone. A UID that is asked for counts as used.
func (d *DeletedPods) Has(uid types.UID) bool {
	_, found := d.uids().Get(uid)
	return found
}
