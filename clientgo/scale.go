package clientgo

import (
	"context"
	"errors"
	"fmt"
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
	// scaling has the resources by group version, and is as large as the API.
	scaling map[schema.GroupVersion]*known
}

// known is which resources of a group version there are, and which of them have a scale.
type known struct {
	done      chan struct{} // closed when the others are set
	resources map[string]bool
	kinds     map[string]string // the resource of each kind
	err       error
	asked     time.Time
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

// resourceOf is the resource of the kind that a need names, and reports whether it has a scale.
//
// The mapper alone cannot say that there is no such kind: it leaves out a group whose discovery fails. Nor can it say
// that there is one, since the kind may have gone. So the API server's list of the group version decides, and a kind is
// missing only where a new list and a new mapper both lack it.
func (s *scales) resourceOf(ctx context.Context, n purekube.Need) (resource schema.GroupVersionResource, scale bool, err error) {
	none := schema.GroupVersionResource{}
	gv, err := schema.ParseGroupVersion(n.APIVersion)
	if err != nil {
		return none, false, noScale{err}
	}
	kind := gv.WithKind(n.Kind)
	mapping, unmapped := s.mapper.RESTMapping(kind.GroupKind(), gv.Version)
	switch {
	case unmapped == nil:
		of, err := s.listed(ctx, gv, time.Time{})
		if err != nil {
			return none, false, err
		}
		if scale, exists := of.resources[mapping.Resource.Resource]; exists {
			s.found(n)
			return mapping.Resource, scale, nil
		}
	case !meta.IsNoMatchError(unmapped):
		return none, false, unmapped
	}

	since, reset, in := s.unknown(n)
	if since.IsZero() {
		return none, false, unlisted(kind, in)
	}
	if reset {
		s.mapper.Reset()
	}
	defer s.found(n)
	mapping, unmapped = s.mapper.RESTMapping(kind.GroupKind(), gv.Version)
	if unmapped != nil && !meta.IsNoMatchError(unmapped) {
		return none, false, unmapped
	}
	of, err := s.listed(ctx, gv, since)
	if err != nil {
		return none, false, err
	}
	if unmapped == nil {
		if scale, exists := of.resources[mapping.Resource.Resource]; exists {
			return mapping.Resource, scale, nil
		}
	}
	if name, exists := of.kinds[n.Kind]; exists {
		return gv.WithResource(name), of.resources[name], nil
	}
	if unmapped == nil { // the two are not of the same moment
		return none, false, unlisted(kind, in)
	}
	return none, false, noScale{unmapped}
}

// listed returns what the API server lists in a group version, asked for at since or later and less than resetEvery ago.
// All who ask at the same time wait for one answer.
func (s *scales) listed(ctx context.Context, gv schema.GroupVersion, since time.Time) (*known, error) {
	s.mu.Lock()
	of := s.scaling[gv]
	ask := of == nil || of.asked.Before(since) || time.Since(of.asked) >= s.resetEvery
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
		return of, of.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// discover asks the API server. If the call fails, the callers that wait get the error, and a later call asks again. A
// group version that the API server does not have is one without resources.
func (s *scales) discover(gv schema.GroupVersion, of *known) {
	defer close(of.done)
	list, err := s.kinds.ServerResourcesForGroupVersion(gv.String())
	switch {
	case apierrors.IsNotFound(err):
		list = &metav1.APIResourceList{}
	case err != nil:
		of.err = err
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.scaling[gv] == of {
			delete(s.scaling, gv)
		}
		return
	}
	of.resources, of.kinds = map[string]bool{}, map[string]string{}
	for _, r := range list.APIResources {
		name, isScale := strings.CutSuffix(r.Name, "/scale")
		if isScale || !strings.Contains(name, "/") {
			of.resources[name] = of.resources[name] || isScale
		}
		if !strings.Contains(r.Name, "/") { // the kind of a subresource is another one
			of.kinds[r.Kind] = r.Name
		}
	}
}

// unknown decides what becomes of a need whose kind is not known. The mapper may be reset once in resetEvery. A need is
// settled when the mapper was reset after the need was first asked for, at since: until then the kind may be newer than
// what is known, and nothing would tell when it comes. Where since is zero, it can be settled after a while.
func (s *scales) unknown(n purekube.Need) (since time.Time, reset bool, in time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	since = s.asked[n]
	if since.IsZero() {
		since = now
	}
	if ago := now.Sub(s.reset); ago < s.resetEvery {
		if s.asked == nil {
			s.asked = map[purekube.Need]time.Time{}
		}
		s.asked[n] = since
		if since.After(s.reset) {
			since = time.Time{}
		}
		return since, false, s.resetEvery - ago
	}
	for n, asked := range s.asked { // nobody has asked again since the reset that settled it
		if asked.Before(s.reset) {
			delete(s.asked, n)
		}
	}
	s.reset = now
	return since, true, s.resetEvery
}

func (s *scales) found(n purekube.Need) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.asked, n)
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
