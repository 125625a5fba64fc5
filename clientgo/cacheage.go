package clientgo

import (
	"context"
	"errors"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
)

const (
	// maxOpen is how many lists are remembered that the cache has not reached.
	maxOpen = 10
	// agePause is how often the API server is asked how far it is, and ageTimeout how long it may take to answer.
	agePause   = 30 * time.Second
	ageTimeout = 10 * time.Second
	// ageWatch is how long a watch lasts that looks for changes. The API server ends it with a bookmark.
	ageWatch = 5 * time.Second
)

var (
	errRestored  = errors.New("the API server is behind the cache, as after a restore of etcd: restart this process if that lasts")
	errNoVersion = errors.New("its informer has no LastSyncResourceVersion, without which nobody knows how old the cache is")
)

// cacheAge knows how old the cache of an informer is at most. The cache of an informer whose watch hangs looks as it
// did before.
//
// A list with a limit of one shows the resourceVersion of that moment, in all resources. Once the cache has reached
// it, by an event or by a bookmark, it is as new as that list. Where it does not reach it, a short watch from the
// version of the cache shows whether there is something that the cache does not have.
type cacheAge struct {
	resource schema.GroupVersionResource
	version  func() string // of the cache; empty before its first list
	server   versions
	// patience is for how long bookmarks are waited for, before a watch looks for changes.
	patience time.Duration

	mu sync.Mutex
	// at is the latest time up to which the cache is known to have everything, and open are later lists whose version
	// the cache had not reached, the oldest first.
	at   time.Time
	open []listed
	// restored is the version of a cache that was ahead of the API server. It counts for nothing until it goes back.
	restored string
	err      error // of the last look
}

// listed is what a list of the API server showed.
type listed struct {
	at      time.Time // before the list was asked for
	version string
}

// versions are the calls that a cacheAge makes: metadata.Getter has them.
type versions interface {
	List(context.Context, metav1.ListOptions) (*metav1.PartialObjectMetadataList, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// newCacheAge begins before the informer has listed, as a rule: its first list counts as one of now. What a cache had
// before counts when the API server has shown how old that is.
func newCacheAge(
	now time.Time, resource schema.GroupVersionResource, version func() string, server versions, patience time.Duration,
) *cacheAge {
	a := &cacheAge{resource: resource, version: version, server: server, patience: patience}
	if version() == "" {
		a.at = now
	}
	return a
}

// failure is the error of the last look.
func (a *cacheAge) failure() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}

// upTo is the time up to which the cache is known to have everything; zero where none is known.
func (a *cacheAge) upTo() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reach(a.version())
	return a.at
}

// forget takes nothing for known any more.
func (a *cacheAge) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.at, a.open = time.Time{}, nil
}

// look asks the API server how far it is.
func (a *cacheAge) look(ctx context.Context) {
	before := a.version()
	if before == "" {
		return
	}
	asked := time.Now()
	version, err := a.list(ctx)
	a.mu.Lock()
	a.err = err
	if err == nil {
		a.note(before, listed{asked, version})
	}
	doubtful := err == nil && a.restored == "" && time.Since(a.at) > a.patience
	a.mu.Unlock()
	if !doubtful || !a.nothingBetween(ctx, before, version) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.at, a.open = asked, nil
}

// note takes in a list that was asked for when the cache was at version before.
func (a *cacheAge) note(before string, l listed) {
	if newer(before, l.version) {
		a.restored, a.open = before, nil
	}
	if len(a.open) > maxOpen {
		a.open = a.open[1:] // too old to help
	}
	a.open = append(a.open, l)
	a.reach(a.version())
	if a.restored != "" {
		a.err = errRestored
	}
}

// reach notes that the cache is at this version.
func (a *cacheAge) reach(version string) {
	if a.restored != "" && newer(a.restored, version) {
		a.restored = ""
	}
	for a.restored == "" && len(a.open) > 0 && !newer(a.open[0].version, version) {
		a.at, a.open = a.open[0].at, a.open[1:]
	}
}

// list returns the newest resourceVersion of the API server.
func (a *cacheAge) list(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, ageTimeout)
	defer cancel()
	list, err := a.server.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return "", err
	}
	_, err = resourceversion.CompareResourceVersion(list.ResourceVersion, list.ResourceVersion)
	return list.ResourceVersion, err
}

// nothingBetween reports whether the API server shows that nothing changed after version from, up to version to. It
// sends bookmarks by itself once a minute, and not to the watch of a cache that hangs. A bookmark of another API server
// may be far behind where nothing changes.
func (a *cacheAge) nothingBetween(ctx context.Context, from, to string) bool {
	ctx, cancel := context.WithTimeout(ctx, ageTimeout)
	defer cancel()
	changes, err := a.server.Watch(ctx, metav1.ListOptions{
		ResourceVersion: from, AllowWatchBookmarks: true, TimeoutSeconds: ptr.To(int64(ageWatch / time.Second)),
	})
	if err != nil {
		return false
	}
	defer changes.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case e := <-changes.ResultChan(): // zero at the end
			if e.Type != watch.Bookmark {
				return false
			}
			if !newer(to, versionOf(e.Object)) {
				return true
			}
		}
	}
}

// newer reports whether version is later than than, or cannot be compared with it.
func newer(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err != nil || order > 0
}
