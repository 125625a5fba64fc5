package rbacaggregate

import (
	"slices"

	"github.com/purekube/purekube"
)

// component is a role that aggregates, or several that do so in a cycle: each of them
// aggregates each other, directly or through the others (a strongly connected component).
type component struct {
	// rules of each member, in full.
	rules map[int][]rule
	// problems that they rest on: those of the roles that they aggregate, through all levels.
	problems []*purekube.ObjectError
}

// components finds the components of a graph, sources first (Tarjan's algorithm), and computes each
// when it is complete: the least fixed point of D-11 in one pass over roles, edges and rules.
type components struct {
	done    map[int]*component
	visited map[int]int // in this order, from 1 on
	lowest  map[int]int
	open    []int
}

// of returns the component of a computable role.
func (c *components) of(g *graph, i int) *component {
	if c.done == nil {
		c.done, c.visited, c.lowest = map[int]*component{}, map[int]int{}, map[int]int{}
	}
	if c.done[i] == nil {
		c.visit(g, i)
	}
	return c.done[i]
}

func (c *components) visit(g *graph, i int) {
	order := len(c.visited) + 1
	c.visited[i], c.lowest[i] = order, order
	c.open = append(c.open, i)
	for _, source := range g.from(i).sources {
		switch {
		case !g.computable(source) || c.done[source] != nil:
		case c.visited[source] == 0:
			c.visit(g, source)
			c.lowest[i] = min(c.lowest[i], c.lowest[source])
		default:
			c.lowest[i] = min(c.lowest[i], c.visited[source])
		}
	}
	if c.lowest[i] < order {
		return
	}
	// From the end: what is open before it are the roles that led here, perhaps many.
	first := len(c.open) - 1
	for c.open[first] != i {
		first--
	}
	members := slices.Clone(c.open[first:])
	c.open = c.open[:first]
	slices.Sort(members)
	c.complete(g, members)
}

// complete computes a component, all sources of which are known but those inside it.
//
// Every member of a cycle comes to the same set of rules: all that enter the cycle anywhere. Their
// order is made such that each member's list is what BR-27-02 … BR-27-04 make of its sources' lists, so that
// upstream finds nothing to change in it: a member's list begins with what it aggregates from
// outside before it comes to its first source inside, goes on with the same of that source, and so on
// once round; then comes whatever is left, in the members' order.
func (c *components) complete(g *graph, members []int) {
	inside := &component{rules: make(map[int][]rule, len(members))}
	for _, m := range members {
		c.done[m] = inside
	}
	var entering union
	var problems problemSet
	for _, m := range members {
		for _, source := range g.from(m).sources {
			if c.done[source] == inside {
				continue
			}
			entering.add(g.brings(source))
			problems.add(c.problemsOf(g, source))
		}
	}
	inside.problems = problems.found
	if len(members) == 1 {
		inside.rules[members[0]] = entering.rules
		return
	}
	for _, m := range members {
		var u union
		round := map[int]bool{}
		for at := m; !round[at]; {
			round[at] = true
			for _, source := range g.from(at).sources {
				if c.done[source] == inside {
					at = source
					break
				}
				u.add(g.brings(source))
			}
		}
		u.add(entering.rules)
		inside.rules[m] = u.rules
	}
}

// problemsOf returns what is wrong with a source outside of the component that is being computed,
// and with what that source rests on.
func (c *components) problemsOf(g *graph, source int) []*purekube.ObjectError {
	if known := c.done[source]; known != nil {
		return known.problems
	}
	return g.from(source).problems
}

// problemSet collects problems, each once however many ways lead to it.
type problemSet struct {
	seen  map[[2]string]bool
	found []*purekube.ObjectError
}

func (p *problemSet) add(problems []*purekube.ObjectError) {
	for _, e := range problems {
		// A field of a ClusterRole has one problem at most.
		at := [2]string{e.Name, e.Field}
		if p.seen[at] {
			continue
		}
		if p.seen == nil {
			p.seen = map[[2]string]bool{}
		}
		p.seen[at] = true
		p.found = append(p.found, e)
	}
}
