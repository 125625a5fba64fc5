package persistent

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
	"github.com/purekube/purekube/internal/test/seed"
)

// model is the deliberately simple second implementation: all objects by name, and what could not be named.
type model struct {
	cluster  bool
	objects  map[types.NamespacedName][]*corev1.Pod
	hasNil   bool
	nameless map[string]bool
}

func (m model) name(p *corev1.Pod) types.NamespacedName {
	if m.cluster {
		return types.NamespacedName{Name: p.Name}
	}
	return snapshot.KeyOf(p)
}

// with returns the model with these objects in the place of those of their names, and the changes.
func (m model) with(list []*corev1.Pod, keep bool) (model, []Change[*corev1.Pod]) {
	next := model{m.cluster, maps.Clone(m.objects), m.hasNil, maps.Clone(m.nameless)}
	by := map[types.NamespacedName][]*corev1.Pod{}
	for _, p := range list {
		switch {
		case p == nil:
			next.hasNil = next.hasNil || keep
		case p.Name == "":
			if keep {
				next.nameless[m.name(p).Namespace] = true
			}
		default:
			by[m.name(p)] = append(by[m.name(p)], p)
		}
	}
	var changes []Change[*corev1.Pod]
	for _, name := range slices.SortedFunc(maps.Keys(by), CompareNames) {
		c := Change[*corev1.Pod]{Name: name, Before: m.objects[name]}
		delete(next.objects, name)
		if keep {
			c.After = by[name]
			next.objects[name] = c.After
		}
		if len(c.Before)+len(c.After) > 0 {
			changes = append(changes, c)
		}
	}
	return next, changes
}

// same fails unless the collection answers as the model does.
func (m model) same(t *testing.T, o *pods) {
	t.Helper()
	unique, all := map[*corev1.Pod]bool{}, map[*corev1.Pod]bool{}
	var ambiguous []types.NamespacedName
	for name, versions := range m.objects {
		require.Equal(t, versions, o.Versions(name))
		require.Equal(t, len(versions) > 1, o.Ambiguous(name))
		found, problem := o.Lookup(name)
		require.Same(t, found, o.Find(name))
		for _, p := range versions {
			all[p] = true
		}
		if len(versions) == 1 {
			require.Same(t, versions[0], found)
			require.Nil(t, problem)
			unique[found] = true
			continue
		}
		require.Nil(t, found)
		require.Equal(t, snapshot.DuplicateError("Pod", name), problem)
		ambiguous = append(ambiguous, name)
	}
	slices.SortFunc(ambiguous, CompareNames)
	require.Equal(t, len(m.objects), o.Len())
	require.Equal(t, unique, once(t, slices.Collect(o.All())))
	require.Equal(t, all, once(t, slices.Collect(o.AllVersions())))
	require.Equal(t, len(ambiguous) > 0, o.AnyAmbiguous())

	var want, got snapshot.Problems
	var names []types.NamespacedName
	for name, versions := range o.AmbiguousNames() {
		names = append(names, name)
		require.Equal(t, m.objects[name], versions)
		want.Add(snapshot.DuplicateError("Pod", name))
	}
	require.Equal(t, ambiguous, names)
	o.AddDuplicatesTo(&got)
	require.Equal(t, want.Err(), got.Err())

	nilError := &purekube.ObjectError{Kind: "Pod", Err: purekube.ErrNil}
	if m.hasNil {
		want.Add(nilError)
	}
	if len(m.nameless) > 0 {
		want.Add(snapshot.NamelessError("Pod"))
	}
	o.AddTo(&got)
	require.Equal(t, want.Err(), got.Err())
	require.Equal(t, m.hasNil, o.hasNil)
	for _, namespace := range []string{"", "a", "b", "c"} {
		var inNamespace []types.NamespacedName
		for _, name := range ambiguous {
			if name.Namespace == namespace {
				inNamespace = append(inNamespace, name)
			}
		}
		var found []types.NamespacedName
		for name, versions := range o.AmbiguousIn(namespace) {
			found = append(found, name)
			require.Equal(t, m.objects[name], versions)
		}
		require.Equal(t, inNamespace, found)
		switch {
		case m.hasNil:
			require.Equal(t, nilError, o.Unnamed(namespace))
		case m.nameless[namespace]:
			require.Equal(t, snapshot.NamelessError("Pod"), o.Unnamed(namespace))
		default:
			require.Nil(t, o.Unnamed(namespace))
		}
	}
	require.Nil(t, o.Find(types.NamespacedName{Name: "nobody"}))
	require.Empty(t, o.Versions(types.NamespacedName{Name: "nobody"}))
}

// once is the set of the objects, each of which comes once.
func once(t *testing.T, list []*corev1.Pod) map[*corev1.Pod]bool {
	t.Helper()
	set := map[*corev1.Pod]bool{}
	for _, p := range list {
		require.NotNil(t, p)
		require.False(t, set[p], "%s twice", p.Name)
		set[p] = true
	}
	return set
}

// eachOnce leaves out what an Edit does not take: nil pointers, objects without a name, and further ones of a name.
func (m model) eachOnce(list []*corev1.Pod) []*corev1.Pod {
	seen := map[types.NamespacedName]bool{}
	return slices.DeleteFunc(list, func(p *corev1.Pod) bool {
		if p == nil || p.Name == "" || seen[m.name(p)] {
			return true
		}
		seen[m.name(p)] = true
		return false
	})
}

// edited puts the objects, or deletes the objects of their names, one after the other.
func (m model) edited(t *testing.T, o *pods, list []*corev1.Pod, keep bool) *pods {
	t.Helper()
	e := o.Edit()
	for _, p := range list {
		if keep {
			e.Put(p)
			require.Same(t, p, e.Find(m.name(p)))
		} else {
			e.Delete(m.name(p))
			require.Nil(t, e.Find(m.name(p)))
		}
	}
	return e.Objects()
}

// podTermsOf are the labels of a pod, those of equal number twice.
func podTermsOf(terms []uint64, p *corev1.Pod) []uint64 {
	for label := range p.Labels {
		var term uint64
		fmt.Sscan(label, &term)
		terms = append(terms, term)
		if term%2 == 0 {
			terms = append(terms, term)
		}
	}
	return terms
}

func has(p *corev1.Pod, term uint64) bool {
	_, found := p.Labels[fmt.Sprint(term)]
	return found
}

// finds fails unless the index finds every object that contains a term, and each once.
func (m model) finds(t *testing.T, x *TermIndex[corev1.Pod, *corev1.Pod], terms []uint64) {
	t.Helper()
	sizes, alternatives := []int{}, [][]uint64{}
	for _, term := range append(terms, 99) {
		unique, all := map[*corev1.Pod]bool{}, map[*corev1.Pod]bool{}
		for _, versions := range m.objects {
			for _, p := range versions {
				if has(p, term) {
					all[p] = true
					if len(versions) == 1 {
						unique[p] = true
					}
				}
			}
		}
		without := func(p *corev1.Pod, _ bool) bool {
			if has(p, term) {
				return false
			}
			name := m.name(p)
			arranged := x.objects.base.only[name]
			require.True(t, arranged != nil && has(arranged, term) ||
				slices.ContainsFunc(m.objects[name], func(p *corev1.Pod) bool { return has(p, term) }),
				"%v never had term %d since the last pass", name, term)
			return true
		}
		found, versions := once(t, slices.Collect(x.Find(term))), once(t, slices.Collect(x.Versions(term)))
		for p := range versions {
			require.Contains(t, m.objects[m.name(p)], p, "an object that is gone")
		}
		for p := range found {
			require.Len(t, m.objects[m.name(p)], 1)
		}
		maps.DeleteFunc(found, without)
		maps.DeleteFunc(versions, without)
		require.Equal(t, unique, found, "term %d", term)
		require.Equal(t, all, versions, "term %d", term)

		count := x.Count(term, 1_000_000)
		require.GreaterOrEqual(t, count, len(unique))
		require.Equal(t, min(count, 2), x.Count(term, 2))
		sizes, alternatives = append(sizes, count), append(alternatives, []uint64{term})
	}
	require.Equal(t, slices.Index(sizes, slices.Min(sizes)), x.Rarest(alternatives))
	both := slices.Collect(x.Find(terms[0], terms[1]))
	require.Len(t, both, len(slices.Collect(x.Find(terms[0])))+len(slices.Collect(x.Find(terms[1]))))
}

// Random walks over changes with nil pointers, objects without a name and several of one name among them, with new
// passes on the way; every collection on the way answers as the model does, then and at the end. So do the index by
// terms and the values that follow the changes.
func TestObjectsAndTermsAsTheModel(t *testing.T) {
	renewed, shared := 0, 0
	for s := range seed.Each(t, 12) {
		r := rand.New(rand.NewPCG(s, 7))
		terms := [][]uint64{{1, 2, 3}, {1, 1 + 1<<32, 2 + 2<<32}, {7, 1 << 63, 8}}[s%3]
		names := 1 + r.IntN(120)
		some := func(n int) []*corev1.Pod {
			var list []*corev1.Pod
			for range n {
				p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
					Namespace: []string{"a", "b", "c"}[r.IntN(3)], Name: fmt.Sprint("p", r.IntN(names)), Labels: map[string]string{},
				}}
				for _, term := range terms {
					if r.IntN(3) == 0 {
						p.Labels[fmt.Sprint(term)] = ""
					}
				}
				switch r.IntN(200) {
				case 0:
					p = nil
				case 1, 2:
					p.Name = ""
				}
				list = append(list, p)
			}
			return list
		}
		type version struct {
			model
			o      *pods
			x      *TermIndex[corev1.Pod, *corev1.Pod]
			values *Map[types.NamespacedName, string]
		}
		// Names with an odd number have a value.
		valueOf := func(p *corev1.Pod) (string, bool) {
			return fmt.Sprint(p.Namespace, p.Labels), strings.ContainsAny(p.Name[len(p.Name)-1:], "13579")
		}
		check := func(v version) {
			v.same(t, v.o)
			v.finds(t, v.x, terms)
			want := map[types.NamespacedName]string{}
			for name, versions := range v.objects {
				if value, there := valueOf(versions[0]); there && len(versions) == 1 {
					want[name] = value
				}
			}
			require.Equal(t, want, maps.Collect(v.values.All()))
		}
		first := some(r.IntN(3 * names))
		before := slices.Clone(first)
		start := version{model: model{cluster: s%2 == 0, objects: map[types.NamespacedName][]*corev1.Pod{}, nameless: map[string]bool{}}, values: NewMap[types.NamespacedName, string](CompareNames)}
		var changes []Change[*corev1.Pod]
		start.model, changes = start.with(first, true)
		start.values = Follow(start.values, changes, valueOf)
		if start.cluster {
			start.o = NewClusterObjects("Pod", first)
		} else {
			start.o = NewObjects("Pod", first)
		}
		start.x = NewTermIndex(start.o, podTermsOf)
		require.Equal(t, before, first, "the slice itself stays as it was")
		clear(first) // nothing keeps it

		all := []version{start}
		for range 150 {
			from := all[len(all)-1]
			if r.IntN(10) == 0 {
				from = all[r.IntN(len(all))]
			}
			list, keep, edits := some(r.IntN(1+names/8)), r.IntN(3) > 0, r.IntN(3) == 0
			if edits {
				list = from.eachOnce(list)
			}
			before := slices.Clone(list)
			next := version{}
			var want, got []Change[*corev1.Pod]
			next.model, want = from.with(list, keep)
			switch {
			case edits:
				next.o, got = from.edited(t, from.o, list, keep), want
			case keep:
				next.o, got = from.o.With(list)
			default:
				next.o, got = from.o.Without(list)
			}
			if len(want) == 0 {
				require.Empty(t, got)
			} else {
				require.Equal(t, want, got)
			}
			require.Equal(t, before, list)
			clear(list)
			require.Equal(t, next.hasNil != from.hasNil || len(next.nameless) != len(from.nameless), next.o.MoreUnnamed(from.o))
			if next.o.base != from.o.base {
				renewed++
				if from.o.renewal.madeFor(next.o) != nil {
					shared++
				}
			}
			next.x, next.values = from.x.With(next.o, got), Follow(from.values, got, valueOf)
			all = append(all, next)
			if r.IntN(5) == 0 {
				check(next) // so that some indexes are arranged late, and some never
			}
		}
		for _, v := range all {
			check(v)
		}
	}
	require.NotZero(t, renewed)
	require.NotZero(t, shared)
}

// However many collections are made of one, close to a new pass or not, two passes are enough for all.
func TestBranchesShareAPass(t *testing.T) {
	const n = 400
	list := make([]*corev1.Pod, n)
	for i := range list {
		list[i] = pod(fmt.Sprint("p", i), "")
	}
	looks := 0
	o := NewObjects("Pod", list)
	x := NewTermIndex(o, func(terms []uint64, _ *corev1.Pod) []uint64 {
		looks++
		return append(terms, 7)
	})
	for changed := range n {
		next, changes := o.With(list[changed : changed+1])
		o, x = next, x.With(next, changes)
		require.Equal(t, n, x.Count(7, 2*n))
		passes := map[*pass[corev1.Pod, *corev1.Pod]]bool{}
		looks = 0
		for b := range 10 {
			branch, of := o, x
			for i := range 5 {
				with := []*corev1.Pod{pod(fmt.Sprint("new", i), "")}
				if i == 0 && b%3 == 2 {
					with = append(with, nil)
				}
				next, changes := branch.With(with)
				branch, of = next, of.With(next, changes)
			}
			require.Equal(t, b%3 == 2, branch.Unnamed("") != nil, "a nil pointer of one is none of the others")
			require.Equal(t, n+5, of.Count(7, 2*n))
			require.Len(t, slices.Collect(of.Find(7)), n+5)
			passes[branch.base] = true
		}
		require.LessOrEqual(t, len(passes), 2, "after %d changes", changed)
		require.Less(t, looks, 3*n, "after %d changes", changed)
	}
}

// Hundreds of objects of one name do not stay in memory for one change.
func TestManyObjectsOfOneNameAreLetGo(t *testing.T) {
	list := []*corev1.Pod{pod("a", "")}
	for range 500 {
		list = append(list, pod("twice", ""))
	}
	o := NewObjects("Pod", list)
	next, _ := o.With([]*corev1.Pod{pod("twice", "")})
	require.NotSame(t, o.base, next.base)
	require.Len(t, next.base.list, 2)
}

// Collections that are made of one do not write to what they share: where they note objects without a name.
func TestNamelessOfBranches(t *testing.T) {
	nameless := func(namespaces ...string) (list []*corev1.Pod) {
		for _, namespace := range namespaces {
			list = append(list, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}})
		}
		return list
	}
	o := NewObjects("Pod", nameless("a", "b", "c"))
	one, _ := o.With(nameless("d"))
	two, _ := o.With(nameless("e"))
	for namespace, want := range map[string][3]bool{"a": {true, true, true}, "d": {false, true, false}, "e": {false, false, true}} {
		require.Equal(t, want, [3]bool{o.Unnamed(namespace) != nil, one.Unnamed(namespace) != nil, two.Unnamed(namespace) != nil}, namespace)
	}
}

func TestChange(t *testing.T) {
	a, b := pod("a", "1"), pod("a", "2")
	for _, tc := range []struct {
		c             Change[*corev1.Pod]
		before, after *corev1.Pod
		ambiguous     bool
	}{
		{c: Change[*corev1.Pod]{After: []*corev1.Pod{a}}, after: a},
		{c: Change[*corev1.Pod]{Before: []*corev1.Pod{a}, After: []*corev1.Pod{b}}, before: a, after: b},
		{c: Change[*corev1.Pod]{Before: []*corev1.Pod{a, b}, After: []*corev1.Pod{b}}, after: b, ambiguous: true},
		{c: Change[*corev1.Pod]{Before: []*corev1.Pod{a}, After: []*corev1.Pod{a, b}}, before: a, ambiguous: true},
	} {
		before, after := tc.c.Only()
		require.Same(t, tc.before, before)
		require.Same(t, tc.after, after)
		require.Equal(t, tc.ambiguous, tc.c.Ambiguous())
	}
}
