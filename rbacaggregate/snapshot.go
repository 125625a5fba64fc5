package rbacaggregate

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// Snapshot is what a plan is made from. Nothing in it is written to. Aggregation depends on nothing else: not on
// bindings, not on Roles of namespaces, not on the time.
type Snapshot struct {
	// ClusterRoles are all ClusterRoles of the cluster, in any order, whether they aggregate others or not.
	ClusterRoles []*rbacv1.ClusterRole
}

// Options change how a plan is made. The zero value asks for the default decisions.
type Options struct {
	// MatchUpstream asks for the requests that kube-controller-manager of that release would send, its defects
	// included: the differences that the package comment lists do not apply. The zero value asks for the default
	// decisions. All releases decide alike here.
	MatchUpstream purekube.Upstream
}

// matchUpstream reports whether the divergences do not apply. A release that the package does not know is an error
// before this is asked.
func (o Options) matchUpstream() bool { return o.MatchUpstream != "" }

// err is what is wrong with the options: every answer says so, and nothing else.
func (o Options) err() error { return snapshot.CheckUpstream(o.MatchUpstream) }

// kindClusterRole is the only kind that the package plans, and the kind of all its keys and errors.
const kindClusterRole = "ClusterRole"

// Key returns the key of the ClusterRole of this name. A key of another kind, or with a namespace, names no
// ClusterRole.
func Key(name string) purekube.Key { return purekube.Key{Kind: kindClusterRole, Name: name} }

// KeyOf returns the key of a ClusterRole. It returns the zero key for nil.
func KeyOf(role *rbacv1.ClusterRole) purekube.Key {
	if role == nil {
		return purekube.Key{}
	}
	return Key(role.Name)
}
