package main

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/purekube/purekube"
)

// readProtected reads the file of -protect: a map from the names of ClusterRoles to lists of rules.
func readProtected(text []byte) (map[string]*allowList, error) {
	rules := map[string][]rbacv1.PolicyRule{}
	if err := yaml.UnmarshalStrict(text, &rules); err != nil {
		return nil, err
	}
	if len(rules) == 0 {
		return nil, errors.New("no ClusterRole in it")
	}
	protected := map[string]*allowList{}
	for name, list := range rules {
		protected[name] = newAllowList(list)
	}
	return protected, nil
}

// maxText is the length of a message.
const maxText = 2000

// cut returns no more of a text than n bytes.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
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
