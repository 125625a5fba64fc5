package memory

import (
	"cmp"
	"sync"
	"sync/atomic"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/purekube/purekube/admission"
	"github.com/purekube/purekube/disruption"
)

// AssumePodFor is how long an allowed eviction counts although the watch does not show it, unless [Options] say
// otherwise. By then the API server has evicted the pod, or something else has refused the eviction. A wrong answer
// costs a budget one pod for as long as the watch is silent.
const AssumePodFor = 30 * time.Second

// Options of a [Store].
type Options struct {
	AssumePodFor time.Duration // 0: the constant of that name
}

// Store keeps the objects of a cluster that decisions on evictions and budgets need. It is safe for concurrent use.
// Make one with [NewStore].
type Store struct {
	current atomic.Pointer[disruption.Index]
	// changing is locked while the next Index is made. A decision reads the current Index without a lock.
	changing sync.Mutex
	assumed  assumed
	// deciding is locked by a decision that is right only once: a decision that allows an eviction.
	deciding sync.Mutex
}

// NewStore returns an empty store.
func NewStore(o Options) *Store {
	s := &Store{assumed: newAssumed(cmp.Or(o.AssumePodFor, AssumePodFor))}
	s.current.Store(disruption.NewIndex(disruption.Snapshot{}, disruption.Options{}))
	return s
}

// Index returns the objects as they are now. An Index never changes.
func (s *Store) Index() *disruption.Index { return s.current.Load() }

// Put adds objects as a watch shows them, or replaces the objects of the same names. It keeps pointers to them: do not
// write to them any more. Put ignores objects of kinds that no decision on an eviction or a budget reads, nil, and
// objects without a name.
func (s *Store) Put(objects ...runtime.Object) {
	s.changing.Lock()
	defer s.changing.Unlock()
	var seen disruption.Snapshot
	for _, o := range objects {
		if readable(o) {
			add(&seen, s.assumed.seen(o))
		}
	}
	s.set(seen)
}

// Remove removes objects that a watch shows as deleted, by their names. If an informer missed a deletion, unwrap the
// object from its tombstone first: an object that is not removed may make an answer more permissive.
func (s *Store) Remove(objects ...runtime.Object) {
	s.changing.Lock()
	defer s.changing.Unlock()
	var gone disruption.Snapshot
	for _, o := range objects {
		if readable(o) {
			s.assumed.gone(o)
			add(&gone, o)
		}
	}
	x, _ := s.Index().Without(gone)
	s.current.Store(x)
}

// set makes the next Index. One change follows the other; decisions go on meanwhile. No decision needs affected keys.
func (s *Store) set(changed disruption.Snapshot) {
	x, _ := s.Index().With(changed)
	s.current.Store(x)
}

// Review answers an eviction or the write of a budget with [admission.Decide], at that time. If it allows an eviction,
// that counts for the requests that follow. Without synced it refuses: say so until every kind is listed and put into
// the store. It refuses what depends on other objects, for example the deletion of a ServiceCIDR, and allows what
// admission does not decide.
//
// Decisions on evictions are made one at a time. Other decisions do not wait.
func (s *Store) Review(
	r *admissionv1.AdmissionRequest, synced bool, now time.Time, o admission.Options,
) *admissionv1.AdmissionResponse {
	if !synced {
		return admission.Decide(admission.Indexes{}, r, o)
	}
	name, dryRun := admission.EvictionOf(r)
	if name.Name == "" {
		return decide(s.Index(), r, now, o)
	}
	s.deciding.Lock()
	defer s.deciding.Unlock()
	s.forget(now)
	x, pod := s.Index(), s.pod(name)
	if pod != nil {
		// As it is, even if an eviction of it was allowed before: that one may have been refused after all.
		x, _ = x.With(disruption.Snapshot{Pods: []*corev1.Pod{pod}})
	}
	response := decide(x, r, now, o)
	if response.Allowed && !dryRun {
		s.assumeEvicted(name, now)
	}
	return response
}

func decide(
	x *disruption.Index, r *admissionv1.AdmissionRequest, now time.Time, o admission.Options,
) *admissionv1.AdmissionResponse {
	x, _ = x.With(disruption.Snapshot{Now: now})
	return admission.Decide(admission.Indexes{Disruption: x}, r, o)
}
