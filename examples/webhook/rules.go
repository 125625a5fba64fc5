package main

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/purekube/purekube"
)

// readProtected reads the file of -protect: a map from the names of ClusterRoles to lists of rules.
func readProtected(text []byte) (map[string][]rbacv1.PolicyRule, error) {
	protected := map[string][]rbacv1.PolicyRule{}
	if err := yaml.UnmarshalStrict(text, &protected); err != nil {
		return nil, err
	}
	if len(protected) == 0 {
		return nil, errors.New("no ClusterRole in it")
	}
	return protected, nil
}

// covered reports whether each single thing that the rule allows is allowed by one of the others.
func covered(by []rbacv1.PolicyRule, rule rbacv1.PolicyRule) bool {
	for single := range singles(rule) {
		if !slices.ContainsFunc(by, func(b rbacv1.PolicyRule) bool { return covers(b, single) }) {
			return false
		}
	}
	return true
}

// singles are rules with one verb for one resource, or one URL, that together are the rule.
func singles(rule rbacv1.PolicyRule) iter.Seq[rbacv1.PolicyRule] {
	return func(yield func(rbacv1.PolicyRule) bool) {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""} // every name
		}
		for _, verb := range rule.Verbs {
			for _, url := range rule.NonResourceURLs {
				if !yield(rbacv1.PolicyRule{Verbs: []string{verb}, NonResourceURLs: []string{url}}) {
					return
				}
			}
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, name := range names {
						if !yield(rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{group}, Resources: []string{resource}, ResourceNames: []string{name}}) {
							return
						}
					}
				}
			}
		}
	}
}

// covers reports whether a rule allows the single thing that another one does. A wildcard of the other one needs a
// wildcard here; wildcards inside of a name ("*/scale", "/api/*") count as names.
func covers(b, single rbacv1.PolicyRule) bool {
	has := func(list, one []string) bool {
		return slices.Contains(list, "*") || slices.Contains(list, one[0])
	}
	if !has(b.Verbs, single.Verbs) {
		return false
	}
	if len(single.NonResourceURLs) > 0 {
		return has(b.NonResourceURLs, single.NonResourceURLs)
	}
	return has(b.APIGroups, single.APIGroups) && has(b.Resources, single.Resources) &&
		(len(b.ResourceNames) == 0 || slices.Contains(b.ResourceNames, single.ResourceNames[0]))
}

func ruleText(r rbacv1.PolicyRule) string {
	if len(r.NonResourceURLs) > 0 {
		return fmt.Sprintf("%q on %q", r.Verbs, r.NonResourceURLs)
	}
	text := fmt.Sprintf("%q on %q of %q", r.Verbs, r.Resources, r.APIGroups)
	if len(r.ResourceNames) > 0 {
		text += fmt.Sprintf(" named %q", r.ResourceNames)
	}
	return text
}

func keysOf[V any](m map[string]V) iter.Seq[string] { return maps.Keys(m) }

func notFound(err error) bool { return errors.Is(err, purekube.ErrNotFound) }
