package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/servicecidr"
)

// policy is what the webhook was told to hold to.
type policy struct {
	// protected has, for each protected ClusterRole, the rules that aggregation may give it.
	protected map[string][]rbacv1.PolicyRule
	// refuseBudgets: a budget that could never let a pod go is refused. Otherwise its writer is warned.
	refuseBudgets bool
	now           func() time.Time
}

// answer is what a review comes to.
type answer struct {
	allowed bool
	// code and message are for a refusal.
	code     int32
	message  string
	warnings []string
}

var allowed = answer{allowed: true}

func refused(code int32, format string, args ...any) answer {
	return answer{code: code, message: fmt.Sprintf(format, args...)}
}

// decide answers a review. The webhook writes nothing, so a dry run gets the same answer. The error is for a
// review that cannot be read.
func (p policy) decide(x *indexes, r *admissionv1.AdmissionRequest) (answer, error) {
	switch what := r.Resource.Resource + "/" + r.SubResource; {
	case what == "servicecidrs/" && r.Operation == admissionv1.Delete:
		return p.deleteServiceCIDR(x, r)
	case what == "clusterroles/" && (r.Operation == admissionv1.Create || r.Operation == admissionv1.Update):
		return p.writeClusterRole(x, r)
	case what == "pods/eviction" && r.Operation == admissionv1.Create:
		return p.evict(x, r)
	case what == "poddisruptionbudgets/" && (r.Operation == admissionv1.Create || r.Operation == admissionv1.Update):
		return p.writeBudget(x, r)
	}
	return allowed, nil
}

// deleteServiceCIDR refuses a deletion that would leave addresses without a range. The controller would keep such a
// ServiceCIDR, Terminating, until they are gone.
func (p policy) deleteServiceCIDR(x *indexes, r *admissionv1.AdmissionRequest) (answer, error) {
	cidr := &networkingv1.ServiceCIDR{}
	if err := read(r.OldObject, cidr); err != nil {
		return answer{}, fmt.Errorf("oldObject: %w", err)
	}
	// As the API server has it: the cache may be behind.
	with := snapshotsOf([]runtime.Object{cidr})
	index, _ := x.cidrs.With(with.cidrs)
	deletion, err := index.CheckDeletion(cidr.Name)
	if err != nil {
		return refused(http.StatusConflict, "whether ServiceCIDR %s may go cannot be known: %v", cidr.Name, err), nil
	}
	if deletion.Safe {
		return allowed, nil
	}
	return refused(http.StatusConflict, "ServiceCIDR %s is the only range of %s", cidr.Name, list(deletion)), nil
}

// writeClusterRole refuses a write that would give a protected ClusterRole, by aggregation or by itself, a rule that
// its allow-list does not cover.
func (p policy) writeClusterRole(x *indexes, r *admissionv1.AdmissionRequest) (answer, error) {
	role := &rbacv1.ClusterRole{}
	if err := read(r.Object, role); err != nil {
		return answer{}, fmt.Errorf("object: %w", err)
	}
	if role.Name == "" {
		role.Name = r.Name // generateName: the name is not there yet
	}
	if role.Name == "" {
		role.Name = role.GenerateName + "?"
	}
	for _, name := range slices.Sorted(keysOf(p.protected)) {
		change, err := x.roles.PreviewRole(role, name)
		switch {
		case notFound(err):
			continue // the protected ClusterRole is not there
		case err != nil:
			return refused(http.StatusForbidden, "what ClusterRole %s would come to cannot be known: %v", name, err), nil
		}
		for _, rule := range change.Added {
			if !covered(p.protected[name], rule) {
				return refused(http.StatusForbidden, "ClusterRole %s would get a rule that is not allowed for it: %s", name, ruleText(rule)), nil
			}
		}
	}
	return allowed, nil
}

// evict refuses an eviction that the budget does not allow when it is computed from the pods as they are. The API
// server decides by the status that was written last, after this.
func (p policy) evict(x *indexes, r *admissionv1.AdmissionRequest) (answer, error) {
	index, _ := x.budgets.With(disruption.Snapshot{Now: p.now()})
	eviction, err := index.CheckEviction(types.NamespacedName{Namespace: r.Namespace, Name: r.Name})
	switch {
	case notFound(err):
		return allowed, nil // the API server answers 404, or the cache is behind
	case len(eviction.Needs) > 0:
		// What the API server does by itself is no worse than without this webhook.
		a := allowed
		for _, n := range eviction.Needs {
			a.warnings = append(a.warnings, fmt.Sprintf("the budget was not computed anew: the scale of %s %s/%s is not known here", n.Kind, n.Namespace, n.Name))
		}
		return a, nil
	case !eviction.Verdict.Allowed():
		a := refused(int32(eviction.Verdict.StatusCode()), "%s", eviction.Reason)
		if a.code == 0 {
			a.code, a.message = http.StatusTooManyRequests, fmt.Sprintf("whether the pod may be evicted cannot be known: %v", err)
		}
		return a, nil
	}
	return allowed, nil
}

// writeBudget warns of a budget that could never let a pod go, or refuses it: no node with one of its pods could be
// drained.
func (p policy) writeBudget(x *indexes, r *admissionv1.AdmissionRequest) (answer, error) {
	budget := &policyv1.PodDisruptionBudget{}
	if err := read(r.Object, budget); err != nil {
		return answer{}, fmt.Errorf("object: %w", err)
	}
	if budget.Namespace == "" {
		budget.Namespace = r.Namespace
	}
	index, _ := x.budgets.With(disruption.Snapshot{Now: p.now(), Budgets: []*policyv1.PodDisruptionBudget{budget}})
	explanation, err := index.Explain(disruption.KeyOf(budget))
	if !explanation.Never || err != nil {
		return allowed, nil //nolint:nilerr // whether the object is valid is for the API server to say
	}
	text := fmt.Sprintf("PodDisruptionBudget %s/%s never lets a pod go, even with all of its pods healthy: nodes with such a pod cannot be drained", budget.Namespace, budget.Name)
	if p.refuseBudgets {
		return refused(http.StatusForbidden, "%s", text), nil
	}
	a := allowed
	a.warnings = []string{text}
	return a, nil
}

// read decodes an object of a review.
func read(raw runtime.RawExtension, into metav1.Object) error {
	if len(raw.Raw) == 0 {
		return fmt.Errorf("missing")
	}
	return json.Unmarshal(raw.Raw, into)
}

// list is the first addresses with their Services, and whether there are more.
func list(deletion servicecidr.Deletion) string {
	var names []string
	for _, o := range deletion.Orphans {
		names = append(names, o.String())
	}
	if deletion.MoreOrphans {
		names = append(names, "and more")
	}
	return strings.Join(names, ", ")
}
