package main

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/purekube/purekube/rbacaggregate"
)

// roleGraph is the aggregation of ClusterRoles: the aggregating ClusterRoles and their sources.
type roleGraph struct {
	// nodes are sorted by name.
	nodes []roleNode
	// edges are sorted by the ClusterRole that receives the rules, then by the ClusterRole that brings them.
	edges []roleEdge
}

// roleNode is one ClusterRole.
type roleNode struct {
	name       string
	aggregated bool
	// changes: the plan writes its rules.
	changes bool
	// wrong: its plan ended with an error.
	wrong bool
}

// roleEdge says what one ClusterRole brings to another that aggregates it directly.
type roleEdge struct {
	// from and to are positions in the nodes: rules go from one to the other.
	from, to int
	rules    []broughtRule
}

// broughtRule is a rule as text. Fresh: the receiving ClusterRole does not have it in the input.
type broughtRule struct {
	text  string
	fresh bool
}

// fresh counts the rules that the receiver lacks in the input.
func (e roleEdge) fresh() int {
	n := 0
	for _, r := range e.rules {
		if r.fresh {
			n++
		}
	}
	return n
}

// newRoleGraph asks the core for the sources of each aggregated ClusterRole.
func newRoleGraph(c *cluster, set settings) roleGraph {
	snapshot := rbacaggregate.Snapshot{ClusterRoles: c.ClusterRoles}
	index := rbacaggregate.NewIndex(snapshot, rbacaggregate.Options{MatchUpstream: set.matchUpstream})
	stored := map[string][]rbacv1.PolicyRule{}
	explained := map[string]rbacaggregate.Explanation{}
	nodes := map[string]roleNode{}
	for _, role := range c.ClusterRoles {
		stored[role.Name] = role.Rules
	}
	for _, role := range c.ClusterRoles {
		if role.AggregationRule == nil {
			continue
		}
		// What is wrong is among the problems of the report.
		e, _ := index.Explain(rbacaggregate.KeyOf(role))
		result, err := index.Plan(rbacaggregate.KeyOf(role))
		explained[role.Name] = e
		nodes[role.Name] = roleNode{name: role.Name, aggregated: true, changes: len(result.Actions) > 0, wrong: err != nil}
		for _, s := range e.Sources {
			if _, known := nodes[s.Name]; !known {
				nodes[s.Name] = roleNode{name: s.Name}
			}
		}
	}

	var g roleGraph
	position := map[string]int{}
	for _, name := range sortedNames(nodes) {
		position[name] = len(g.nodes)
		g.nodes = append(g.nodes, nodes[name])
	}
	for to, node := range g.nodes {
		e := explained[node.name]
		sources := slices.Clone(e.Sources)
		slices.SortFunc(sources, func(a, b rbacaggregate.Source) int { return position[a.Name] - position[b.Name] })
		for _, s := range sources {
			if s.Via != node.name {
				continue // it comes through another source, which has the edge
			}
			rules := stored[s.Name]
			if s.Aggregates {
				rules = nil
				for _, c := range explained[s.Name].Rules {
					rules = append(rules, c.Rule)
				}
			}
			g.edges = append(g.edges, roleEdge{from: position[s.Name], to: to, rules: brought(rules, stored[node.name])})
		}
	}
	return g
}

// brought are the rules, each once, and whether the receiver holds them.
func brought(rules, held []rbacv1.PolicyRule) []broughtRule {
	has := map[string]bool{}
	for _, r := range held {
		has[ruleKey(r)] = true
	}
	seen := map[string]bool{}
	var list []broughtRule
	for _, r := range rules {
		key := ruleKey(r)
		if !seen[key] {
			seen[key] = true
			list = append(list, broughtRule{ruleText(r), !has[key]})
		}
	}
	return list
}
