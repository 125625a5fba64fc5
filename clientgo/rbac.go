package clientgo

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/rbacaggregate"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/servicecidr"
	"github.com/purekube/purekube/ttl"
)

// rights are what a controller asks of the API server: one action of each kind, and what no action says.
type rights struct {
	actions []purekube.Action
	// others are the resources that informers and lookups read, and what the API server wants on top of a verb.
	others []rbacv1.PolicyRule
}

var needed = map[string]rights{
	"servicecidr": {
		[]purekube.Action{servicecidr.AddFinalizer{}, servicecidr.RemoveFinalizer{}, servicecidr.SetCondition{}},
		[]rbacv1.PolicyRule{watches("networking.k8s.io", "ipaddresses", "servicecidrs")},
	},
	"resourceclaim": {
		[]purekube.Action{resourceclaim.CreateClaim{}, resourceclaim.DeleteClaim{}, resourceclaim.Release{},
			resourceclaim.RemoveFinalizer{},
			resourceclaim.Reserve{}, resourceclaim.SetClaimStatuses{}},
		[]rbacv1.PolicyRule{
			watches("", "pods"), watches("resource.k8s.io", "resourceclaims", "resourceclaimtemplates"),
			rule("", "pods", "get"), rule("resource.k8s.io", "resourceclaims", "get"), // lookups
			rule("resource.k8s.io", "resourceclaimtemplates", "get"), // as they are, before a claim is created
			// From Kubernetes v1.36 on, whoever writes status.allocation and status.reservedFor of a claim needs this.
			rule("resource.k8s.io", "resourceclaims/binding", "patch"),
		},
	},
	"ttl": {[]purekube.Action{ttl.SetTTL{}}, []rbacv1.PolicyRule{watches("", "nodes")}},
	"rbacaggregate": {
		[]purekube.Action{rbacaggregate.SetRules{}},
		[]rbacv1.PolicyRule{
			watches("rbac.authorization.k8s.io", "clusterroles"),
			// It grants what it may not do itself.
			rule("rbac.authorization.k8s.io", "clusterroles", "escalate"),
		},
	},
	"disruption": {
		[]purekube.Action{disruption.ClearDisruptionTarget{}, disruption.UpdateStatus{}},
		[]rbacv1.PolicyRule{
			watches("policy", "poddisruptionbudgets"), watches("", "pods", "replicationcontrollers"),
			watches("apps", "deployments", "replicasets", "statefulsets"),
			rule("apps", "replicasets", "get"), rule("*", "*/scale", "get"), // lookups: the scale of whatever controls a pod
		},
	},
}

// events are what a recorder of client-go writes.
var events = []rbacv1.PolicyRule{rule("", "events", "create", "patch", "update"),
	rule("events.k8s.io", "events", "create", "patch", "update")}

func watches(group string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: []string{"list", "watch"}, APIGroups: []string{group}, Resources: resources}
}

func rule(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: verbs, APIGroups: []string{group}, Resources: []string{resource}}
}

// PolicyRules returns the rules of a ClusterRole that lets the controllers of these names do what they have to, events
// included: one rule for each resource, sorted. A Lease needs create, get and update of leases in its namespace
// besides. With DryRun the verbs get, list and watch are enough.
func PolicyRules(names ...string) ([]rbacv1.PolicyRule, error) {
	type resource struct{ group, name string }
	verbs := map[resource]map[string]bool{}
	allow := func(verb, group, name string) {
		r := resource{group, name}
		if verbs[r] == nil {
			verbs[r] = map[string]bool{}
		}
		verbs[r][verb] = true
	}
	for _, name := range names {
		n, known := needed[name]
		if !known {
			return nil, fmt.Errorf("unknown controller %q: known are %s", name, strings.Join(Names(), ", "))
		}
		for _, a := range n.actions {
			r := a.Request(nil)
			written := r.Resource.Resource
			if r.Subresource != "" {
				written += "/" + r.Subresource
			}
			allow(r.Verb, r.Resource.Group, written)
		}
		for _, other := range slices.Concat(n.others, events) {
			for _, name := range other.Resources {
				for _, verb := range other.Verbs {
					allow(verb, other.APIGroups[0], name)
				}
			}
		}
	}
	var rules []rbacv1.PolicyRule
	for r, v := range verbs {
		rules = append(rules, rule(r.group, r.name, slices.Sorted(maps.Keys(v))...))
	}
	slices.SortFunc(rules, func(a, b rbacv1.PolicyRule) int {
		return cmp.Or(strings.Compare(a.APIGroups[0], b.APIGroups[0]), strings.Compare(a.Resources[0], b.Resources[0]))
	})
	return rules, nil
}
