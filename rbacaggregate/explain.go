package rbacaggregate

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Contribution is a rule of a ClusterRole and where it comes from.
type Contribution struct {
	Rule rbacv1.PolicyRule
	// From has an entry for each ClusterRole that brings the rule in, that is, in which it is
	// written: its name, or where it comes through others that aggregate, the way, nearest first:
	// "edit ← view ← system:aggregate-to-view". Sorted.
	From []string
	// Paths are the same ways name by name, in the order of From.
	Paths [][]string
}

// arrow joins the names of a way. An API server takes it in a name, hence Paths.
const arrow = " ← "

// Explain returns where each of the rules comes from that [Rules] returns, in that order. Of a
// ClusterRole that comes in by several ways, the shortest is named, and of two as short the one
// through the ClusterRole that is aggregated first. A ClusterRole that does not aggregate has its
// rules from itself. Under MatchUpstream a source is always one that is aggregated directly, since
// the rules that stand in it are what counts.
func Explain(s Snapshot, name string, o Options) ([]Contribution, error) {
	g := newGraph(s, o, &ruleIDs{})
	problems := g.problems
	i, found := g.find(name)
	if !found {
		return nil, problems.Err()
	}
	rules, known := g.intended(i, &problems)
	if !known {
		return nil, problems.Err()
	}
	waysOf := g.waysTo(i)
	contributions := make([]Contribution, len(rules))
	for k, r := range rules {
		c := Contribution{Rule: *r.DeepCopy()}
		ways := waysOf[r.id]
		slices.SortFunc(ways, func(a, b way) int { return strings.Compare(a.text, b.text) })
		for _, w := range ways {
			c.From = append(c.From, w.text)
			c.Paths = append(c.Paths, slices.Clone(w.names))
		}
		contributions[k] = c
	}
	return contributions, problems.Err()
}

// way leads from what a role aggregates down to the role in which a rule is written.
type way struct {
	names []string
	text  string
}

// waysTo returns, for each rule, the ways by which it comes into a role, by breadth first search.
func (g *graph) waysTo(start int) map[ruleID][]way {
	ways := map[ruleID][]way{}
	bring := func(from int, names []string) {
		w := way{names, strings.Join(names, arrow)}
		mentioned := map[ruleID]bool{}
		for _, r := range g.written(from) {
			if !mentioned[r.id] {
				mentioned[r.id] = true
				ways[r.id] = append(ways[r.id], w)
			}
		}
	}
	if !g.roles[start].aggregates() {
		bring(start, []string{g.roles[start].name})
		return ways
	}
	through := map[int][]string{start: nil}
	for queue := []int{start}; len(queue) > 0; queue = queue[1:] {
		for _, source := range g.from(queue[0]).sources {
			if _, again := through[source]; again {
				continue
			}
			names := append(slices.Clone(through[queue[0]]), g.roles[source].name)
			through[source] = names
			if !g.options.MatchUpstream && g.computable(source) {
				queue = append(queue, source)
			} else {
				bring(source, names)
			}
		}
	}
	return ways
}
