package main

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// How long a deletion that was allowed counts although the watch does not show it.
const (
	// assumePodFor: by then the API server has carried the eviction out, or something else has refused it. A wrong answer
	// costs a budget one pod for as long as the watch is silent.
	assumePodFor = 30 * time.Second
	// assumeServiceCIDRFor is longer than a watch that died without a word can count as watched: it ends after maxWatch
	// and half of maxLag, and decides for maxLag more. So the watch shows the deletion, or nothing is decided any more.
	assumeServiceCIDRFor = maxWatch + 2*maxLag
)

func assumeFor(o runtime.Object) time.Duration {
	if _, cidr := o.(*networkingv1.ServiceCIDR); cidr {
		return assumeServiceCIDRFor
	}
	return assumePodFor
}

// assumed remembers the ServiceCIDRs and pods whose deletion was allowed, until the watch shows it. Two deletions that
// are fine alone may not be fine together: one of two equal ServiceCIDRs has to stay, and perhaps one of two pods of a
// budget. The indexes have such an object with a deletionTimestamp.
//
// It is in memory: other replicas of the webhook do not know of it, and a restart forgets it.
type assumed struct {
	// shown are all ServiceCIDRs and pods, as the watch shows them.
	shown     map[string]runtime.Object
	deletions map[string]deletion
	// inOrder are the deletions that count for so long, in the order in which they end.
	inOrder map[time.Duration][]deletion
}

// deletion is one that was allowed.
type deletion struct {
	key string
	uid types.UID
	at  time.Time
}

func newAssumed() assumed {
	return assumed{shown: map[string]runtime.Object{}, deletions: map[string]deletion{}, inOrder: map[time.Duration][]deletion{}}
}

// keyOf is empty for an object of another kind.
func keyOf(o runtime.Object) string {
	switch o.(type) {
	case *networkingv1.ServiceCIDR, *corev1.Pod:
		return fmt.Sprintf("%T %s", o, nameOf(o))
	}
	return ""
}

// seen takes an object from the watch, and returns what the indexes are to have.
func (a *assumed) seen(o runtime.Object) runtime.Object {
	key, m := keyOf(o), o.(metav1.Object)
	if key == "" {
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

// assumeDeleted remembers that the deletion of an object was allowed.
func (s *state) assumeDeleted(o runtime.Object, now time.Time) {
	s.changing.Lock()
	defer s.changing.Unlock()
	a := &s.assumed
	d := deletion{key: keyOf(o), uid: o.(metav1.Object).GetUID(), at: now}
	shown := a.shown[d.key]
	if shown != nil && shown.(metav1.Object).GetDeletionTimestamp() != nil {
		return
	}
	a.deletions[d.key] = d
	a.inOrder[assumeFor(o)] = append(a.inOrder[assumeFor(o)], d)
	if shown != nil && shown.(metav1.Object).GetUID() == d.uid {
		s.set(d.of(shown))
	}
}

// forget ends what has been assumed for long enough: the indexes have it again as the watch shows it.
func (s *state) forget(now time.Time) {
	s.changing.Lock()
	defer s.changing.Unlock()
	a := &s.assumed
	for counts, inOrder := range a.inOrder {
		for ; len(inOrder) > 0 && now.After(inOrder[0].at.Add(counts)); inOrder = inOrder[1:] {
			d := inOrder[0]
			if a.deletions[d.key] != d {
				continue
			}
			delete(a.deletions, d.key)
			if shown := a.shown[d.key]; shown != nil {
				s.set(shown)
			}
		}
		a.inOrder[counts] = inOrder
	}
}

// pod returns a pod as the watch shows it, nil if it shows none.
func (s *state) pod(name types.NamespacedName) *corev1.Pod {
	s.changing.Lock()
	defer s.changing.Unlock()
	named := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}
	pod, _ := s.assumed.shown[keyOf(named)].(*corev1.Pod)
	return pod
}
