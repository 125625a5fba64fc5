package persistent

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/weakly"
)

func pod(name, version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, ResourceVersion: version}}
}

func named(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "ns", Name: name}
}

type pods = Objects[corev1.Pod, *corev1.Pod]

// versions is the collection as names and resourceVersions, looked up in both ways.
func versions(t *testing.T, o *pods) map[string]string {
	t.Helper()
	all := map[string]string{}
	for p := range o.All() {
		require.NotContains(t, all, p.Name)
		all[p.Name] = p.ResourceVersion
		require.Same(t, p, o.Find(named(p.Name)))
	}
	return all
}

// A random walk with enough changes that new tables are made on the way, compared with a plain
// map; every collection on the way is compared again at the end.
func TestObjectsNeverChange(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var first []*corev1.Pod
	want := map[string]string{}
	for i := range 100 {
		name := fmt.Sprint("p", i)
		first = append(first, pod(name, "0"))
		want[name] = "0"
	}
	first = append(first, pod("p0", "0"), pod("p1", "0"))
	delete(want, "p0")
	delete(want, "p1")

	type version struct {
		o    *pods
		want map[string]string
	}
	all := []version{{NewObjects("Pod", first), want}}
	for i := 1; i < 1000; i++ {
		from := all[len(all)-1]
		next := version{want: maps.Clone(from.want)}
		e := from.o.Edit()
		for range 1 + r.IntN(4) {
			name := fmt.Sprint("p", r.IntN(200))
			if r.IntN(3) == 0 {
				e.Delete(named(name))
				delete(next.want, name)
				require.Nil(t, e.Find(named(name)))
				continue
			}
			e.Put(pod(name, fmt.Sprint(i)))
			next.want[name] = fmt.Sprint(i)
			require.NotNil(t, e.Find(named(name)))
		}
		next.o = e.Objects()
		require.Equal(t, next.want, versions(t, next.o))
		all = append(all, next)
	}
	for i, v := range all {
		require.Equal(t, v.want, versions(t, v.o), "after %d changes", i)
	}
	require.NotSame(t, all[0].o.base, all[len(all)-1].o.base, "no new table was made")
}

func TestObjectsOfOneName(t *testing.T) {
	o := NewObjects("Pod", []*corev1.Pod{pod("a", "1"), pod("twice", "1"), pod("twice", "2")})
	require.Nil(t, o.Find(named("twice")))
	require.True(t, o.Ambiguous(named("twice")))
	require.False(t, o.Ambiguous(named("a")))
	require.Len(t, o.Duplicates(), 1)
	require.ErrorIs(t, o.Duplicates()[0], purekube.ErrDuplicate)

	replaced := o.Edit()
	replaced.Put(pod("twice", "3"))
	one := replaced.Objects()
	require.Equal(t, "3", one.Find(named("twice")).ResourceVersion)
	require.False(t, one.Ambiguous(named("twice")))
	require.Empty(t, one.Duplicates())
	require.Equal(t, map[string]string{"a": "1", "twice": "3"}, versions(t, one))

	deleted := o.Edit()
	deleted.Delete(named("twice"))
	none := deleted.Objects()
	require.Nil(t, none.Find(named("twice")))
	require.False(t, none.Ambiguous(named("twice")))
	require.True(t, o.Ambiguous(named("twice")), "the collection itself does not change")
}

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
