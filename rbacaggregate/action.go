package rbacaggregate

import (
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// FieldManager is the name under which the rules are applied (BR-27-06).
const FieldManager = "clusterrole-aggregation-controller"

// Action is one write that a plan asks for. Its only member is [SetRules].
//
//sumtype:decl
type Action interface {
	purekube.Action
	isAction()
}

var _ Action = SetRules{}

// SetRules sets the rules of a ClusterRole that aggregates others, all of them.
type SetRules struct {
	// Name of the ClusterRole, and its UID as the plan saw it. The UID makes the apply fail if the
	// ClusterRole has been deleted since: with 409 Conflict where there is none of the name, which the
	// apply would create otherwise, and with 422 Invalid where there is another one (D-26). Upstream
	// sends no UID, so it is empty under MatchUpstream.
	Name string
	UID  types.UID
	// Rules are the ClusterRole's rules from then on. Empty and not nil: it has none. Nil, only
	// under MatchUpstream: the apply does not mention rules, so those that another manager has
	// set stay, and those that this manager has set go (D-20).
	Rules []rbacv1.PolicyRule
}

func (SetRules) isAction() {}

// Request returns the server-side apply that sets the rules: a patch of clusterroles with the field
// manager [FieldManager], forced (BR-27-05, BR-27-06). It does not read done.
func (a SetRules) Request([]runtime.Object) purekube.Request {
	patchType, patch := a.Patch()
	return purekube.Request{
		Verb:         "patch",
		Resource:     rbacv1.SchemeGroupVersion.WithResource("clusterroles"),
		Kind:         kindClusterRole,
		Name:         a.Name,
		PatchType:    patchType,
		Patch:        patch,
		FieldManager: FieldManager,
		Force:        true,
		// Each plan has one action, so there is none that could depend on it.
		ContinueOnError: true,
	}
}

// Patch returns the body of a server-side apply: resource clusterroles, no subresource, field
// manager [FieldManager], force true (BR-27-05, BR-27-06). Under MatchUpstream it is what
// applyClusterRoles in clusterroleaggregation_controller.go sends, byte for byte.
func (a SetRules) Patch() (types.PatchType, []byte) {
	body := applyBody{Applied: snapshot.Applied{
		Kind: kindClusterRole, APIVersion: rbacv1.SchemeGroupVersion.String(),
		Metadata: snapshot.AppliedMetadata{Name: a.Name, UID: a.UID},
	}}
	if a.Rules != nil {
		rules := make([]applyRule, len(a.Rules))
		for i, r := range a.Rules {
			rules[i] = applyRule(r)
		}
		body.Rules = &rules
	}
	return types.ApplyYAMLPatchType, snapshot.JSON(body)
}

type applyBody struct {
	snapshot.Applied
	Rules *[]applyRule `json:"rules,omitempty"`
}

// applyRule is a PolicyRule without its empty lists: the API type always writes verbs.
type applyRule struct {
	Verbs           []string `json:"verbs,omitempty"`
	APIGroups       []string `json:"apiGroups,omitempty"`
	Resources       []string `json:"resources,omitempty"`
	ResourceNames   []string `json:"resourceNames,omitempty"`
	NonResourceURLs []string `json:"nonResourceURLs,omitempty"`
}

// Apply returns a copy of latest with these rules. It is the body of the update that takes the place
// of the apply where the API server answers 415 UnsupportedMediaType (BR-27-05). The copy has the
// resourceVersion of latest, so the update fails with 409 Conflict if latest is out of date. Given
// nil it returns nil. Given a ClusterRole with another UID, which was created since under the same name,
// it returns an unchanged copy.
func (a SetRules) Apply(latest *rbacv1.ClusterRole) *rbacv1.ClusterRole {
	role := latest.DeepCopy()
	if role == nil || a.UID != "" && role.UID != "" && a.UID != role.UID {
		return role
	}
	role.Rules = copyRules(a.Rules)
	return role
}

// String reads "SetRules admin: 312 rules".
func (a SetRules) String() string {
	if len(a.Rules) == 1 {
		return fmt.Sprintf("SetRules %s: 1 rule", a.Name)
	}
	return fmt.Sprintf("SetRules %s: %d rules", a.Name, len(a.Rules))
}

// copyRules is a deep copy that keeps nil and empty apart.
func copyRules(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	if rules == nil {
		return nil
	}
	copied := make([]rbacv1.PolicyRule, len(rules))
	for i := range rules {
		rules[i].DeepCopyInto(&copied[i])
	}
	return copied
}
