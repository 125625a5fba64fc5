package persistent

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/internal/test/weakly"
)

func pod(name, version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, ResourceVersion: version}}
}

func named(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "ns", Name: name}
}

type pods = Objects[corev1.Pod, *corev1.Pod]

// Objects that were replaced or taken away are let go of, with and without an ambiguous name among the others: at
// most half as many as there are stay in memory, and none once all are taken away.
func TestObjectsLetGo(t *testing.T) {
	const n = 1000
	for _, twice := range []bool{false, true} {
		first, second := make([]*corev1.Pod, n), make([]*corev1.Pod, n)
		for i := range n {
			first[i], second[i] = pod(fmt.Sprint("p", i), "1"), pod(fmt.Sprint("p", i), "2")
		}
		oldOnes, newOnes := weakly.Watch(first), weakly.Watch(second)
		list := first
		if twice {
			list = append(list, pod("twice", "1"), pod("twice", "2"))
		}
		o := NewObjects("Pod", list)
		list, first = nil, nil
		change := func(f func(e *ObjectsEdit[corev1.Pod, *corev1.Pod])) {
			e := o.Edit()
			f(e)
			o = e.Objects()
		}
		for i := range n {
			change(func(e *ObjectsEdit[corev1.Pod, *corev1.Pod]) { e.Put(second[i]) })
		}
		second = nil
		require.LessOrEqual(t, oldOnes(), n/2)
		require.Equal(t, n, newOnes())
		for i := range n {
			change(func(e *ObjectsEdit[corev1.Pod, *corev1.Pod]) { e.Delete(named(fmt.Sprint("p", i))) })
			require.Equal(t, twice, o.Ambiguous(named("twice")))
		}
		require.Zero(t, oldOnes())
		if twice {
			require.Less(t, newOnes(), fewChanges)
		} else {
			require.Zero(t, newOnes())
		}
		runtime.KeepAlive(o)
	}
}

func BenchmarkObjects(b *testing.B) {
	for _, size := range []int{1_000, 10_000, 100_000, 1_000_000} {
		if testing.Short() && size > 100_000 {
			continue // is there to be measured
		}
		objects := make([]*corev1.Pod, size)
		for i := range objects {
			objects[i] = pod(fmt.Sprint("p", i), "")
		}
		o := NewObjects("Pod", objects)
		b.Run(fmt.Sprintf("New/%d", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				NewObjects("Pod", objects)
			}
		})
		b.Run(fmt.Sprintf("With/%d", size), func(b *testing.B) {
			b.ReportAllocs()
			r := rand.New(rand.NewPCG(1, 2))
			next := o
			for b.Loop() {
				i := r.IntN(size)
				next, _ = next.With(objects[i : i+1])
			}
		})
		b.Run(fmt.Sprintf("Put/%d", size), func(b *testing.B) {
			b.ReportAllocs()
			r := rand.New(rand.NewPCG(1, 2))
			next := o
			for b.Loop() {
				e := next.Edit()
				e.Put(objects[r.IntN(size)])
				next = e.Objects()
			}
		})
		b.Run(fmt.Sprintf("Find/%d", size), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			for b.Loop() {
				o.Find(named(objects[r.IntN(size)].Name))
			}
		})
	}
}
