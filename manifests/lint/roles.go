package lint

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/purekube/purekube/manifests"
	"github.com/purekube/purekube/rbacaggregate"
)

// roles judges what aggregation makes of the ClusterRoles, beside the ClusterRoles that every cluster has.
func (l *linter) roles() {
	mine, builtin := map[string]*rbacv1.ClusterRole{}, map[string]*rbacv1.ClusterRole{}
	for _, r := range l.set.ClusterRoles {
		if r != nil {
			mine[r.Name] = r
		}
	}
	if len(mine) == 0 {
		return
	}
	for _, r := range manifests.BuiltinClusterRoles() {
		builtin[r.Name] = r
	}
	snapshot := l.set.WithBuiltinClusterRoles().RBACAggregate()
	// the reasons say what is wrong with each
	all, _ := rbacaggregate.NewIndex(snapshot, rbacaggregate.Options{}).ExplainAll()
	granted, positions, own := map[grant][]string{}, map[string]map[string]int{}, l.ownGroups()
	for _, e := range all {
		if role := mine[e.Key.Name]; role != nil {
			l.aggregation(e, role)
		}
		var before []rbacv1.PolicyRule
		if b := builtin[e.Key.Name]; b != nil {
			before = b.Rules
		}
		for _, c := range e.Rules {
			code := dangerOf(c.Rule, before)
			if code == AggregationGrantsWildcard && readsOnly(c.Rule) {
				code = dangerOfReading(c.Rule.APIGroups, own)
			}
			if code == "" {
				continue
			}
			for _, name := range c.From {
				from := name
				if builtin[name] != nil || mine[name] == nil {
					from = e.Key.Name // a role of this chart collects what every cluster has
				}
				if mine[from] != nil {
					if positions[from] == nil {
						positions[from] = positionsOf(mine[from])
					}
					position, found := positions[from][identity(c.Rule)]
					if !found {
						position = -1
					}
					g := grant{code, from, textOf(c.Rule), position}
					granted[g] = append(granted[g], e.Key.Name)
				}
			}
		}
	}
	for g, to := range granted {
		slices.Sort(to)
		to = slices.Compact(to)
		field, says := "rules", "through aggregation, ClusterRole %s gets %s"
		if len(to) > 1 {
			says = "through aggregation, the ClusterRoles %s get %s"
		}
		if g.position >= 0 {
			field = fmt.Sprintf("rules[%d]", g.position)
		}
		if g.code == AggregationGroupUnknown {
			says += ". The CustomResourceDefinitions of its API groups are not all in the input"
		}
		l.find(g.code, rbacaggregate.Key(g.from), field, fmt.Sprintf(says, list(to, 3), g.rule))
	}
}

// grant is a rule that a ClusterRole hands on.
type grant struct {
	code     Code
	from     string
	rule     string
	position int
}

// aggregation judges a ClusterRole that has an aggregationRule.
func (l *linter) aggregation(e rbacaggregate.Explanation, role *rbacv1.ClusterRole) {
	known := true
	for _, r := range e.Reasons {
		switch r.Code {
		case rbacaggregate.ReasonInvalidSelector:
			l.find(SelectorInvalid, e.Key, r.Field,
				"the API server rejects it, and aggregation gives the ClusterRole no rules: "+r.Message)
		case rbacaggregate.ReasonRulesUnknown:
			known = false
		}
	}
	if !known || role.AggregationRule == nil {
		return
	}
	collected := map[string]bool{}
	for _, c := range e.Rules {
		collected[identity(c.Rule)] = true
	}
	for i, rule := range role.Rules {
		if !collected[identity(rule)] {
			l.find(AggregationOverwritesRules, e.Key, fmt.Sprintf("rules[%d]", i),
				"the ClusterRole has an aggregationRule, which replaces its rules, and no selected ClusterRole has this one: "+
					textOf(rule)+". Write the rule into a ClusterRole that is selected")
		}
	}
}

// identity is the same for rules that are semantically equal.
func identity(r rbacv1.PolicyRule) string {
	text, err := json.Marshal([]any{
		append([]string{}, r.Verbs...), append([]string{}, r.APIGroups...), append([]string{}, r.Resources...),
		append([]string{}, r.ResourceNames...), append([]string{}, r.NonResourceURLs...),
	})
	if err != nil {
		return "" // strings always marshal
	}
	return string(text)
}

// positionsOf are the first positions of the rules of a ClusterRole, by their identity.
func positionsOf(role *rbacv1.ClusterRole) map[string]int {
	positions := make(map[string]int, len(role.Rules))
	for i, rule := range role.Rules {
		id := identity(rule)
		if _, found := positions[id]; !found {
			positions[id] = i
		}
	}
	return positions
}

// ownGroups are the API groups whose kinds the input defines with CustomResourceDefinitions.
func (l *linter) ownGroups() map[string]bool {
	own := map[string]bool{}
	for _, r := range l.set.Ignored {
		if r.GroupKind() == customResourceDefinition {
			_, group, _ := strings.Cut(r.Name, ".") // the API server demands that the name is plural.group
			own[group] = true
		}
	}
	delete(own, "")
	return own
}

var customResourceDefinition = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}

// readsOnly reports whether a rule only allows reading objects.
func readsOnly(r rbacv1.PolicyRule) bool {
	for _, verb := range r.Verbs {
		if verb != "get" && verb != "list" && verb != "watch" {
			return false
		}
	}
	return len(r.NonResourceURLs) == 0
}

// dangerOfReading is the code of a rule with a wildcard that only allows reading in these API groups. Whoever defines
// kinds may let everybody read them. An API group without definitions may be of an aggregated API server, in which get
// may do more than read.
func dangerOfReading(groups []string, own map[string]bool) Code {
	var found Code
	for _, group := range groups {
		switch {
		case own[group]:
		case ofKubernetes(group):
			return AggregationGrantsWildcard
		default:
			found = AggregationGroupUnknown
		}
	}
	return found
}

// ofKubernetes reports whether an API group may be of Kubernetes: it has no dot, as "" and "apps", or its name is
// protected (upstream: IsProtectedCommunityGroup in apiextensions-apiserver). So is the wildcard, which has no dot.
func ofKubernetes(group string) bool {
	return !strings.Contains(group, ".") ||
		strings.HasSuffix("."+group, ".k8s.io") || strings.HasSuffix("."+group, ".kubernetes.io")
}

// dangerOf is the code of a dangerous rule, and empty for any other rule. A wildcard is always dangerous. Escalation
// and access to Secrets are dangerous only if the rules before do not allow them.
func dangerOf(r rbacv1.PolicyRule, before []rbacv1.PolicyRule) Code {
	wildcard := func(entry string) bool {
		return entry == rbacv1.VerbAll || entry == "/*" || strings.HasPrefix(entry, "*/")
	}
	if slices.ContainsFunc(slices.Concat(r.Verbs, r.APIGroups, r.Resources, r.NonResourceURLs), wildcard) {
		return AggregationGrantsWildcard
	}
	var found Code
	for _, verb := range r.Verbs {
		escalates := verb == "escalate" || verb == "bind" || strings.HasPrefix(verb, "impersonate")
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				secret := group == "" && resource == "secrets"
				switch {
				case !escalates && !secret, has(before, verb, group, resource):
				case escalates:
					return AggregationGrantsEscalate
				default:
					found = AggregationGrantsSecrets
				}
			}
		}
	}
	return found
}

// has reports whether one of the rules allows this for all names.
func has(rules []rbacv1.PolicyRule, verb, group, resource string) bool {
	return slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool {
		return len(r.ResourceNames) == 0 && slices.Contains(r.Verbs, verb) && slices.Contains(r.APIGroups, group) &&
			slices.Contains(r.Resources, resource)
	})
}

// textOf is the rule in a few words: "get, list of secrets".
func textOf(r rbacv1.PolicyRule) string {
	if len(r.NonResourceURLs) > 0 {
		return fmt.Sprintf("%q on %s", list(r.Verbs, 4), list(r.NonResourceURLs, 3))
	}
	var of []string
	for _, group := range r.APIGroups {
		for _, resource := range r.Resources {
			if group != "" {
				resource += "." + group
			}
			of = append(of, resource)
		}
	}
	return fmt.Sprintf("%q on %s", list(r.Verbs, 4), list(of, 3))
}
