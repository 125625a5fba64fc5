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

// Action is one write that a plan asks for. Its only member is [SetRules]. A plan has at most one action, because all
// that aggregation ever writes is the list of rules of one ClusterRole.
//
//sumtype:decl
type Action interface {
	purekube.Action
	isAction()
}

var _ Action = SetRules{}

// Result is what a plan for one ClusterRole decided: one [SetRules], or nothing. Aggregation raises
// no events, needs no lookups and does not change with time.
type Result = purekube.Result[Action]

// Outcome is one ClusterRole's share of [PlanAll]. A ClusterRole that needs no write and has no problem has no outcome.
type Outcome = purekube.Outcome[Action]

// SetRules sets all rules of a ClusterRole that aggregates others. It replaces the whole list. Rules that somebody
// added by hand are in the list only if a source contributes them too.
//
// A SetRules is a value that belongs to the caller: its rules are deep copies, so that changing them does not change an
// object in a cache.
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

// isAction seals [Action]: a type switch over its members cannot meet a type of another package.
func (SetRules) isAction() {}

// Type is SetRules.
func (SetRules) Type() string { return "SetRules" }

// Request returns the server-side apply that sets the rules: a patch of clusterroles with the field
// manager of kube-controller-manager, forced (BR-27-05, BR-27-06). It does not read done.
//
// Force is set because kubectl, or a tool that applies manifests from Git, may own the field `rules` too. Without
// force, the API server answers 409 Conflict to every apply, and the ClusterRole never gets the rules of its sources.
func (a SetRules) Request([]runtime.Object) purekube.Request {
	return purekube.Request{
		Verb:         "patch",
		Resource:     rbacv1.SchemeGroupVersion.WithResource("clusterroles"),
		Kind:         kindClusterRole,
		Name:         a.Name,
		PatchType:    types.ApplyYAMLPatchType,
		Patch:        snapshot.JSON(a.body()),
		FieldManager: fieldManager,
		Force:        true,
		// Each plan has only one action, so no other action depends on this one.
		ContinueOnError: true,
	}
}

// body is the object of the apply. Under MatchUpstream its text is, byte for byte, the body that applyClusterRoles in
// clusterroleaggregation_controller.go sends.
func (a SetRules) body() applyBody {
	// An empty UID is left out of the body. That gives upstream's body under MatchUpstream. It also lets a test plan
	// with objects that have no UID.
	body := applyBody{Applied: snapshot.Applied{
		Kind: kindClusterRole, APIVersion: rbacv1.SchemeGroupVersion.String(),
		Metadata: snapshot.AppliedMetadata{Name: a.Name, UID: a.UID},
	}}
	// nil and empty differ here, although they are semantically equal as rules of a ClusterRole:
	//
	//	Rules            body           effect at the API server
	//	nil              (no rules)     this manager gives up its rules; rules of other managers stay (D-20)
	//	[]PolicyRule{}   "rules":[]     the ClusterRole has no rules
	if a.Rules != nil {
		rules := make([]applyRule, len(a.Rules))
		for i, r := range a.Rules {
			rules[i] = applyRule(r)
		}
		body.Rules = &rules
	}
	return body
}

// applyBody is the object of the apply. It has no aggregationRule: an apply leaves a field alone that the field manager
// has never applied, and the aggregationRule belongs to whoever created the ClusterRole. Rules is a pointer, since
// omitempty drops an empty slice but not a pointer to an empty slice.
type applyBody struct {
	snapshot.Applied
	Rules *[]applyRule `json:"rules,omitempty"`
}

// applyRule is a PolicyRule without its empty lists: the API type always writes verbs. Upstream's apply configuration
// omits an empty list of verbs, and the bodies must be equal byte for byte. The fields are the fields of
// rbacv1.PolicyRule in the same order, so that a conversion is enough. Their order here does not matter for JSON that
// the API server reads, but matters for the comparison with upstream's body.
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
	// Each UID may be unknown: a.UID is empty under MatchUpstream, and role.UID is empty in a test. An unknown UID does
	// not prove that latest is another ClusterRole. Two different UIDs do: then latest was created under the name of
	// the planned ClusterRole, and must not get the rules of its predecessor (D-26).
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

// copyRules returns a deep copy. The copy of nil is nil, and the copy of an empty slice is empty. The difference
// matters for [SetRules.Rules]: see [SetRules.body].
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
