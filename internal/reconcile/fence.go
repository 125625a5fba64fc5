package reconcile

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/purekube/purekube"
)

// FenceTimeout is how long a key waits for its own writes to show in the Index. A watch may hang.
const FenceTimeout = 5 * time.Second

// Fences hold back keys whose own writes the Index does not show yet: their plans would ask for the same writes again.
// A key misses little meanwhile: a watch shows the changes of a resource in order, so an Index that lacks the write
// also lacks every later change of that resource. Changes of other resources are planned once the write shows, or after
// FenceTimeout. A list shows its objects in another order: an informer that lists again can end a fence too soon, and
// then the same patch is sent again, which changes nothing or is refused.
type Fences struct {
	// Seen has, for each watched resource, the newest resourceVersion that is in the Index.
	Seen map[schema.GroupResource]string
	Of   map[purekube.Key]*Fence
	// Order has the keys by the time that their fences end.
	Order []FenceEnd
}

// Fence holds back one key.
type Fence struct {
	Written map[schema.GroupResource]string
	Until   time.Time
	// Answered: the plan was made with answers to lookups. Waiting: the key was to be planned again meanwhile.
	Answered, Waiting bool
}

// FenceEnd is when a fence ends.
type FenceEnd struct {
	Key purekube.Key
	Of  *Fence
}

func newFences() Fences {
	return Fences{Seen: map[schema.GroupResource]string{}, Of: map[purekube.Key]*Fence{}}
}

func (f *Fences) watch(resource schema.GroupResource) { f.Seen[resource] = "" }

// see notes that the Index has an object as an informer shows it.
func (f *Fences) see(resource schema.GroupResource, version string) {
	if newer(version, f.Seen[resource]) {
		f.Seen[resource] = version
	}
}

// own reports whether this version is what the last plan of the key wrote, with answers to lookups. Such an event is no
// news, since the write was for the version before. If the key were planned again, a status whose lookups take too long
// would be refused because it was written.
func (f *Fences) own(key purekube.Key, resource schema.GroupResource, version string) bool {
	own := f.Of[key]
	if own == nil || !own.Answered || own.Waiting {
		return false
	}
	written, is := own.Written[resource]
	return is && written == version
}

// set holds the key back until the Index shows what was written.
func (f *Fences) set(now time.Time, key purekube.Key, written map[schema.GroupResource]string, answered bool) {
	for len(f.Order) > 0 && !f.Order[0].Of.Until.After(now) {
		if end := f.Order[0]; f.Of[end.Key] == end.Of {
			delete(f.Of, end.Key)
		}
		f.Order = f.Order[1:]
	}
	if len(written) > 0 {
		f.Of[key] = &Fence{Written: written, Until: now.Add(FenceTimeout), Answered: answered}
		f.Order = append(f.Order, FenceEnd{key, f.Of[key]})
	}
}

// hold is how long the key has to wait at most. The event that it waits for affects it, since its plan no longer asks
// for the write.
func (f *Fences) hold(now time.Time, key purekube.Key) time.Duration {
	own := f.Of[key]
	if own == nil {
		return 0
	}
	for resource, version := range own.Written {
		if now.Before(own.Until) && newer(version, f.Seen[resource]) {
			own.Waiting = true
			return own.Until.Sub(now)
		}
	}
	delete(f.Of, key)
	return 0
}

// newer reports whether version is later than than. What is no resourceVersion is not.
func newer(version, than string) bool {
	if than == "" {
		than = "1"
	}
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order > 0
}

// written adds what a write left to the versions to wait for, if the resource is watched.
func (f *Fences) written(
	written map[schema.GroupResource]string, resource schema.GroupResource, object runtime.Object,
) {
	if _, watched := f.Seen[resource]; !watched {
		return
	}
	if o, err := meta.Accessor(object); err == nil && newer(o.GetResourceVersion(), written[resource]) {
		written[resource] = o.GetResourceVersion()
	}
}

// Never is a resourceVersion that no watch shows.
const Never = "18446744073709551615"

// mayBeThere makes the key wait for as long as it may: a create that ended without an answer may have made an object
// that the watch does not show yet, and another plan would make a second one.
func (f *Fences) mayBeThere(written map[schema.GroupResource]string, resource schema.GroupResource) {
	if _, watched := f.Seen[resource]; watched {
		written[resource] = Never
	}
}

// unanswered reports whether the API server may have done what it was asked for. A proxy can say that the service is
// unavailable after the API server did it: only a Status of the API server's own says that it did nothing.
func unanswered(err error) bool {
	return apierrors.ReasonForError(err) == metav1.StatusReasonUnknown || apierrors.IsTimeout(err) ||
		apierrors.IsServerTimeout(err) || apierrors.IsInternalError(err) ||
		apierrors.IsServiceUnavailable(err) && apierrors.IsUnexpectedServerError(err)
}
