package clientgo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/metadata"
	"k8s.io/klog/v2"
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

// run looks where somebody wants it, until ctx ends. It logs why somebody has to wait.
func (u *upToDate) run(ctx context.Context) {
	var waiting wait
	for pause := firstPause; ; pause = min(2*pause, agePause) {
		idle := time.Now()
		select {
		case <-ctx.Done():
			return
		case <-u.wanted:
		}
		// Who still wants it says so every second.
		if time.Since(idle) > 2*firstPause {
			pause, waiting = firstPause, wait{}
		}
		if waiting.since.IsZero() {
			waiting.since = time.Now()
		}
		var looking sync.WaitGroup
		for _, a := range u.ages {
			looking.Go(func() { a.look(ctx) })
		}
		looking.Wait()
		u.report(ctx, &waiting)
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		u.report(ctx, &waiting) // an event may have come
	}
}

// longWait is how long a cache may be behind before that is logged.
const longWait = time.Minute

// wait is a time in which somebody wants to know what is not known.
type wait struct {
	since  time.Time // zero: nobody waits
	failed time.Time // when a look last failed
	err    string    // the last error that was logged
	long   bool      // it was logged that a cache is behind
}

// report logs why the caches are not known to be up to date where that has changed, and the end of a wait that was logged.
func (u *upToDate) report(ctx context.Context, w *wait) {
	if w.since.IsZero() || ctx.Err() != nil {
		return
	}
	log := klog.FromContext(ctx).WithValues("waiting", time.Since(w.since).Round(time.Second))
	var behind []string
	var failed []error
	for _, a := range u.ages {
		if !a.upTo().Before(w.since) {
			continue
		}
		behind = append(behind, a.resource.GroupResource().String())
		if err := a.failure(); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", a.resource.GroupResource(), err))
		}
	}
	if len(behind) == 0 {
		if w.err != "" || w.long {
			log.Info("The caches are up to date again: deletions of ServiceCIDRs go on")
		}
		*w = wait{}
		select {
		case <-u.wanted: // from before; who still wants it says so again
		default:
		}
		return
	}
	err := errors.Join(failed...)
	if err != nil {
		w.failed = time.Now()
	}
	switch {
	case err != nil && err.Error() != w.err:
		w.err, w.long = err.Error(), false
		log.Error(clipped(err), "Deletions of ServiceCIDRs wait: the API server does not show whether the caches are up to date")
	case err == nil && !w.long && time.Since(w.since) > longWait && time.Since(w.failed) > longWait:
		w.err, w.long = "", true
		log.Info("Deletions of ServiceCIDRs wait: caches are behind the API server, or it does not show that they are not", "caches", behind)
	}
}
