package clientgo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/purekube/purekube"
)

// ErrNoScale says that the API server does not know the kind, or the kind has no scale subresource.
var ErrNoScale = errors.New("no scale")

// noScale is an ErrNoScale with a text of its own.
type noScale struct{ error }

func (noScale) Is(target error) bool { return target == ErrNoScale }

// scales reads the scale of any object, and tells an object that is gone from a kind that has no scale: the API server
// answers 404 to both.
type scales struct {
	get        Getter
	kinds      discovery.ServerResourcesInterface
	resetEvery time.Duration

	mu sync.Mutex
	// listings are by group version. Owner references can name any.
	listings map[schema.GroupVersion]*listing
	// asked is when a need first met a kind that was unknown, while that is not settled.
	asked map[purekube.Need]time.Time
	swept time.Time
}

// listing is what the API server lists in a group version.
type listing struct {
	asked  time.Time
	missed bool              // it was asked for because another one lacked a kind
	failed bool              // there is no answer
	done   chan struct{}     // closed when the others are set
	kinds  map[string]string // the resource of each kind
	scales map[string]bool   // the resources that have one
	err    error
}

func newScales(get Getter, kinds discovery.ServerResourcesInterface, resetEvery time.Duration) *scales {
	return &scales{
		get: get, kinds: kinds, resetEvery: resetEvery,
		listings: map[schema.GroupVersion]*listing{}, asked: map[purekube.Need]time.Time{},
	}
}

// Get returns the scale. The error is NotFound if there is no such object, ErrNoScale if there is no such scale, and
// anything else if this is not known. The objects of a kind without a scale cost one call together.
func (s *scales) Get(ctx context.Context, n purekube.Need) (runtime.Object, error) {
	resource, has, err := s.resourceOf(ctx, n)
	if err != nil {
		return nil, err
	}
	if !has {
		return nil, noScale{fmt.Errorf("%s does not implement the scale subresource", resource.GroupResource())}
	}
	object, err := s.get.Get(ctx, resource, "scale", n.Namespace, n.Name)
	if err != nil {
		return nil, err
	}
	scale, err := asScale(object)
	if err != nil {
		return nil, noScale{fmt.Errorf("%s answers with %w", resource.GroupResource(), err)}
	}
	return scale, nil
}

// resourceOf is the resource of the kind that a need names, and reports whether it has a scale. A kind is missing only
// where a listing that was asked for after the need lacks it: it may be newer than the listing, and nothing would tell
// when it comes.
func (s *scales) resourceOf(
	ctx context.Context, n purekube.Need,
) (resource schema.GroupVersionResource, scale bool, err error) {
	gv, err := schema.ParseGroupVersion(n.APIVersion)
	if err == nil { // the client for discovery sends whatever it is
		_, err = pathOf(
			purekube.Request{Verb: "get", Resource: gv.WithResource(n.Kind), Namespace: n.Namespace, Name: n.Name})
	}
	if err != nil {
		return resource, false, noScale{err}
	}
	since := time.Now()
	l, err := s.listed(ctx, gv, time.Time{})
	if err == nil && l.kinds[n.Kind] == "" {
		since = s.since(n, since)
		l, err = s.listed(ctx, gv, since)
	}
	if err != nil {
		return resource, false, err
	}
	kind := gv.WithKind(n.Kind)
	name := l.kinds[n.Kind]
	if name == "" && l.asked.Before(since) {
		return resource, false, unlisted(kind, max(0, s.resetEvery-time.Since(l.asked)))
	}
	s.settled(n)
	if name == "" {
		return resource, false,
			noScale{&meta.NoKindMatchError{GroupKind: kind.GroupKind(), SearchedVersions: []string{gv.Version}}}
	}
	return gv.WithResource(name), l.scales[name], nil
}

// listed returns what the API server lists in a group version, asked for less than resetEvery ago. It is asked for at
// since or later, unless that was done for another kind less than resetEvery ago. All who ask at the same time wait for
// one answer. After a failure, the API server is asked again in half of resetEvery.
func (s *scales) listed(ctx context.Context, gv schema.GroupVersion, since time.Time) (*listing, error) {
	s.mu.Lock()
	l := s.listings[gv]
	if l != nil && l.failed {
		if in := s.resetEvery/2 - time.Since(l.asked); in > 0 {
			s.mu.Unlock()
			return nil, &unsettled{l.err.Error(), in}
		}
		l = nil
	}
	ask := l == nil || time.Since(l.asked) >= s.resetEvery || l.asked.Before(since) && !l.missed
	if ask {
		s.sweep()
		l = &listing{done: make(chan struct{}), asked: time.Now(), missed: !since.IsZero()}
		s.listings[gv] = l
	}
	s.mu.Unlock()
	if ask {
		s.discover(gv, l)
	}
	select {
	case <-l.done:
		return l, l.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// discover asks the API server. A group version that it does not have is one without resources.
func (s *scales) discover(gv schema.GroupVersion, l *listing) {
	defer close(l.done)
	list, err := s.kinds.ServerResourcesForGroupVersion(gv.String())
	switch {
	case apierrors.IsNotFound(err):
		list = &metav1.APIResourceList{}
	case err != nil:
		s.mu.Lock()
		defer s.mu.Unlock()
		l.err, l.failed = err, true
		return
	}
	l.kinds, l.scales = map[string]string{}, map[string]bool{}
	for _, r := range list.APIResources {
		if name, isScale := strings.CutSuffix(r.Name, "/scale"); isScale {
			l.scales[name] = true
		}
		if !strings.Contains(r.Name, "/") { // the kind of a subresource is another one
			l.kinds[r.Kind] = r.Name
		}
	}
}

// since is when a need was first asked for: now, if it is new.
func (s *scales) since(n purekube.Need, now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first, found := s.asked[n]; found {
		return first
	}
	s.asked[n] = now
	return now
}

func (s *scales) settled(n purekube.Need) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.asked, n)
}

// sweep forgets listings that nobody may use any more, and needs that nobody has asked for again. The caller holds mu.
func (s *scales) sweep() {
	now := time.Now()
	if now.Sub(s.swept) < s.resetEvery {
		return
	}
	s.swept = now
	maps.DeleteFunc(s.listings, func(_ schema.GroupVersion, l *listing) bool { return now.Sub(l.asked) >= s.resetEvery })
	maps.DeleteFunc(s.asked, func(_ purekube.Need, first time.Time) bool { return now.Sub(first) >= 6*s.resetEvery })
}

// unlisted says that a kind was not found, which another attempt may mend after a while.
func unlisted(kind schema.GroupVersionKind, in time.Duration) error {
	return &unsettled{fmt.Sprintf("no kind %s in %s", kind.Kind, kind.GroupVersion()), in}
}

// unsettled is an error of a lookup that may be mended after a while.
type unsettled struct {
	text string
	in   time.Duration
}

func (e *unsettled) Error() string {
	return fmt.Sprintf("%s, as far as is known; asking again in %v", e.text, e.in.Round(time.Second))
}

// Status is part of APIStatus of apimachinery, and says when to try again.
func (e *unsettled) Status() metav1.Status {
	return metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonServiceUnavailable, Message: e.Error(),
		Details: &metav1.StatusDetails{RetryAfterSeconds: int32(math.Ceil(e.in.Seconds()))}}
}
