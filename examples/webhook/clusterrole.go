package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/purekube/purekube/rbacaggregate"
)

// writeClusterRole refuses a write that may give a protected ClusterRole a rule that its allow-list does not
// cover, at any time, whoever aggregates: the default decisions or kube-controller-manager of any supported
// release.
//
// A protected ClusterRole that does not exist has no rules to protect. The write that creates it is judged by
// all that it will have.
func (p policy) writeClusterRole(ctx context.Context, x *indexes, r *admissionv1.AdmissionRequest) answer {
	writes, refusal := clusterRoleWrites(r)
	if refusal != nil {
		return *refusal
	}
	for _, name := range slices.Sorted(keysOf(p.protected)) {
		for _, w := range named(writes, name) {
			grants, err := x.roles.Grants(w.oldObj, w.newObj, rbacaggregate.Key(name))
			switch {
			case notFound(err):
				continue // the protected ClusterRole is not there
			case err != nil:
				return refused(http.StatusForbidden, "what ClusterRole %s would come to cannot be known: %v", name, err)
			}
			if a := p.judge(ctx, name, grants); !a.allowed {
				return a
			}
		}
	}
	return allowed
}

// judge holds grants against an allow-list.
func (p policy) judge(ctx context.Context, name string, grants []rbacaggregate.Grant) answer {
	for _, g := range grants {
		if ctx.Err() != nil {
			return refused(http.StatusServiceUnavailable, "the webhook could not decide in time")
		}
		why := ""
		switch p.protected[name].covers(g.Rule) {
		case covered:
			continue
		case notCovered:
			why = "that is not allowed for it"
		case tooManyCombinations:
			why = "with too many combinations to check, split it"
		}
		rule := cut(ruleText(g.Rule), maxText/2)
		return refused(http.StatusForbidden, "ClusterRole %s would get a rule %s: %s (%s)", name, why, rule, g.Reasons[0])
	}
	return allowed
}

// clusterRoleWrite is a write as [rbacaggregate.Index.Grants] takes it.
type clusterRoleWrite struct{ oldObj, newObj *rbacv1.ClusterRole }

// clusterRoleWrites reads a review: what it is about is one write, or an update that is a deletion as well.
func clusterRoleWrites(r *admissionv1.AdmissionRequest) ([]clusterRoleWrite, *answer) {
	refuse := func(a answer) ([]clusterRoleWrite, *answer) { return nil, &a }
	var w clusterRoleWrite
	known := []admissionv1.Operation{admissionv1.Create, admissionv1.Update, admissionv1.Delete}
	if !slices.Contains(known, r.Operation) || r.SubResource != "" {
		what := fmt.Sprintf("%s of clusterroles/%s", r.Operation, r.SubResource)
		return refuse(refused(http.StatusBadRequest, "%s is not known here", what))
	}
	if r.Operation != admissionv1.Create {
		w.oldObj = &rbacv1.ClusterRole{}
		if err := read(r.OldObject, w.oldObj); err != nil {
			return refuse(unreadable("oldObject", err))
		}
	}
	if r.Operation != admissionv1.Delete {
		w.newObj = &rbacv1.ClusterRole{}
		if err := read(r.Object, w.newObj); err != nil {
			return refuse(unreadable("object", err))
		}
	}
	for _, o := range []*rbacv1.ClusterRole{w.oldObj, w.newObj} {
		switch {
		case o == nil:
		case o.Name == "":
			o.Name = r.Name
		case r.Name != "" && o.Name != r.Name:
			const format = "the review is of ClusterRole %q and has ClusterRole %q"
			return refuse(refused(http.StatusBadRequest, format, r.Name, o.Name))
		}
	}
	writes := []clusterRoleWrite{w}
	if w.oldObj != nil && w.newObj != nil && w.newObj.DeletionTimestamp != nil && len(w.newObj.Finalizers) == 0 {
		// Without a finalizer the API server deletes it.
		writes = append(writes, clusterRoleWrite{oldObj: w.oldObj})
	}
	return writes, nil
}

// named gives a write of a ClusterRole whose name is to be generated the names that matter to a protected one:
// one that nobody has, and that of the protected one if it can be generated. An API server generates the name
// before it asks; this is for one that does not.
func named(writes []clusterRoleWrite, protected string) []clusterRoleWrite {
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
