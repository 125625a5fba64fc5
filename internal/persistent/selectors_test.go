package persistent

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

type filed = Filed[int]

// meets reports whether labels have what a selector demands.
func meets(f *filed, labels map[string]string) bool {
	for _, d := range f.Demands {
		v, has := labels[d.Key]
		if !has || len(d.Values) > 0 && !slices.Contains(d.Values, v) {
			return false
		}
	}
	return true
}

// selectorWorld draws selectors and labels of few keys and values, so that many selectors are in each place.
type selectorWorld struct {
	*rand.Rand
	keys, values int
}

func (w selectorWorld) scope() string { return fmt.Sprint("scope-", w.IntN(2)) }
func (w selectorWorld) key() string   { return fmt.Sprint("key-", w.IntN(w.keys)) }
func (w selectorWorld) value() string { return fmt.Sprint("value-", w.IntN(w.values)) }

func (w selectorWorld) labels() map[string]string {
	labels := map[string]string{}
	for range w.IntN(2 * w.keys) {
		labels[w.key()] = w.value()
	}
	return labels
}

func (w selectorWorld) selector(name int) *filed {
	f := &filed{Scope: w.scope(), Name: fmt.Sprint(name), Value: name}
	for range w.IntN(w.keys + 1) {
		d := Demand{Key: w.key()}
		for range w.IntN(5) {
			if v := w.value(); !slices.Contains(d.Values, v) {
				d.Values = append(d.Values, v)
			}
		}
		if w.IntN(2) == 0 {
			d.Values = d.Values[:min(1, len(d.Values))]
		}
		f.Demands = append(f.Demands, d)
	}
	return f
}

// finds holds what is found to what is there: each selector whose demands are met is found, each once, and few
// others are.
func (w selectorWorld) finds(t *testing.T, append func(found []*filed, scope string, labels map[string]string) []*filed, there map[*filed]bool) {
	t.Helper()
	for range 5 {
		scope, labels := w.scope(), w.labels()
		found := map[*filed]bool{}
		for _, f := range append(nil, scope, labels) {
			require.False(t, found[f], "%v is found twice", f)
			require.Equal(t, scope, f.Scope)
			found[f] = true
		}
		for f := range there {
			require.True(t, found[f] || f.Scope != scope || !meets(f, labels), "%v is not found for %v", f.Demands, labels)
		}
	}
}

// Selectors find those that match, whatever was put and deleted since the list, in what order, and on whatever branch.
func TestSelectorsFindThoseThatMatch(t *testing.T) {
	for seed := range uint64(15) {
		w := selectorWorld{rand.New(rand.NewPCG(seed, 46)), 1 + int(seed%5), 1 + int(seed%3)}
		type version struct {
			x     *Selectors[int]
			there map[*filed]bool
		}
		first := version{there: map[*filed]bool{}}
		var list []*filed
		for i := range w.IntN(100) {
			f := w.selector(i)
			list = append(list, f)
			first.there[f] = true
		}
		first.x = NewSelectors(list)
		w.finds(t, first.x.Append, first.there)
		versions := []version{first}
		name := len(list)
		for range 15 {
			from := versions[w.IntN(len(versions))]
			next := version{there: map[*filed]bool{}}
			e := from.x.Edit()
			for f := range from.there {
				if w.IntN(4) == 0 {
					e.Delete(f)
				} else {
					next.there[f] = true
				}
			}
			for range w.IntN(40) {
				name++
				f := w.selector(name)
				e.Put(f)
				next.there[f] = true
			}
			w.finds(t, e.Append, next.there)
			next.x = e.Selectors()
			versions = append(versions, next)
		}
		for _, v := range versions {
			w.finds(t, v.x.Append, v.there)
		}
	}
}

// An object that a selector matches has a term of each of its alternatives. One that was in the list has one list of
// them, which tells more than its rarest label.
func TestSelectorsAlternatives(t *testing.T) {
	met := 0
	for seed := range uint64(20) {
		w := selectorWorld{rand.New(rand.NewPCG(seed, 47)), 1 + int(seed%5), 1 + int(seed%3)}
		var all []*filed
		for i := range 60 {
			all = append(all, w.selector(i))
		}
		first := NewSelectors(all[:40])
		e := first.Edit()
		for _, f := range all[40:] {
			e.Put(f)
		}
		x := e.Selectors()
		for range 40 {
			scope, labels := w.scope(), w.labels()
			terms := first.AppendTerms(nil, scope, labels)
			require.ElementsMatch(t, terms, x.AppendTerms(nil, scope, labels), "those of the list")
			for i, f := range all {
				lists := x.Alternatives(f)
				switch {
				case len(f.Demands) == 0:
					require.Empty(t, lists)
				case i < 40:
					require.Len(t, lists, 1)
				default:
					require.Len(t, lists, len(f.Demands))
				}
				if f.Scope != scope || !meets(f, labels) {
					continue
				}
				for _, list := range lists {
					met++
					require.True(t, slices.ContainsFunc(list, func(term uint64) bool { return slices.Contains(terms, term) }), "%v and %v", f.Demands, labels)
				}
			}
		}
	}
	require.Greater(t, met, 1000)
}

// conjunctions are the selectors that demand the same keys, each with one of two values: one for each combination.
func conjunctions(keys int) []*filed {
	list := make([]*filed, 1<<keys)
	for i := range list {
		list[i] = &filed{Name: fmt.Sprint(i), Value: i}
		for k, v := range combination(keys, i) {
			list[i].Demands = append(list[i].Demands, Demand{Key: k, Values: []string{v}})
		}
	}
	return list
}

func combination(keys, i int) map[string]string {
	labels := map[string]string{}
	for k := range keys {
		labels[fmt.Sprint("key-", k)] = fmt.Sprint(i >> k & 1)
	}
	return labels
}

// Where selectors demand the same keys, an object finds few of them, however many there are: those of the list, and
// those that were put later.
func TestSelectorsOfTheSameKeysAreToldApart(t *testing.T) {
	for _, keys := range []int{6, 10} {
		list := conjunctions(keys)
		x := NewSelectors(list)
		e := NewSelectors[int](nil).Edit()
		for _, f := range conjunctions(keys) {
			e.Put(f)
		}
		later := e.Selectors()
		for i := range list {
			labels := combination(keys, i)
			require.LessOrEqual(t, len(x.Append(nil, "", labels)), crowd)
			// The first ones stay where they are, under each of the labels and on each level.
			require.LessOrEqual(t, len(later.Append(nil, "", labels)), 2*(keys+1)*(crowd+1))
			require.LessOrEqual(t, len(x.AppendTerms(nil, "", labels)), 3*keys)
		}
		require.True(t, later.Stale())
		require.False(t, x.Stale())
	}
}

// Selectors that were deleted leave nothing among those that were put later.
func TestSelectorsLetGo(t *testing.T) {
	list := conjunctions(7)
	x := NewSelectors[int](nil)
	e := x.Edit()
	for _, f := range list {
		e.Put(f)
	}
	x = e.Selectors()
	require.Greater(t, x.later.Len(), len(list))
	e = x.Edit()
	for _, f := range list {
		e.Delete(f)
	}
	require.Zero(t, e.Selectors().later.Len())
}
