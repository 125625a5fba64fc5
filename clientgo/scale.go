package clientgo

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/purekube/purekube"
)

// ErrNoScale: the API server does not know the kind, or the kind has no scale subresource.
var ErrNoScale = errors.New("no scale")

// noScale is an ErrNoScale with a text of its own.
type noScale struct{ error }

func (noScale) Is(target error) bool { return target == ErrNoScale }

// scales reads the scale of any object, and tells an object that is gone from a kind that has no scale: the API server
// answers 404 to both.
type scales struct {
	get        Getter
	kinds      discovery.ServerResourcesInterface
	mapper     meta.ResettableRESTMapper
	resetEvery time.Duration

	mu    sync.Mutex
	reset time.Time
	// asked is when a need first met a kind that was unknown.
	asked map[purekube.Need]time.Time
	// scaling has the resources with a scale by group version, and is as large as the API.
	scaling map[schema.GroupVersion]*known
}

// known is which resources of a group version there are, and which of them have a scale.
type known struct {
	done      chan struct{} // closed when the others are set
	resources map[string]bool
	err       error
	asked     time.Time
}

// Get returns the scale. The error is NotFound if there is no such object, ErrNoScale if there is no such scale, and
// anything else if this is not known. The objects of a kind without a scale cost one call together.
func (s *scales) Get(ctx context.Context, n purekube.Need) (runtime.Object, error) {
	resource, err := s.resourceOf(n)
	if err != nil {
		return nil, err
	}
	switch has, exists, err := s.has(ctx, resource); {
	case err != nil:
		return nil, err
	case !exists: // the mapper is newer than this
		return nil, &unsettled{fmt.Sprintf("%s is new to the API server", resource.GroupResource()), s.resetEvery}
	case !has:
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

// has reports whether the resource has a scale, and whether it exists. All who ask at the same time wait for one answer.
func (s *scales) has(ctx context.Context, resource schema.GroupVersionResource) (scale, exists bool, err error) {
	gv := resource.GroupVersion()
	s.mu.Lock()
	of := s.scaling[gv]
	ask := of == nil || time.Since(of.asked) >= s.resetEvery
	if ask {
		of = &known{done: make(chan struct{}), asked: time.Now()}
		if s.scaling == nil {
			s.scaling = map[schema.GroupVersion]*known{}
		}
		s.scaling[gv] = of
	}
	s.mu.Unlock()
	if ask {
		s.discover(gv, of)
	}
	select {
	case <-of.done:
		scale, exists = of.resources[resource.Resource]
		return scale, exists, of.err
	case <-ctx.Done():
		return false, false, ctx.Err()
	}
}

// discover asks the API server. If the call fails, the callers that wait get the error, and a later call asks again.
func (s *scales) discover(gv schema.GroupVersion, of *known) {
	defer close(of.done)
	list, err := s.kinds.ServerResourcesForGroupVersion(gv.String())
	if err != nil {
		of.err = err
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.scaling[gv] == of {
			delete(s.scaling, gv)
		}
		return
	}
	of.resources = map[string]bool{}
	for _, r := range list.APIResources {
		name, isScale := strings.CutSuffix(r.Name, "/scale")
		if isScale || !strings.Contains(name, "/") {
			of.resources[name] = of.resources[name] || isScale
		}
	}
}

func (s *scales) resourceOf(n purekube.Need) (schema.GroupVersionResource, error) {
	gv, err := schema.ParseGroupVersion(n.APIVersion)
	if err != nil {
		return schema.GroupVersionResource{}, noScale{err}
	}
	kind := gv.WithKind(n.Kind).GroupKind()
	mapping, err := s.mapper.RESTMapping(kind, gv.Version)
	if meta.IsNoMatchError(err) {
		reset, settled, in := s.unknown(n)
		if reset {
			s.mapper.Reset()
			mapping, err = s.mapper.RESTMapping(kind, gv.Version)
		}
		if meta.IsNoMatchError(err) && !settled {
			return schema.GroupVersionResource{}, &unsettled{err.Error(), in}
		}
	}
	s.found(n)
	switch {
	case meta.IsNoMatchError(err):
		return schema.GroupVersionResource{}, noScale{err}
	case err != nil:
		return schema.GroupVersionResource{}, err
	}
	return mapping.Resource, nil
}

// unknown decides what becomes of a need whose kind the mapper does not know. It may be reset once in resetEvery. A need
// is settled when the mapper was reset after the need was first asked for: until then the kind may be newer than
// what the mapper knows, and nothing would tell when it comes.
func (s *scales) unknown(n purekube.Need) (reset, settled bool, in time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if since := now.Sub(s.reset); since < s.resetEvery {
		if s.asked == nil {
			s.asked = map[purekube.Need]time.Time{}
		}
		if s.asked[n].IsZero() {
			s.asked[n] = now
		}
		return false, !s.asked[n].After(s.reset), s.resetEvery - since
	}
	for n, asked := range s.asked { // nobody has asked again since the reset that settled it
		if asked.Before(s.reset) {
			delete(s.asked, n)
		}
	}
	s.reset = now
	return true, true, 0
}

func (s *scales) found(n purekube.Need) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.asked, n)
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
