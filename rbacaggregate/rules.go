package rbacaggregate

import (
	"encoding/json"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The rules of aggregation, each once, in the order of the specification, and then the divergences. Where upstream does
// otherwise, the branch is here.

// plansAll is BR-27-01: every change of a ClusterRole plans all ClusterRoles with an aggregationRule again. By default
// only the ClusterRoles are planned that the change can reach: see affected.go.
func (o Options) plansAll() bool { return o.matchUpstream() }

// byName is BR-27-02: the ClusterRoles that a selector matches are read in the order of their names.
func byName(a, b *rbacv1.ClusterRole) int { return strings.Compare(a.Name, b.Name) }

// collects is BR-27-03: a ClusterRole does not collect its own rules, even if one of its selectors matches it.
func collects(name, source string) bool { return name != source }

// sameRules is BR-27-04 for two lists: they are semantically equal, and nothing is written. The order counts, as in
// upstream's comparison of the collected rules with the stored rules.
func sameRules(a, b []rule) bool {
	return slices.EqualFunc(a, b, func(a, b rule) bool { return a.id == b.id })
}

// equalRules is BR-27-04 for two rules: equality.Semantic.DeepEqual is true for them. Nil and empty lists are equal,
// and the order in a list counts.
func equalRules(a, b rbacv1.PolicyRule) bool {
	return slices.Equal(a.Verbs, b.Verbs) && slices.Equal(a.APIGroups, b.APIGroups) &&
		slices.Equal(a.Resources, b.Resources) &&
		slices.Equal(a.ResourceNames, b.ResourceNames) && slices.Equal(a.NonResourceURLs, b.NonResourceURLs)
}

// fieldManager is the name under which the rules are applied (BR-27-06). It is the name that kube-controller-manager
// uses. The API server records per field manager who owns `rules`, so the two controllers share one entry in
// managedFields. After a switch from one to the other, no rules stay behind that only the other name owns.
const fieldManager = "clusterrole-aggregation-controller"

// contributesStored is D-11: whether a source that aggregation writes contributes the rules that are stored in it, as
// every other source does. In upstream it does, so rules rise by one level in each round of writes. By default it
// contributes the rules that it aggregates, through all levels at once.
func (o Options) contributesStored() bool { return o.matchUpstream() }

// applied is D-20: what the apply says about rules. By default an empty list is `"rules":[]`, which empties the
// ClusterRole. Upstream's apply does not mention rules then, and rules of other field managers stay.
func (o Options) applied(rules []rule) []rbacv1.PolicyRule {
	if o.matchUpstream() && len(rules) == 0 {
		return nil
	}
	return copyOf(rules)
}

// staysWithoutRules is D-20 too: whether a ClusterRole keeps its rules when upstream applies it without rules.
// Server-side apply removes only rules that the controller applied before and that no other field manager owns. known
// is false if the managedFields are left out or cannot be read.
//
// The entries of managedFields, and what upstream's apply without rules does:
//
//	clusterrole-aggregation-controller   Apply    f:rules      it owned them: removed
//	kubectl                              Update   f:rules      another owner: they stay
//	kubectl                              Update   f:metadata   owns no rules: does not count
//	nobody owns f:rules                                        nothing to give up: they stay
//
// A field manager is a name and an operation: an Update under the name of the controller is another owner.
func staysWithoutRules(object *rbacv1.ClusterRole) (stay, known bool) {
	mine, others := false, false
	for _, m := range object.ManagedFields {
		data, _ := json.Marshal(m.FieldsV1)
		var fields map[string]json.RawMessage
		_ = json.Unmarshal(data, &fields)
		_, owned := fields["f:rules"]
		switch {
		// If the fields of this entry cannot be read, owned is false: then the rules stay unless another entry proves
		// otherwise.
		case m.Manager == fieldManager && m.Operation == metav1.ManagedFieldsOperationApply:
			mine = mine || owned
		case fields == nil: // the fields cannot be read
			return false, false
		default:
			others = others || owned
		}
	}
	// Informers often drop managedFields to save memory: no entry at all means that nothing is known.
	return others || !mine, len(object.ManagedFields) > 0
}

// mayKeep says whether a role may keep the rules that are stored in it when upstream applies it without rules. When in
// doubt it may: a preview that leaves out a permission is worse than a preview that has one too many.
func mayKeep(object *rbacv1.ClusterRole) bool {
	stay, known := staysWithoutRules(object)
	return stay || !known
}

// appliedUID is D-26: the apply names the UID of the ClusterRole as the plan saw it, so that it fails if the
// ClusterRole has been deleted since. Upstream's apply names none, and creates the ClusterRole, or writes to another
// one of the name.
func (o Options) appliedUID(object *rbacv1.ClusterRole) types.UID {
	if o.matchUpstream() {
		return ""
	}
	return object.UID
}

// unconfirmed is D-35: whether the stored rules of a source that aggregation does not write count only for a
// ClusterRole in which they are stored already. They do if the source has an aggregationRule that fails: it is unknown
// whether aggregation would give them to the source. Upstream collects them as they are.
func (o Options) unconfirmed(source *rbacv1.ClusterRole) bool {
	return !o.matchUpstream() && source.AggregationRule != nil
}

// confirmed is D-35 for the collected rules of a ClusterRole: it drops an unconfirmed rule unless the rule is stored in
// the ClusterRole or another source contributes it too. Each rule is at its first position in the collected list,
// unconfirmed or not. So the order is upstream's, and does not depend on the stored rules: otherwise each write would
// cause another write.
//
// Keeping is the careful choice in both directions. Adding a rule that somebody wrote into a failing ClusterRole would
// grant a permission that may be wrong; removing a rule that the ClusterRole has would take away a permission because
// another ClusterRole is broken.
func confirmed(collected, stored []rule) []rule {
	if !slices.ContainsFunc(collected, func(r rule) bool { return r.unconfirmed }) {
		return collected
	}
	// stays are the rules that are kept. Each is set to false when it has been added.
	stays := map[ruleID]bool{}
	for _, r := range stored {
		stays[r.id] = true
	}
	for _, r := range collected {
		if !r.unconfirmed {
			stays[r.id] = true
		}
	}
	var rules []rule
	for _, r := range collected {
		if stays[r.id] {
			rules = append(rules, rule{PolicyRule: r.PolicyRule, id: r.id})
			stays[r.id] = false
		}
	}
	return rules
}
