package controller

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/kubernetes/scheme"
)

const (
	// fenceTimeout is how long a key waits for its own writes to show in the Index. A watch may hang.
	fenceTimeout = 5 * time.Second
	fencePoll    = 10 * time.Millisecond
)

// fences hold back keys whose own writes the Index does not show yet: their plans would ask for the same writes
// again. This makes nothing staler: a watch shows the changes of a resource in order, so that what an Index without the
// write can know beyond it is of another resource, and comes with the write or after fenceTimeout.
type fences[K comparable] struct {
	// seen is the newest resourceVersion of each watched resource that is in the Index.
	seen map[schema.GroupResource]string
	of   map[K]fence
	// order has the keys by the time that their fences end.
	order []fenceEnd[K]
}

type fence struct {
	written map[schema.GroupResource]string
	until   time.Time
}

type fenceEnd[K comparable] struct {
	key K
	at  time.Time
}

// see notes that the Index has an object as an informer shows it.
func (f *fences[K]) see(resource schema.GroupResource, version string) {
	if newer(version, f.seen[resource]) {
		f.seen[resource] = version
	}
}

// set holds the key back until the Index shows what was written.
func (f *fences[K]) set(key K, written map[schema.GroupResource]string) {
	now := time.Now()
	for len(f.order) > 0 && !f.order[0].at.After(now) {
		if end := f.order[0]; f.of[end.key].until.Equal(end.at) {
			delete(f.of, end.key)
		}
		f.order = f.order[1:]
	}
	if len(written) > 0 {
		until := now.Add(fenceTimeout)
		f.of[key] = fence{written, until}
		f.order = append(f.order, fenceEnd[K]{key, until})
	}
}

// holds reports whether the key has to wait.
func (f *fences[K]) holds(key K) bool {
	own, found := f.of[key]
	if !found {
		return false
	}
	if time.Now().Before(own.until) {
		for resource, version := range own.written {
			if newer(version, f.seen[resource]) {
				return true
			}
		}
	}
	delete(f.of, key)
	return false
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
func (f *fences[K]) written(written map[schema.GroupResource]string, resource schema.GroupResource, object runtime.Object) {
	if _, watched := f.seen[resource]; !watched {
		return
	}
	if o, err := meta.Accessor(object); err == nil && newer(o.GetResourceVersion(), written[resource]) {
		written[resource] = o.GetResourceVersion()
	}
}

// never is a resourceVersion that no watch shows.
const never = "18446744073709551615"

// mayBeThere makes the key wait for as long as it may: a create that ended without an answer may have made an object
// that the watch does not show yet, and another plan would make a second one.
func (f *fences[K]) mayBeThere(written map[schema.GroupResource]string, resource schema.GroupResource) {
	if _, watched := f.seen[resource]; watched {
		written[resource] = never
	}
}

// unanswered reports whether the API server may have done what it was asked for.
func unanswered(err error) bool {
	return apierrors.ReasonForError(err) == metav1.StatusReasonUnknown || apierrors.IsTimeout(err) ||
		apierrors.IsServerTimeout(err) || apierrors.IsInternalError(err)
}

// resourceOf is the resource of a Go type.
func resourceOf(object any) schema.GroupResource {
	o, ok := object.(runtime.Object)
	if !ok {
		return schema.GroupResource{}
	}
	kinds, _, err := scheme.Scheme.ObjectKinds(o)
	if err != nil {
		return schema.GroupResource{}
	}
	resource, _ := meta.UnsafeGuessKindToResource(kinds[0])
	return resource.GroupResource()
}
