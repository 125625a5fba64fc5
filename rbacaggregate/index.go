package rbacaggregate

import (
	"slices"
	"strings"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/persistent"
	"github.com/purekube/purekube/internal/snapshot"
)

// Index is a [Snapshot] arranged for many questions. It never changes: With and Without return another
// one, which shares with it what is the same. So any number of goroutines may ask one Index and derive
// others from it, without a lock, and a simulation can branch.
//
// An Index keeps the ClusterRoles that it was given and never writes to them. They must not change.
//
// Each method returns what the function of its name returns for the ClusterRoles in the Index.
// [Index.Grants] has no such function.
type Index struct {
	options Options
	// problems are nil ClusterRoles and ClusterRoles without a name.
	problems []*purekube.ObjectError
	// base holds the ClusterRoles of one pass over a snapshot.
	base *table
	// changed has the names that changed since, nil for one that was taken away.
	changed *persistent.Map[string, *role]
	// changedLabels are the labels of the roles in changed.
	changedLabels *persistent.Map[labelled, struct{}]
	// aggregated are the roles with an aggregationRule.
	aggregated *persistent.Map[string, *aggregation]
	// ambiguous are the names that more than one ClusterRole has.
	ambiguous *persistent.Map[string, struct{}]
	// selectors find those that may match a role by its labels, and perhaps some that no role has any more.
	selectors *persistent.Selectors[*selector]
	// requests are the roles that have a selector.
	requests *persistent.Map[request, *filedSelector]
}

var _ purekube.Index[*Index, Snapshot, Action] = (*Index)(nil)

// NewIndex returns the Index of the snapshot, in one pass over it.
func NewIndex(s Snapshot, o Options) *Index {
	objects, problems := usable(s.ClusterRoles)
	x := &Index{
		options: o, problems: problems, base: newTable(objects),
		changed:       persistent.NewMap[string, *role](strings.Compare),
		changedLabels: persistent.NewMap[labelled, struct{}](compareLabelled),
	}
	ambiguous := persistent.NewMap[string, struct{}](strings.Compare).Edit()
	for name := range x.base.twins {
		ambiguous.Set(name, struct{}{})
	}
	aggregated := persistent.NewMap[string, *aggregation](strings.Compare).Edit()
	selectors := converter{}
	for _, object := range objects {
		if object.AggregationRule != nil && x.base.twins[object.Name] == nil {
			a := selectors.aggregation(object)
			aggregated.Set(object.Name, a)
		}
	}
	x.ambiguous, x.aggregated = ambiguous.Map(), aggregated.Map()
	x.fileSelectors(selectors)
	return x
}

// fileSelectors makes the selectors that the roles have findable, in one pass over the base.
func (x *Index) fileSelectors(selectors converter) {
	t := &x.base.labels
	t.expect(selectors)
	requests := persistent.NewMap[request, *filedSelector](compareRequests).Edit()
	for name, a := range x.aggregated.All() {
		for text := range a.byText() {
			requests.Set(request{text, name}, t.filed[text])
		}
	}
	x.selectors, x.requests = t.selectors, requests.Map()
}

// Err returns what is wrong with the ClusterRoles in the Index as a whole: nil ones, those without a
// name, and names that more than one of them has.
func (x *Index) Err() error {
	if err := x.options.err(); err != nil {
		return err
	}
	problems := x.newProblems()
	for name := range x.ambiguous.All() {
		problems.Add(duplicateError(name))
	}
	return problems.Err()
}

// newProblems begins with those of the Index as a whole.
func (x *Index) newProblems() *snapshot.Problems {
	problems := &snapshot.Problems{}
	for _, e := range x.problems {
		problems.Add(copyError(e))
	}
	return problems
}

// copyError keeps two results from sharing an error.
func copyError(e *purekube.ObjectError) *purekube.ObjectError {
	c := *e
	return &c
}

// lookup returns the role of a key.
func (x *Index) lookup(key purekube.Key) (role, bool) {
	if key != Key(key.Name) {
		return role{}, false
	}
	return x.find(key.Name)
}

// find returns the role of a name.
func (x *Index) find(name string) (role, bool) {
	if x.changed.Len() > 0 {
		if r, changed := x.changed.Get(name); changed {
			if r == nil {
				return role{}, false
			}
			return *r, true
		}
	}
	return x.base.find(name)
}

// replaced reports whether what the base has of a name does not count any more.
func (x *Index) replaced(name string) bool {
	if x.changed.Len() == 0 {
		return false
	}
	_, replaced := x.changed.Get(name)
	return replaced
}

// each calls f for every role, in no particular order.
func (x *Index) each(f func(role)) {
	for _, r := range x.changed.All() {
		if r != nil {
			f(*r)
		}
	}
	x.base.each(func(r role) {
		if !x.replaced(r.name) {
			f(r)
		}
	})
}

// matched returns the roles that a selector matches, sorted by name. changed may be nil.
func (x *Index) matched(s *selector, changed changedRoles) []role {
	var found []role
	consider := func(r role) {
		if r.matchedBy(s) {
			found = append(found, r)
		}
	}
	if len(s.demands) > 0 {
		for _, positions := range x.base.labels.candidates(s) {
			for _, position := range positions {
				if r := x.base.at(position); !x.replaced(r.name) {
					consider(r)
				}
			}
		}
		if changed == nil {
			x.changedWith(s, consider)
		}
		for _, r := range changed[s.text] {
			consider(r)
		}
	} else {
		x.each(consider)
	}
	slices.SortFunc(found, func(a, b role) int { return strings.Compare(a.name, b.name) })
	// A role comes twice if two ClusterRoles of its name have a label.
	return slices.CompactFunc(found, func(a, b role) bool { return a.name == b.name })
}

// changedRoles are the changed roles that may match a selector, by its text.
type changedRoles map[string][]role

// changedRoles are those of all selectors, which costs less for all of them than changedWith for each.
func (x *Index) changedRoles() changedRoles {
	found := changedRoles{}
	var scratch []*filedSelector
	for _, r := range x.changed.All() {
		if r == nil {
			continue
		}
		r.labels(func(set map[string]string) {
			scratch = x.selectors.Append(scratch[:0], "", set)
			for _, filed := range scratch {
				found[filed.Value.text] = append(found[filed.Value.text], *r)
			}
		})
	}
	return found
}

// changedWith calls f for the changed roles that have what the selector demands of one label, which is one that few
// of them have.
func (x *Index) changedWith(s *selector, f func(role)) {
	if x.changedLabels.Len() == 0 {
		return
	}
	const enough = 16
	var rarest []label
	fewest := enough + 1
	for _, d := range s.demands {
		labels, have := labelsOf(d), 0
		for _, l := range labels {
			for at := range x.changedLabels.From(labelled{label: l}) {
				if at.label != l || have == enough {
					break
				}
				have++
			}
		}
		if have < fewest {
			rarest, fewest = labels, have
		}
	}
	for _, l := range rarest {
		for at := range x.changedLabels.From(labelled{label: l}) {
			if at.label != l {
				break
			}
			if r, ok := x.find(at.name); ok {
				f(r)
			}
		}
	}
}

// aggregators calls f for each role that has a selector which matches r, perhaps several times, and
// for r itself if one of its own does. Selectors of a text that is in done are left out; those that match
// are added to it. A nil done leaves out none.
func (x *Index) aggregators(r role, done map[string]bool, f func(name string)) {
	r.labels(func(set map[string]string) {
		var scratch [8]*filedSelector
		for _, filed := range x.selectors.Append(scratch[:0], "", set) {
			text := filed.Value.text
			if done[text] || !filed.Value.matches(set) {
				continue
			}
			for at, is := range x.requests.From(request{text: text}) {
				if at.text != text || is != filed {
					break
				}
				if done != nil {
					done[text] = true
				}
				f(at.role)
			}
		}
	})
}
