package admission

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/rbacaggregate"
)

// ClusterRoleOptions say which ClusterRoles [ClusterRoleWrite] protects. The zero value protects none.
type ClusterRoleOptions struct {
	// Allowed has, for each protected ClusterRole, the rules that it may get in addition to the rules that it has. A
	// protected ClusterRole without allowed rules may get none.
	//
	// A rule is allowed if the allowed rules and the rules that the ClusterRole has together cover all of it, as the API
	// server's own check of escalation has it: "*" covers everything, "*/scale" the subresource of every resource,
	// "/api/*" all paths that begin so, and a rule without resourceNames every name.
	Allowed map[string][]rbacv1.PolicyRule
}

// ClusterRoleWrite refuses a write of any ClusterRole that gives a protected ClusterRole a rule outside its allow-list,
// even for a moment.
//
// It protects against a writer who adds rules to admin, edit or view through aggregation, or writes them there. The
// answer holds whichever controller aggregates: stock kube-controller-manager of any supported release, rbacaggregate,
// or both. A write is judged by what it adds itself:
//
//   - The rules of the written ClusterRole, if it is protected or a protected ClusterRole aggregates it, directly or
//     through others. The rules that it had there before, and the rules of the other ClusterRoles that are aggregated
//     there already, are not new. So the writes of controllers pass, and so does every other write after a rule came
//     without a review, for example a default rule of a newer Kubernetes.
//   - Every rule there is, if the write gives a protected ClusterRole a new selector, of its own or of a ClusterRole
//     that it aggregates: the selector adds the rules of whatever anybody labels for it. For the same reason, the API
//     server demands full authority of whoever writes an aggregationRule. Write aggregationRules before you protect the
//     ClusterRole.
//
// A protected ClusterRole never loses a selector either, nor is it deleted with one: the API server creates and repairs
// its default ClusterRoles when it starts, without a review, and what was labelled for the selector meanwhile would
// have been judged as the source of nothing. To take a selector away, stop protecting the ClusterRole first. Protect
// the ClusterRoles that a protected one aggregates, too: admin aggregates edit, and edit aggregates view. For the same
// reason, a default source of a protected ClusterRole (edit, view and system:aggregate-to-…) cannot be without the
// label by which the API server lets it aggregate the source. It can have the label with another value.
//
// A protected ClusterRole therefore always has the same selectors, and each ClusterRole that they match is judged when
// it is written. So several writes at the same time add nothing that none of them adds alone, and nothing depends on
// reviews of the controllers' writes.
//
// That holds for an Index that is at least as new as the oldObject of the request. Use a list that you ask for after
// the request has arrived, from any API server and without a resourceVersion: it has every earlier write, and oldObject
// was read before it. See [ReadsClusterRoles]. A rule that a protected ClusterRole loses between the list and the write
// still counts as one that it has.
//
// A refusal is 403 and names the protected ClusterRole and the rule. Also refused with 403 is what cannot be computed,
// for example because the Index has two ClusterRoles of one name, and what takes more than ten million comparisons of
// rules.
//
// It cannot see:
//   - rules that a protected ClusterRole has: they are never taken away. A rule that aggregation is about to remove may
//     stay for a while, because of a write that is allowed;
//   - RoleBindings and ClusterRoleBindings: who gets a ClusterRole;
//   - writes that are not reviewed.
//
// It decides CREATE, UPDATE and DELETE of clusterroles in rbac.authorization.k8s.io/v1. The ClusterRole has its name,
// as in the reviews of an API server, even if that was generated. Make the Index without MatchUpstream. The package
// comment says what every decision answers, a nil Index for example.
func ClusterRoleWrite(
	x *rbacaggregate.Index, r *admissionv1.AdmissionRequest, o ClusterRoleOptions,
) *admissionv1.AdmissionResponse {
	if response := clusterRoleWrites.refusal(r); response != nil {
		return response
	}
	w, err := readClusterRoleWrite(r)
	if err != nil {
		return refused(r, badRequest, "%v", err)
	}
	name := w.name()
	if _, protected := o.Allowed[name]; protected && w.losesSelector() {
		return refused(r, forbidden, "ClusterRole %s would lose a selector, and may get it back without a review: "+
			"whatever was labelled for it meanwhile would be aggregated", name)
	}
	if !ReadsClusterRoles(r, o) {
		return allowed(r)
	}
	if x == nil {
		return notSynced(r)
	}
	if err := x.Err(); err != nil {
		return refused(r, forbidden, "the write is refused because the ClusterRoles cannot be read: %v", err)
	}
	before, wasSource := written(x, name, w.oldObj)
	_, isSource := written(x, name, w.newObj)
	label, isSourceWithLabel := w.missingLabel(), isSource
	if label != "" {
		_, isSourceWithLabel = written(x, name, labelled(w.newObj, label))
	}
	for _, protected := range slices.Sorted(maps.Keys(o.Allowed)) {
		has, err := before.Rules(rbacaggregate.Key(protected))
		if err != nil && !errors.Is(err, purekube.ErrNotFound) {
			// A selector that this build does not know may match whatever is written.
			return refused(r, forbidden,
				"ClusterRole %s: the write is refused because the rules that it would get cannot be computed: %v", protected, err)
		}
		if !isSource(protected) {
			if isSourceWithLabel(protected) {
				return refused(r, forbidden, "ClusterRole %s would be without the label %s, and may get it back without a review: "+
					"whatever rules it had by then would be aggregated to %s. With another value, it stays as it is", name, label,
					protected)
			}
			continue
		}
		if why := w.notAllowed(append(has, o.Allowed[protected]...), wasSource(protected)); why != "" {
			return refused(r, forbidden, "ClusterRole %s would get %s", protected, why)
		}
	}
	return allowed(r)
}

// clusterRoleWrite is a write of a ClusterRole. oldObj is nil for a create, newObj for a deletion.
type clusterRoleWrite struct{ oldObj, newObj *rbacv1.ClusterRole }

func readClusterRoleWrite(r *admissionv1.AdmissionRequest) (w clusterRoleWrite, err error) {
	const kind, version = "ClusterRole", "rbac.authorization.k8s.io/v1"
	if r.Operation != admissionv1.Create {
		if w.oldObj, err = read[rbacv1.ClusterRole](r, "oldObject", r.OldObject, kind, version); err != nil {
			return w, err
		}
	}
	if r.Operation != admissionv1.Delete {
		if w.newObj, err = read[rbacv1.ClusterRole](r, "object", r.Object, kind, version); err != nil {
			return w, err
		}
		if w.newObj.Name == "" || w.oldObj != nil && w.oldObj.Name != w.newObj.Name {
			return w, errors.New("request.object cannot be read: metadata.name: required, and the same as in request.oldObject")
		}
	}
	return w, nil
}

// written returns the Index with this version of a ClusterRole in place of any other version, and a function. The
// function reports whether the ClusterRole is a source of another one, through all levels, or is that one. It returns
// false if the version is nil.
func written(
	x *rbacaggregate.Index, name string, role *rbacv1.ClusterRole,
) (*rbacaggregate.Index, func(of string) bool) {
	// Without any version first: then all that aggregates this one is affected by it, whatever the Index had.
	x, _ = x.Without(snapshotOf(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	if role == nil {
		return x, func(string) bool { return false }
	}
	x, affected := x.With(snapshotOf(role))
	return x, func(of string) bool { return of == name || slices.Contains(affected, rbacaggregate.Key(of)) }
}

func snapshotOf(role *rbacv1.ClusterRole) rbacaggregate.Snapshot {
	return rbacaggregate.Snapshot{ClusterRoles: []*rbacv1.ClusterRole{role}}
}

// everything is what a selector may bring.
var everything = []rbacv1.PolicyRule{
	{Verbs: []string{rbacv1.VerbAll}, APIGroups: []string{rbacv1.APIGroupAll}, Resources: []string{rbacv1.ResourceAll}},
	{Verbs: []string{rbacv1.VerbAll}, NonResourceURLs: []string{rbacv1.NonResourceAll}},
}

// notAllowed says what a write brings a ClusterRole that may have these rules and no others. It is empty if it brings
// nothing else. wasSource says that the written ClusterRole was a source of the other one before, or is that one.
func (w clusterRoleWrite) notAllowed(rules []rbacv1.PolicyRule, wasSource bool) string {
	var known sets.Set[string]
	if wasSource {
		known = selectorsOf(w.oldObj)
		// What is stored in it under the same aggregationRule stays as it was.
		if equality.Semantic.DeepEqual(w.oldObj.AggregationRule, w.newObj.AggregationRule) {
			rules = append(rules, w.oldObj.Rules...)
		}
	}
	c := newCoverage(rules...)
	notCovered := func(r rbacv1.PolicyRule) bool { return !c.covers(r) }
	if i := slices.IndexFunc(w.newObj.Rules, notCovered); i >= 0 {
		why := "that is not allowed for it"
		if c.left < 0 {
			why = "with too many combinations to check, split it"
		}
		return fmt.Sprintf("a rule %s: %s (%s has the rule)", why, cut(ruleText(w.newObj.Rules[i]), maxRule), w.newObj.Name)
	}
	if len(selectorsOf(w.newObj).Difference(known)) > 0 && slices.ContainsFunc(everything, notCovered) {
		return fmt.Sprintf("the rules of every ClusterRole that somebody labels for a new selector of %s, "+
			"and not every rule is allowed for it: write the aggregationRule before you protect the ClusterRole", w.newObj.Name)
	}
	return ""
}

// name is the name of the ClusterRole. The request has none when a collection is deleted.
func (w clusterRoleWrite) name() string {
	if w.newObj != nil {
		return w.newObj.Name
	}
	return w.oldObj.Name
}

// missingLabel is the label that the written ClusterRole lacks, and that the API server adds to it when it starts,
// without a review. It is empty if there is none. With another value, the API server leaves the label as it is.
func (w clusterRoleWrite) missingLabel() string {
	label := labelOfDefault(w.newObj.Name)
	if _, has := w.newObj.Labels[label]; has {
		return ""
	}
	return label
}

// labelOfDefault is the label by which the API server lets another ClusterRole aggregate this one. Where the key is
// missing, it adds the label when it starts (bootstrappolicy in Kubernetes' plugin/pkg/auth/authorizer/rbac). It is
// empty for a ClusterRole that has no such label by default.
func labelOfDefault(name string) string {
	const prefix = "rbac.authorization.k8s.io/aggregate-to-"
	switch name {
	case "system:aggregate-to-admin", "edit":
		return prefix + "admin"
	case "system:aggregate-to-edit", "view":
		return prefix + "edit"
	case "system:aggregate-to-view":
		return prefix + "view"
	}
	return ""
}

// labelled is the ClusterRole with that label.
func labelled(r *rbacv1.ClusterRole, label string) *rbacv1.ClusterRole {
	r = r.DeepCopy()
	metav1.SetMetaDataLabel(&r.ObjectMeta, label, "true")
	return r
}

// losesSelector reports whether the write takes a selector from the ClusterRole.
func (w clusterRoleWrite) losesSelector() bool {
	if w.oldObj == nil {
		return false
	}
	var left sets.Set[string]
	if w.newObj != nil {
		left = selectorsOf(w.newObj)
	}
	return len(selectorsOf(w.oldObj).Difference(left)) > 0
}

// selectorsOf are the texts of the selectors of a ClusterRole.
func selectorsOf(r *rbacv1.ClusterRole) sets.Set[string] {
	texts := sets.New[string]()
	if r.AggregationRule != nil {
		for _, s := range r.AggregationRule.ClusterRoleSelectors {
			text, _ := json.Marshal(s) // lists and maps of texts: there is no error
			texts.Insert(string(text))
		}
	}
	return texts
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
