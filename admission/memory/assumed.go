package memory

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/admission"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/servicecidr"
)

// assumed is the ServiceCIDRs and pods whose deletion was allowed, until the watch shows it. The indexes have such an
// object with a deletionTimestamp.
type assumed struct {
	// shown are all ServiceCIDRs and pods, as the watch shows them.
	shown     map[purekube.Key]runtime.Object
	deletions map[purekube.Key]deletion
	// pods and cidrs are the deletions that count for so long, in the order in which they end.
	pods, cidrs inOrder
}

// inOrder are deletions that count equally long, the oldest first.
type inOrder struct {
	counts    time.Duration
	deletions []deletion
}

// deletion is one that was allowed.
type deletion struct {
	key purekube.Key
	uid types.UID
	at  time.Time
}

func newAssumed(pods, cidrs time.Duration) assumed {
	return assumed{
		shown: map[purekube.Key]runtime.Object{}, deletions: map[purekube.Key]deletion{},
		pods: inOrder{counts: pods}, cidrs: inOrder{counts: cidrs},
	}
}

// keyOf is zero for an object of another kind.
func keyOf(o runtime.Object) purekube.Key {
	switch o := o.(type) {
	case *networkingv1.ServiceCIDR:
		return servicecidr.KeyOf(o)
	case *corev1.Pod:
		return disruption.KeyOf(o)
	}
	return purekube.Key{}
}

// seen takes an object from the watch, and returns what the indexes are to have.
func (a *assumed) seen(o runtime.Object) runtime.Object {
	key, m := keyOf(o), o.(metav1.Object)
	if key == (purekube.Key{}) {
		return o
	}
	a.shown[key] = o
	d, assumed := a.deletions[key]
	switch {
	case !assumed:
		return o
	case m.GetUID() == d.uid && m.GetDeletionTimestamp() == nil:
		return d.of(o)
	}
	delete(a.deletions, key) // it is shown, or another object has the name
	return o
}

// gone takes from the watch that an object is gone.
func (a *assumed) gone(o runtime.Object) {
	key := keyOf(o)
	delete(a.shown, key)
	if a.deletions[key].uid == o.(metav1.Object).GetUID() {
		delete(a.deletions, key)
	}
}

// of returns a copy of the object with a deletionTimestamp.
func (d deletion) of(o runtime.Object) runtime.Object {
	o = o.DeepCopyObject()
	at := metav1.NewTime(d.at)
	o.(metav1.Object).SetDeletionTimestamp(&at)
	return o
}

// assumeDeleted remembers that a deletion was allowed.
func (s *Store) assumeDeleted(of admission.Deletion, now time.Time) {
	s.changing.Lock()
	defer s.changing.Unlock()
	a := &s.assumed
	d := deletion{key: of.Key, uid: of.UID, at: now}
	shown := a.shown[d.key]
	if shown != nil && shown.(metav1.Object).GetDeletionTimestamp() != nil {
		return
	}
	kind := &a.pods
	if d.key.Kind == servicecidr.Key("").Kind {
		kind = &a.cidrs
	} else if shown == nil {
		return // whether it exists is not known, and nothing counts it
	}
	a.deletions[d.key] = d
	kind.deletions = append(kind.deletions, d)
	if shown != nil && shown.(metav1.Object).GetUID() == d.uid {
		s.set(d.of(shown))
	}
}

// forget ends what has been assumed for long enough: the indexes have it again as the watch shows it.
func (s *Store) forget(now time.Time) {
	s.changing.Lock()
	defer s.changing.Unlock()
	a := &s.assumed
	for _, kind := range []*inOrder{&a.pods, &a.cidrs} {
		for len(kind.deletions) > 0 && now.After(kind.deletions[0].at.Add(kind.counts)) {
			d := kind.deletions[0]
			kind.deletions = kind.deletions[1:]
			if a.deletions[d.key] != d {
				continue
			}
			delete(a.deletions, d.key)
			if shown := a.shown[d.key]; shown != nil {
				s.set(shown)
			}
		}
	}
}

// pod returns a pod as the watch shows it, nil if it shows none.
func (s *Store) pod(key purekube.Key) *corev1.Pod {
	s.changing.Lock()
	defer s.changing.Unlock()
	pod, _ := s.assumed.shown[key].(*corev1.Pod)
	return pod
}
