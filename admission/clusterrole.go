package admission

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/rbacaggregate"
)

// ClusterRoleOptions say which ClusterRoles [ClusterRoleWrite] protects. The zero value protects none.
type ClusterRoleOptions struct {
	// Allowed has, for each protected ClusterRole, the rules that it may get in addition to its present rules. A
	// protected ClusterRole without allowed rules may get none.
	//
	// A rule is allowed if several allowed rules together allow all of it. A wildcard entry ("*") needs a wildcard
	// entry here; other patterns ("*/scale", "/api/*") are compared as they are written. A rule without resourceNames
	// allows every name.
	Allowed map[string][]rbacv1.PolicyRule
}

// ClusterRoleWrite refuses a write of any ClusterRole after which a protected ClusterRole may have a rule outside its
// allow-list, even for a moment.
//
// It protects against a writer who adds rules to admin, edit or view through aggregation, or writes them there. It holds
// whoever aggregates: stock kube-controller-manager of any supported release, rbacaggregate, or both. They grant different
// rules: see [rbacaggregate.Index.Grants], whose answer has the rules of both.
//
// A refusal is 403 and names the protected ClusterRole, the rule and where it comes from. Also refused with 403: what
// cannot be computed, for example because the Index has two ClusterRoles of one name, and a rule whose verbs, groups, resources and names
// combine in more ways than its size justifies. Split such a rule.
//
// Further answers:
//   - A protected ClusterRole that does not exist has no rules to protect: other ClusterRoles may be written. The write
//     that creates it is judged by everything that it will have.
//   - With generateName, an API server sends the generated name. If the name is missing, every name that could be
//     generated counts, including the name of a protected ClusterRole.
//   - An update that removes the last finalizer of a ClusterRole that is being deleted is judged as a deletion too.
//
// It cannot see:
//   - rules that a protected ClusterRole already has: they are never taken away;
//   - RoleBindings and ClusterRoleBindings: who gets a ClusterRole;
//   - writes that are not reviewed. What two writes grant together, a controller has to write into the protected
//     ClusterRole, and that write is a review too. So do not exempt the account of that controller.
//
// It decides CREATE, UPDATE and DELETE of clusterroles in rbac.authorization.k8s.io/v1. The package comment says what
// every decision answers, a nil Index for example.
func ClusterRoleWrite(x *rbacaggregate.Index, r *admissionv1.AdmissionRequest, o ClusterRoleOptions) *admissionv1.AdmissionResponse {
	if response := clusterRoleWrites.refusal(r, x != nil); response != nil {
		return response
	}
	writes, err := readClusterRoleWrites(r)
	if err != nil {
		return refused(r, badRequest, "%v", err)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Allowed)) {
		for _, w := range asNamed(writes, name) {
			grants, err := x.Grants(w.oldObj, w.newObj, rbacaggregate.Key(name))
			switch {
			case errors.Is(err, purekube.ErrNotFound):
				continue // the protected ClusterRole does not exist
			case err != nil:
				return refused(r, forbidden, "ClusterRole %s: the write is refused because the rules that it would get cannot be computed: %v", name, err)
			}
			if why := notAllowed(name, grants, o.Allowed[name]); why != "" {
				return refused(r, forbidden, "%s", why)
			}
		}
	}
	return allowed(r)
}

// notAllowed says why a ClusterRole must not get these rules. It is empty if it may.
func notAllowed(name string, grants []rbacaggregate.Grant, rules []rbacv1.PolicyRule) string {
	if len(grants) == 0 {
		return "" // most writes: the allow-list is not arranged for them
	}
	list := newAllowList(rules)
	for _, g := range grants {
		why := ""
		switch list.covers(g.Rule) {
		case covered:
			continue
		case notCovered:
			why = "that is not allowed for it"
		case tooManyCombinations:
			why = "with too many combinations to check, split it"
		}
		return fmt.Sprintf("ClusterRole %s would get a rule %s: %s (%s)", name, why, cut(ruleText(g.Rule), maxRule), g.Reasons[0])
	}
	return ""
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

// clusterRoleWrite is a write as [rbacaggregate.Index.Grants] takes it.
type clusterRoleWrite struct{ oldObj, newObj *rbacv1.ClusterRole }

// readClusterRoleWrites reads a request: it is one write, or an update that is a deletion as well.
func readClusterRoleWrites(r *admissionv1.AdmissionRequest) ([]clusterRoleWrite, error) {
	const kind, version = "ClusterRole", "rbac.authorization.k8s.io/v1"
	var w clusterRoleWrite
	var err error
	if r.Operation != admissionv1.Create {
		if w.oldObj, err = read[rbacv1.ClusterRole](r, "oldObject", r.OldObject, kind, version); err != nil {
			return nil, err
		}
	}
	if r.Operation != admissionv1.Delete {
		if w.newObj, err = read[rbacv1.ClusterRole](r, "object", r.Object, kind, version); err != nil {
			return nil, err
		}
	}
	writes := []clusterRoleWrite{w}
	if w.oldObj != nil && w.newObj != nil && w.newObj.DeletionTimestamp != nil && len(w.newObj.Finalizers) == 0 {
		// Without a finalizer the API server deletes it.
		writes = append(writes, clusterRoleWrite{oldObj: w.oldObj})
	}
	return writes, nil
}

// asNamed gives a write of a ClusterRole whose name is to be generated the names that matter to a protected
// ClusterRole: a name that nobody has and, if it can be generated, the protected name. An API server generates the name
// before it asks; asNamed is for callers that do not.
func asNamed(writes []clusterRoleWrite, protected string) []clusterRoleWrite {
	w := writes[0]
	if w.newObj == nil || w.newObj.Name != "" {
		return writes
	}
	as := func(name string) clusterRoleWrite {
		o := *w.newObj
		o.Name = name
		return clusterRoleWrite{newObj: &o}
	}
	all := []clusterRoleWrite{as(unnamed(w.newObj))}
	if canBeGenerated(w.newObj.GenerateName, protected) {
		all = append(all, as(protected))
	}
	return all
}

// canBeGenerated reports whether the API server may make a name of generateName: its first 58 characters and 5 more.
func canBeGenerated(generateName, name string) bool {
	prefix := generateName[:min(len(generateName), 58)]
	return generateName != "" && len(name) == len(prefix)+5 && strings.HasPrefix(name, prefix)
}
