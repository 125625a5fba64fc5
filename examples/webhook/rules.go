package main

import (
	"errors"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// readProtected reads the file of -protect: a map from the names of ClusterRoles to lists of rules.
func readProtected(text []byte) (map[string][]rbacv1.PolicyRule, error) {
	rules := map[string][]rbacv1.PolicyRule{}
	if err := yaml.UnmarshalStrict(text, &rules); err != nil {
		return nil, err
	}
	if len(rules) == 0 {
		return nil, errors.New("no ClusterRole in it")
	}
	return rules, nil
}
