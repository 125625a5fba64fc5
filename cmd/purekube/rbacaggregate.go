package main

import (
	stdjson "encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/message"
	"github.com/purekube/purekube/rbacaggregate"
)

func planRBACAggregate(c *cluster, set settings) section {
	index := rbacaggregate.NewIndex(rbacaggregate.Snapshot{ClusterRoles: c.ClusterRoles},
		rbacaggregate.Options{MatchUpstream: set.matchUpstream})
	planned, err := index.PlanAll()
	outcomes := map[string]rbacaggregate.Outcome{}
	for _, o := range planned {
		outcomes[o.Key.Name] = o
	}

	roles := map[string]*rbacv1.ClusterRole{}
	names := slices.Collect(maps.Keys(outcomes))
	aggregated := 0
	for _, role := range c.ClusterRoles {
		roles[role.Name] = role
		if role.AggregationRule != nil {
			aggregated++
			names = append(names, role.Name)
		}
	}
	slices.Sort(names)

	s := section{
		Headline: fmt.Sprintf("%s, %d of them aggregated", message.Count(len(c.ClusterRoles), "ClusterRole"), aggregated),
		Err:      err,
	}
	for _, name := range slices.Compact(names) {
		o := outcomes[name]
		var explanation rbacaggregate.Explanation
		if set.explain || len(o.Result.Actions) > 0 {
			// Its error is the outcome's.
			explanation, _ = index.Explain(rbacaggregate.Key(name))
		}
		f := findingOf(purekube.Key{Kind: "ClusterRole", Name: name}, o.Result, o.Err,
			func(a rbacaggregate.Action) (more, why string) {
				if set, ok := a.(rbacaggregate.SetRules); ok {
					return describeRules(roles[name].Rules, set.Rules, explanation.Rules)
				}
				return "", ""
			})
		f.Reasons = reasonsOf(explanation.Reasons)
		if set.explain {
			f.Explanation, f.Explained = explainRules(explanation), explanation
		}
		s.Findings = append(s.Findings, f)
	}
	return s
}

// describeRules says how many rules come and go, and who brings the new ones.
func describeRules(from, to []rbacv1.PolicyRule, contributions []rbacaggregate.Contribution) (more, why string) {
	has, wants := map[string]bool{}, map[string]bool{}
	for _, r := range from {
		has[ruleKey(r)] = true
	}
	for _, r := range to {
		wants[ruleKey(r)] = true
	}
	added, removed := 0, 0
	for key := range wants {
		if !has[key] {
			added++
		}
	}
	for key := range has {
		if !wants[key] {
			removed++
		}
	}
	var bringers []string
	for _, c := range contributions {
		if !has[ruleKey(c.Rule)] {
			bringers = append(bringers, c.From...)
		}
	}
	slices.Sort(bringers)
	bringers = slices.Compact(bringers)

	var reasons []string
	if added > 0 {
		more += fmt.Sprintf(", +%d", added)
		reasons = append(reasons, fmt.Sprintf("%s from %s", message.Count(added, "rule"), list(bringers, 4)))
	}
	if removed > 0 {
		more += fmt.Sprintf(", -%d", removed)
		reasons = append(reasons, fmt.Sprintf("%d not in any ClusterRole that it aggregates", removed))
	}
	if added+removed == 0 {
		more = ", reordered"
		reasons = append(reasons, "the same rules, in the order of the aggregated ClusterRoles")
	}
	return more, strings.Join(reasons, "; ")
}

// ruleKey is the same for rules that are semantically equal: nil and empty lists are.
func ruleKey(r rbacv1.PolicyRule) string {
	if len(r.Verbs) == 0 {
		r.Verbs = nil // the one list that is not left out when it is empty
	}
	key, err := stdjson.Marshal(r)
	if err != nil {
		return fmt.Sprint(r) // lists of strings always marshal
	}
	return string(key)
}

// explainRules says for each rule where it comes from.
func explainRules(e rbacaggregate.Explanation) []string {
	var lines []string
	for _, c := range e.Rules {
		lines = append(lines, ruleText(c.Rule))
		for _, from := range c.From {
			way := e.Path(from)
			if way == nil {
				way = []string{from} // its own rule
			}
			lines = append(lines, "  from "+strings.Join(way, " ← "))
		}
	}
	return lines
}

// ruleText is "get, list: pods, pods/log in core" or "get: /healthz".
func ruleText(r rbacv1.PolicyRule) string {
	var on []string
	if len(r.Resources) > 0 {
		groups := slices.Clone(r.APIGroups)
		for i, g := range groups {
			if g == "" {
				groups[i] = "core"
			}
		}
		on = append(on, strings.Join(r.Resources, ", ")+" in "+strings.Join(groups, ", "))
	}
	if len(r.NonResourceURLs) > 0 {
		on = append(on, strings.Join(r.NonResourceURLs, ", "))
	}
	text := strings.Join(r.Verbs, ", ") + ": " + strings.Join(on, " and ")
	if len(r.ResourceNames) > 0 {
		text += " named " + strings.Join(r.ResourceNames, ", ")
	}
	return text
}
