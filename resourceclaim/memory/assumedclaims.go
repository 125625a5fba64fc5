package memory

import (
	"cmp"
	"encoding/json"
	"slices"
	"sync"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/lru"

	"github.com/purekube/purekube/internal/snapshot"
)

// AssumeFor is how long an [AssumedClaims] keeps a claim that your cache does not show (BR-30-04; the mutation cache in
// upstream's controller.go).
const AssumeFor = time.Hour

// AssumedClaims keeps the claims that the API server returned to your own writes until your cache shows them. Call Add
// with each answer of the API server to a CreateClaim (and to Reserve and Release, which saves conflicts), call Forget
// in the handler of a claim's deletion, and assign List to the field Assumed of a Snapshot.
//
// The event of a deletion may arrive before the answer to the write: Add does not keep a claim after Forget. If a claim
// is deleted before your cache shows it, and you do not call Forget, it is kept for [AssumeFor] and then dropped. Until
// then a pod's status may name it; the first plan after that corrects the status.
//
// After a restore of etcd from a backup, the API server may not have the claims that are kept here: begin with an empty
// AssumedClaims.
//
// It is safe for concurrent use and has no clock: you pass the times. The zero value is empty.
//
// The life of a claim here:
//
//	create      Add(train-0-gpu-l92c5, version 10)   List: the claim, which the cache does not show
//	reserve     Add(the same claim, version 12)      List: version 12
//	the cache   shows version 10                     List: version 12, which is newer
//	the cache   shows version 12                     List: nothing, and the claim is dropped
type AssumedClaims struct {
	// mu protects all fields. claims has the newest answer for each name, until the cache shows it, its time is over or
	// it is forgotten.
	mu     sync.Mutex
	claims map[types.NamespacedName]assumedClaim
	// forgotten are the UIDs of claims that are gone, the last ones.
	// It is made by the first Forget, so that the zero value works.
	forgotten *lru.Cache
}

// maxForgotten is how many deletions may overtake the answer to a write. A delete event and an answer come over
// different connections; an answer that is older than so many deletions is not expected.
const maxForgotten = 10_000

// assumedClaim is a claim and the time at which it is dropped even if no cache has shown it. Each Add sets the time
// again.
type assumedClaim struct {
	claim *resourcev1.ResourceClaim
	until time.Time
}

// Add keeps a copy of a claim that a write returned at the time now: a ResourceClaim, or an Unstructured from a dynamic
// client. It replaces an older claim of that name. It ignores nil, objects of other kinds, claims without a name and
// claims after Forget, so you may call it with every answer.
func (a *AssumedClaims) Add(returned runtime.Object, now time.Time) {
	claim, ok := typedClaim(returned)
	if !ok || claim.Name == "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.forgotten != nil {
		// The claim was created and deleted before its answer was processed. A status must not name it.
		if _, gone := a.forgotten.Get(claim.UID); gone && claim.UID != "" {
			return
		}
	}
	key := snapshot.KeyOf(claim)
	if held, ok := a.claims[key]; ok {
		// Writes on different threads may return in the wrong order.
		if order, err := resourceversion.CompareResourceVersion(claim.ResourceVersion,
			held.claim.ResourceVersion); err == nil && order < 0 {
			return
		}
	}
	// The zero value is empty.
	if a.claims == nil {
		a.claims = map[types.NamespacedName]assumedClaim{}
	}
	a.claims[key] = assumedClaim{claim: claim, until: now.Add(AssumeFor)}
}

// Forget drops the claim with that UID, because it is gone. Later calls of Add with it change nothing. Forget remembers
// the last 10,000 UIDs.
func (a *AssumedClaims) Forget(uid types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.forgotten == nil {
		a.forgotten = lru.New(maxForgotten)
	}
	a.forgotten.Add(uid, nil)
	// By UID and not by name: a new claim may have the name already. There are few claims here.
	for key, held := range a.claims {
		if held.claim.UID == uid {
			delete(a.claims, key)
		}
	}
}

// Listed finds claims that a cache shows by name, as the Index of package resourceclaim does.
type Listed interface {
	ListedClaims(name types.NamespacedName) []*resourcev1.ResourceClaim
}

// ListFor is List for the claims that x finds. It looks up only the names of the claims that are kept here.
func (a *AssumedClaims) ListFor(now time.Time, x Listed) []*resourcev1.ResourceClaim {
	return a.list(now, func(drop func(*resourcev1.ResourceClaim)) {
		for key := range a.claims {
			for _, listed := range x.ListedClaims(key) {
				drop(listed)
			}
		}
	})
}

// List returns the claims that cached does not show yet in the same or a newer version, sorted by namespace and name.
// It drops all other claims, and claims that are too old. If cached has several claims of one name, one claim that is
// as new is enough. Do not write to the returned claims: they are not copies.
//
// It costs a pass over cached.
func (a *AssumedClaims) List(now time.Time, cached []*resourcev1.ResourceClaim) []*resourcev1.ResourceClaim {
	return a.list(now, func(drop func(*resourcev1.ResourceClaim)) {
		for _, c := range cached {
			if c != nil {
				drop(c)
			}
		}
	})
}

// list is List; shown calls drop with each claim that the cache shows.
func (a *AssumedClaims) list(
	now time.Time, shown func(drop func(*resourcev1.ResourceClaim)),
) []*resourcev1.ResourceClaim {
	a.mu.Lock()
	defer a.mu.Unlock()
	for key, held := range a.claims {
		if !now.Before(held.until) {
			delete(a.claims, key)
		}
	}
	// The usual case: nothing was written lately. The cache is not even asked.
	if len(a.claims) == 0 {
		return nil
	}
	shown(func(c *resourcev1.ResourceClaim) {
		key := snapshot.KeyOf(c)
		held, ok := a.claims[key]
		if !ok {
			return
		}
		// If the versions cannot be compared, the cache counts: everything else relies on it.
		if order, err := resourceversion.CompareResourceVersion(held.claim.ResourceVersion, c.ResourceVersion); err != nil ||
			order <= 0 {
			delete(a.claims, key)
		}
	})
	// Maps have no order, and a snapshot should be the same for the same state.
	var out []*resourcev1.ResourceClaim
	for _, held := range a.claims {
		out = append(out, held.claim)
	}
	slices.SortFunc(out, func(x, y *resourcev1.ResourceClaim) int {
		return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name))
	})
	return out
}

// typedClaim returns a copy of a claim that the API server returned; ok is false if the object is not a claim.
// The copy is this memory's own: a client may share what it returns with a cache of its own.
func typedClaim(returned runtime.Object) (claim *resourcev1.ResourceClaim, ok bool) {
	switch o := returned.(type) {
	case *resourcev1.ResourceClaim:
		return o.DeepCopy(), o != nil
	case *unstructured.Unstructured:
		if o == nil || o.GetKind() != "ResourceClaim" || o.GroupVersionKind().Group != resourcev1.GroupName {
			return nil, false
		}
		document, err := o.MarshalJSON()
		claim = &resourcev1.ResourceClaim{}
		return claim, err == nil && json.Unmarshal(document, claim) == nil
	}
	return nil, false
}
