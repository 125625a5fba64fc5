package manifests

import (
	"bytes"
	_ "embed"
	"maps"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/purekube/purekube/rbacaggregate"
)

//go:embed clusterroles.yaml
var builtinClusterRoles []byte

// BuiltinClusterRoles returns the ClusterRoles that every API server creates and that aggregation is about: admin, edit
// and view, with their aggregation rules and the rules that these collect, and the three roles that bring the rules
// (system:aggregate-to-admin, …-edit and …-view). They are the ClusterRoles of Kubernetes 1.36 and 1.37 without alpha
// features. Add them to the ClusterRoles of a chart to see what the chart's labels add to admin. Aggregation has
// nothing to change in them.
//
// cluster-admin and the other roles of the API server are not among them: they aggregate nothing, and nothing
// aggregates them.
//
// Each call returns new objects.
func BuiltinClusterRoles() []*rbacv1.ClusterRole {
	l := loader{set: &Set{}}
	l.read("clusterroles.yaml", bytes.NewReader(builtinClusterRoles))
	roles := l.set.ClusterRoles
	for _, role := range roles {
		if role.AggregationRule != nil {
			// The file has no errors: a test reads it.
			role.Rules, _ = rbacaggregate.NewIndex(rbacaggregate.Snapshot{ClusterRoles: roles},
				rbacaggregate.Options{}).Rules(rbacaggregate.KeyOf(role))
		}
	}
	return roles
}

// WithBuiltinClusterRoles adds to the set each of [BuiltinClusterRoles] whose name no ClusterRole of the set has. It
// returns a new set.
func (s *Set) WithBuiltinClusterRoles() *Set {
	set := *s
	named := map[string]bool{}
	set.ClusterRoles = nil
	for _, role := range s.ClusterRoles {
		set.ClusterRoles = append(set.ClusterRoles, role)
		if role != nil {
			named[role.Name] = true
		}
	}
	for _, role := range BuiltinClusterRoles() {
		if !named[role.Name] {
			set.ClusterRoles = append(set.ClusterRoles, role)
		}
	}
	set.Seen = maps.Clone(s.Seen)
	set.see(ClusterRole)
	return &set
}
