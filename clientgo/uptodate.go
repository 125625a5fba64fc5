package clientgo

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/metadata"
)

// firstPause is the time between the first two looks at the API server that somebody wants. It grows to agePause.
const firstPause = time.Second

// upToDate knows up to what time the caches of a controller have everything. It asks the API server only when somebody
// wants to know. It is a cidrmemory.Caches.
type upToDate struct {
	ages   []*cacheAge
	wanted chan struct{}
}

// of makes it about these informers.
func (u *upToDate) of(all []watched, client metadata.Interface) error {
	if client == nil {
		return errNoMetadata
	}
	for _, w := range all {
		if w.version == nil {
			return fmt.Errorf("%s: %w", w.resource.GroupResource(), errNoVersion)
		}
		u.ages = append(u.ages, newCacheAge(time.Now(), w.resource, w.version, client.Resource(w.resource), 0))
	}
	return nil
}

// UpTo is the time up to which all caches are known to have everything; zero where none is known.
func (u *upToDate) UpTo() time.Time {
	oldest := u.ages[0].upTo()
	for _, a := range u.ages[1:] {
		if t := a.upTo(); t.Before(oldest) {
			oldest = t
		}
	}
	return oldest
}

// Forget takes nothing for known any more.
func (u *upToDate) Forget() {
	for _, a := range u.ages {
		a.forget()
	}
}

// Want lets run look at the API server.
func (u *upToDate) Want() {
	select {
	case u.wanted <- struct{}{}:
	default: // it will
	}
}

// run looks where somebody wants it, until ctx ends.
func (u *upToDate) run(ctx context.Context) {
	for pause := firstPause; ; pause = min(2*pause, agePause) {
		idle := time.Now()
		select {
		case <-ctx.Done():
			return
		case <-u.wanted:
		}
		// Who still wants it says so every second.
		if time.Since(idle) > 2*firstPause {
			pause = firstPause
		}
		var looking sync.WaitGroup
		for _, a := range u.ages {
			looking.Go(func() { a.look(ctx) })
		}
		looking.Wait()
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}
