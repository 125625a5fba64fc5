package rbacaggregate

import (
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/message"
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

// SetRules sets all rules of a ClusterRole that aggregates others.
type SetRules struct {
	// Name of the ClusterRole, and its UID as the plan saw it. The UID makes the apply fail if the ClusterRole has
	// been deleted since: with 409 Conflict if no ClusterRole has the name, which the apply would otherwise create, and
	// with 422 Invalid if another ClusterRole has it (D-26). Upstream sends no UID, so the UID is empty under
	// MatchUpstream.
	Name string
	UID  types.UID
	// Rules are the new rules of the ClusterRole. If the slice is empty but not nil, the ClusterRole will have no
	// rules. It is nil only under MatchUpstream: then the apply does not mention rules, so that rules of another field
	// manager stay, and rules of this field manager are removed (D-20).
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
		// Each plan has only one action, so no other action depends on this one.
		ContinueOnError: true,
	}
}

// Patch returns the body of a server-side apply: resource clusterroles, no subresource, field manager [FieldManager],
// force true (BR-27-05, BR-27-06). Under MatchUpstream it is, byte for byte, the body that applyClusterRoles in
// clusterroleaggregation_controller.go sends.
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

// Apply returns a copy of latest with these rules. Use it as the body of an update if the API server answers the apply
// with 415 UnsupportedMediaType (BR-27-05). The copy has the resourceVersion of latest, so the update fails with 409
// Conflict if latest is out of date. Apply returns nil for nil. It returns an unchanged copy for a ClusterRole with
// another UID, which was created since under the same name.
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
	return fmt.Sprintf("SetRules %s: %s", a.Name, message.Count(len(a.Rules), "rule"))
}

// copyRules returns a deep copy. The copy of nil is nil, and the copy of an empty slice is empty.
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
