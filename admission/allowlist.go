package admission

import (
	"encoding/binary"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
)

// allowList is the rules that a ClusterRole may have, arranged by what they allow.
//
// A rule allows each combination of its verbs, API groups, resources and names, so a check of every combination
// takes the product of four lists. Most entries are alike, though: the same allowed rules have them. Entries
// that are alike are checked once.
type allowList struct {
	verbs, groups, resources, names, urls entries
	words                                 int
}

// entries are one list of all allowed rules: which of them have an entry.
type entries struct {
	every bits // the rules that allow every entry
	have  map[string]bits
}

// bits is a set of allowed rules.
type bits []uint64

func (b bits) set(i int) { b[i/64] |= 1 << (i % 64) }

func (b bits) empty() bool {
	return !slices.ContainsFunc(b, func(word uint64) bool { return word != 0 })
}

// or works for the set of an entry that no rule has as well.
func (b bits) or(other bits) bits {
	either := slices.Clone(other)
	for i := range b {
		either[i] |= b[i]
	}
	return either
}

func (b bits) and(other bits) bits {
	both := make(bits, len(b))
	for i := range b {
		both[i] = b[i] & other[i]
	}
	return both
}

func (b bits) meets(other bits) bool {
	for i := range b {
		if b[i]&other[i] != 0 {
			return true
		}
	}
	return false
}

func newAllowList(rules []rbacv1.PolicyRule) *allowList {
	a := &allowList{words: (len(rules) + 63) / 64}
	add := func(e *entries, i int, list []string, every bool) {
		if e.have == nil {
			e.have, e.every = map[string]bits{}, make(bits, a.words)
		}
		if every {
			e.every.set(i)
		}
		for _, entry := range list {
			if e.have[entry] == nil {
				e.have[entry] = make(bits, a.words)
			}
			e.have[entry].set(i)
		}
	}
	for i, r := range rules {
		add(&a.verbs, i, r.Verbs, slices.Contains(r.Verbs, rbacv1.VerbAll))
		add(&a.groups, i, r.APIGroups, slices.Contains(r.APIGroups, rbacv1.APIGroupAll))
		add(&a.resources, i, r.Resources, slices.Contains(r.Resources, rbacv1.ResourceAll))
		add(&a.names, i, r.ResourceNames, len(r.ResourceNames) == 0)
		add(&a.urls, i, r.NonResourceURLs, slices.Contains(r.NonResourceURLs, rbacv1.NonResourceAll))
	}
	return a
}

// kinds are the entries of a list that differ in which allowed rules have them, and the rules that have all of them.
type kinds struct {
	distinct []bits
	all      bits
}

func (a *allowList) kinds(e entries, list []string) kinds {
	k := kinds{all: a.allRules()}
	seenEntry, seenKind := map[string]bool{}, map[string]bool{}
	unnamed := false
	var key []byte
	for _, entry := range list {
		have, named := e.have[entry]
		// All entries that no allowed rule names are alike.
		if !named && unnamed || seenEntry[entry] {
			continue
		}
		seenEntry[entry], unnamed = named, unnamed || !named
		have = have.or(e.every)
		k.all = k.all.and(have)
		key = key[:0]
		for _, word := range have {
			key = binary.LittleEndian.AppendUint64(key, word)
		}
		if !seenKind[string(key)] {
			seenKind[string(key)] = true
			k.distinct = append(k.distinct, have)
		}
	}
	return k
}

func (a *allowList) allRules() bits {
	all := make(bits, a.words)
	for i := range all {
		all[i] = ^uint64(0)
	}
	return all
}

// coverage is what an allow-list says of a rule.
type coverage int

const (
	notCovered coverage = iota
	covered
	tooManyCombinations // it would take longer than the size of the rule is worth
)

// combinationsPerEntry bounds the work for a rule by its size.
const combinationsPerEntry = 64

// It reports whether the rules of the list allow every single thing that the rule allows. A wildcard needs a wildcard
// here. Wildcards inside of an entry ("*/scale", "/api/*") are compared as they are written.
func (a *allowList) covers(r rbacv1.PolicyRule) coverage {
	if len(r.Verbs) == 0 {
		return covered // it allows nothing
	}
	entries := len(r.Verbs) + len(r.APIGroups) + len(r.Resources) + len(r.ResourceNames) + len(r.NonResourceURLs)
	check := &combinations{left: combinationsPerEntry * entries}
	verbs := a.kinds(a.verbs, r.Verbs)
	result := covered
	if len(r.NonResourceURLs) > 0 {
		result = check.under(a.allRules(), []kinds{verbs, a.kinds(a.urls, r.NonResourceURLs)})
	}
	if len(r.APIGroups) > 0 && len(r.Resources) > 0 && result == covered {
		names := a.kinds(a.names, r.ResourceNames)
		if len(r.ResourceNames) == 0 { // every name
			names = kinds{distinct: []bits{a.names.every}, all: a.names.every}
		}
		lists := []kinds{verbs, a.kinds(a.groups, r.APIGroups), a.kinds(a.resources, r.Resources), names}
		result = check.under(a.allRules(), lists)
	}
	return result
}

// combinations goes through the combinations of kinds, as many as are left.
type combinations struct{ left int }

// under reports whether each combination of the lists is allowed by one of some rules.
func (c *combinations) under(rules bits, lists []kinds) coverage {
	if len(lists) == 0 {
		return covered // there is a rule, or it would have ended before
	}
	// One rule allows all that is left.
	whole := rules
	for _, l := range lists {
		whole = whole.and(l.all)
	}
	if !whole.empty() {
		return covered
	}
	for _, have := range lists[0].distinct {
		if c.left--; c.left < 0 {
			return tooManyCombinations
		}
		if !rules.meets(have) {
			return notCovered
		}
		if result := c.under(rules.and(have), lists[1:]); result != covered {
			return result
		}
	}
	return covered
}
