package memory

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/disruption"
)

// assumed is the pods whose eviction was allowed, until the watch shows it. The Index has such a pod with a
// deletionTimestamp.
type assumed struct {
	counts time.Duration
	// shown are all pods, as the watch shows them.
	shown     map[types.NamespacedName]*corev1.Pod
	evictions map[types.NamespacedName]eviction
	// inOrder has the oldest first. All count equally long.
	inOrder []eviction
}

// eviction is an eviction that was allowed.
type eviction struct {
	pod types.NamespacedName
	uid types.UID
	at  time.Time
}

func newAssumed(counts time.Duration) assumed {
	return assumed{counts: counts, shown: map[types.NamespacedName]*corev1.Pod{},
		evictions: map[types.NamespacedName]eviction{}}
}

func nameOf(pod *corev1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
}

// seen takes an object from the watch, and returns what the Index should have.
func (a *assumed) seen(o runtime.Object) runtime.Object {
	pod, is := o.(*corev1.Pod)
	if !is {
		return o
	}
	name := nameOf(pod)
	a.shown[name] = pod
	e, assumed := a.evictions[name]
	switch {
	case !assumed:
		return o
	case pod.UID == e.uid && pod.DeletionTimestamp == nil:
		return e.of(pod)
	}
	delete(a.evictions, name) // it is shown, or another pod has the name
	return o
}

// gone takes from the watch that an object is gone.
func (a *assumed) gone(o runtime.Object) {
	if pod, is := o.(*corev1.Pod); is {
		delete(a.shown, nameOf(pod))
		delete(a.evictions, nameOf(pod))
	}
}

// of returns a copy of the pod with a deletionTimestamp.
func (e eviction) of(pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	pod.DeletionTimestamp = &metav1.Time{Time: e.at}
	return pod
}

// assumeEvicted remembers that an eviction was allowed. A pod that the watch does not show counts in no budget.
func (s *Store) assumeEvicted(name types.NamespacedName, now time.Time) {
	s.changing.Lock()
	defer s.changing.Unlock()
	a := &s.assumed
	shown := a.shown[name]
	if shown == nil || shown.DeletionTimestamp != nil {
		return
	}
	e := eviction{pod: name, uid: shown.UID, at: now}
	a.evictions[name] = e
	a.inOrder = append(a.inOrder, e)
	s.set(disruption.Snapshot{Pods: []*corev1.Pod{e.of(shown)}})
}

// forget ends what has been assumed for long enough: the Index has it again as the watch shows it.
func (s *Store) forget(now time.Time) {
	s.changing.Lock()
	defer s.changing.Unlock()
	a := &s.assumed
	for len(a.inOrder) > 0 && now.After(a.inOrder[0].at.Add(a.counts)) {
		e := a.inOrder[0]
		a.inOrder = a.inOrder[1:]
		if a.evictions[e.pod] == e {
			delete(a.evictions, e.pod)
			s.set(disruption.Snapshot{Pods: []*corev1.Pod{a.shown[e.pod]}})
		}
	}
}

// pod returns a pod as the watch shows it, nil if it shows none.
func (s *Store) pod(name types.NamespacedName) *corev1.Pod {
	s.changing.Lock()
	defer s.changing.Unlock()
	return s.assumed.shown[name]
}
