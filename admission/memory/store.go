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
	"github.com/purekube/purekube/rbacaggregate"
	"github.com/purekube/purekube/servicecidr"
)

// How long a deletion that was allowed counts although the watch does not show it, unless [Options] say otherwise.
const (
	// AssumePodFor: by then the API server has carried the eviction out, or something else has refused it. A wrong answer
	// costs a budget one pod for as long as the watch is silent.
	AssumePodFor = 30 * time.Second
	// AssumeServiceCIDRFor is for a webhook whose watches end by themselves after five and a half minutes, and which
	// decides nothing any more after a minute without a watch.
	AssumeServiceCIDRFor = 7 * time.Minute
)

// Options of a [Store]. If a field is zero, the constant of its name is used.
type Options struct {
	AssumePodFor time.Duration
	// AssumeServiceCIDRFor must be longer than a watch whose connection died without an error can count as synced. Then
	// the watch shows the deletion before it is forgotten, or nothing is decided any more.
	AssumeServiceCIDRFor time.Duration
}

// Store is the objects of a cluster as decisions need them. It is safe for concurrent use. Make one with [NewStore].
type Store struct {
	current atomic.Pointer[admission.Indexes]
	// changing is locked while the next indexes are made. A decision reads the current indexes without a lock.
	changing sync.Mutex
	assumed  assumed
	// deciding is locked by a decision that is right only once: a decision that allows a deletion.
	deciding sync.Mutex
}

// NewStore returns an empty store.
func NewStore(o Options) *Store {
	s := &Store{assumed: newAssumed(
		cmp.Or(o.AssumePodFor, AssumePodFor),
		cmp.Or(o.AssumeServiceCIDRFor, AssumeServiceCIDRFor),
	)}
	s.current.Store(&admission.Indexes{
		ServiceCIDRs: servicecidr.NewIndex(servicecidr.Snapshot{}, servicecidr.Options{}),
		ClusterRoles: rbacaggregate.NewIndex(rbacaggregate.Snapshot{}, rbacaggregate.Options{}),
		Disruption:   disruption.NewIndex(disruption.Snapshot{}, disruption.Options{}),
	})
	return s
}

// Indexes returns the objects as they are now. An Index never changes.
func (s *Store) Indexes() admission.Indexes { return *s.current.Load() }

// Put adds objects as a watch shows them, or replaces the objects of the same names. It keeps pointers to them: do not
// write to them any more. Put ignores objects of kinds that no decision reads, nil, and objects without a name.
func (s *Store) Put(objects ...runtime.Object) {
	s.changing.Lock()
	defer s.changing.Unlock()
	var seen []runtime.Object
	for _, o := range objects {
		if readable(o) {
			seen = append(seen, s.assumed.seen(o))
		}
	}
	s.set(seen...)
}

// Remove takes away objects that a watch shows as deleted. Their names count. Unwrap what an informer hands over in the
// place of an object whose deletion it missed: an object that is not removed may make an answer more permissive.
func (s *Store) Remove(objects ...runtime.Object) {
	s.changing.Lock()
	defer s.changing.Unlock()
	var gone []runtime.Object
	for _, o := range objects {
		if readable(o) {
			s.assumed.gone(o)
			gone = append(gone, o)
		}
	}
	x, of := s.Indexes(), snapshotsOf(gone)
	x.ServiceCIDRs, _ = x.ServiceCIDRs.Without(of.cidrs)
	x.ClusterRoles, _ = x.ClusterRoles.Without(of.roles)
	x.Disruption, _ = x.Disruption.Without(of.disruption)
	s.current.Store(&x)
}

// set makes the next indexes. One change follows the other; decisions go on meanwhile. No decision needs affected keys.
func (s *Store) set(objects ...runtime.Object) {
	x, of := s.Indexes(), snapshotsOf(objects)
	x.ServiceCIDRs, _ = x.ServiceCIDRs.With(of.cidrs)
	x.ClusterRoles, _ = x.ClusterRoles.With(of.roles)
	x.Disruption, _ = x.Disruption.With(of.disruption)
	s.current.Store(&x)
}

// Review answers a request with [admission.Decide], at that time. If it allows a deletion, that counts for the requests
// that follow. Without synced every decision is refused: say so until every kind is listed and put into the store, and
// when a watch has been down for long.
//
// Decisions that allow deletions follow each other. The others wait for none.
func (s *Store) Review(r *admissionv1.AdmissionRequest, synced bool, now time.Time, o admission.Options) *admissionv1.AdmissionResponse {
	if !synced {
		return admission.Decide(admission.Indexes{}, r, o)
	}
	deletion := admission.DeletionOf(r)
	if deletion.Key.Name == "" {
		return admission.Decide(s.at(now), r, o)
	}
	s.deciding.Lock()
	defer s.deciding.Unlock()
	s.forget(now)
	x := s.at(now)
	pod := s.pod(deletion.Key)
	if pod != nil {
		// As it is, even if an eviction of it was allowed before: that one may have been refused after all.
		x.Disruption, _ = x.Disruption.With(disruption.Snapshot{Pods: []*corev1.Pod{pod}})
	}
	response := admission.Decide(x, r, o)
	if response.Allowed && !deletion.DryRun {
		if pod != nil {
			deletion.UID = pod.UID
		}
		s.assumeDeleted(deletion, now)
	}
	return response
}

// at is the indexes at a time.
func (s *Store) at(now time.Time) admission.Indexes {
	x := s.Indexes()
	x.Disruption, _ = x.Disruption.With(disruption.Snapshot{Now: now})
	return x
}
