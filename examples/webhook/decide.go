package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
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
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/servicecidr"
)

// policy is what the webhook was told to hold to.
type policy struct {
	// protected has, for each protected ClusterRole, the rules that it may get.
	protected map[string]*allowList
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
	return answer{code: code, message: cut(fmt.Sprintf(format, args...), maxText)}
}

// maxOrphans is how many addresses a refusal names, so that it costs the same however many there are.
const maxOrphans = 10

// unreadable refuses a review whose object cannot be read, whatever the failurePolicy says.
func unreadable(field string, err error) answer {
	return refused(http.StatusBadRequest, "%s cannot be read: %v", field, err)
}

// The resources that reviews are about. Each is read as v1, as the ValidatingWebhookConfiguration asks for.
var (
	serviceCIDRs = metav1.GroupVersionResource{Group: networkingv1.GroupName, Version: "v1", Resource: "servicecidrs"}
	clusterRoles = metav1.GroupVersionResource{Group: rbacv1.GroupName, Version: "v1", Resource: "clusterroles"}
	pods         = metav1.GroupVersionResource{Version: "v1", Resource: "pods"}
	budgets      = metav1.GroupVersionResource{Group: policyv1.GroupName, Version: "v1", Resource: "poddisruptionbudgets"}
)

// judged reports whether the webhook has anything to say about a review. A ClusterRole has no subresources, and
// is judged in whatever version it comes: what is not known of it is refused.
func judged(r *admissionv1.AdmissionRequest) bool {
	of := r.Resource
	of.Version = "v1"
	switch of {
	case serviceCIDRs:
		return r.SubResource == "" && r.Operation == admissionv1.Delete
	case clusterRoles:
		return true
	case pods:
		return r.SubResource == "eviction" && r.Operation == admissionv1.Create
	case budgets:
		return r.SubResource == "" && (r.Operation == admissionv1.Create || r.Operation == admissionv1.Update)
	}
	return false
}

// decide answers a review that is judged. The webhook writes nothing, so a dry run gets the same answer; only,
// it is not remembered.
func (p policy) decide(ctx context.Context, s *state, r *admissionv1.AdmissionRequest) answer {
	switch r.Resource {
	case serviceCIDRs:
		return p.deleteServiceCIDR(s, r)
	case clusterRoles:
		return p.writeClusterRole(ctx, s.now(), r)
	case pods:
		return p.evict(s, r)
	case budgets:
		return p.writeBudget(s.now(), r)
	}
	of := r.Resource
	return refused(http.StatusBadRequest, "%s of the version %q are not known here", of.Resource, of.Version)
}

// deleteServiceCIDR refuses a deletion that would leave addresses without a range. The controller would keep such a
// ServiceCIDR, Terminating, until they are gone. A deletion that is allowed counts at once, before the watch shows it.
func (p policy) deleteServiceCIDR(s *state, r *admissionv1.AdmissionRequest) answer {
	cidr := &networkingv1.ServiceCIDR{}
	if err := read(r.OldObject, cidr); err != nil {
		return unreadable("oldObject", err)
	}
	s.deciding.Lock()
	defer s.deciding.Unlock()
	s.forget(p.now())
	// As the API server has it: the cache may be behind.
	with := snapshotsOf([]runtime.Object{cidr})
	index, _ := s.now().cidrs.With(with.cidrs)
	deletion, err := index.CheckDeletion(servicecidr.KeyOf(cidr), maxOrphans)
	switch {
	case err != nil:
		return refused(http.StatusConflict, "whether ServiceCIDR %s may go cannot be known: %v", cidr.Name, err)
	case !deletion.Safe:
		return refused(http.StatusConflict, "ServiceCIDR %s is the only range of %s", cidr.Name, list(deletion))
	case !ptr.Deref(r.DryRun, false):
		s.assumeDeleted(cidr, p.now())
	}
	return allowed
}

// evict refuses an eviction that the budget does not allow when it is computed from the pods as they are. The
// API server decides by the status that was written last, after this. An eviction that is allowed counts at
// once, before the watch shows it.
func (p policy) evict(s *state, r *admissionv1.AdmissionRequest) answer {
	eviction := &policyv1.Eviction{}
	if err := read(r.Object, eviction); err != nil {
		return unreadable("object", err)
	}
	name := types.NamespacedName{Namespace: r.Namespace, Name: r.Name}
	s.deciding.Lock()
	defer s.deciding.Unlock()
	s.forget(p.now())
	pod := s.pod(name)
	changed := disruption.Snapshot{Now: p.now()}
	if pod != nil {
		// As it is, even if an eviction of it was allowed before: that one may have been refused after all.
		changed.Pods = append(changed.Pods, pod)
	}
	index, _ := s.now().budgets.With(changed)
	checked, err := index.CheckEviction(name, disruption.Recomputed)
	switch {
	case notFound(err):
		return allowed // the API server answers 404, or the cache is behind
	case len(checked.Needs) > 0:
		// What the API server does by itself is no worse than without this webhook.
		a := allowed
		for _, n := range checked.Needs {
			a.warnings = append(a.warnings, fmt.Sprintf("the budget was not computed anew: the scale of %s %s/%s is not known here", n.Kind, n.Namespace, n.Name))
		}
		return a
	case !checked.Verdict.Allowed():
		a := refused(int32(checked.Verdict.StatusCode()), "%s", checked.Reason)
		if a.code == 0 {
			a.code, a.message = http.StatusTooManyRequests, fmt.Sprintf("whether the pod may be evicted cannot be known: %v", err)
		}
		return a
	}
	// An eviction may say it in its own options alone.
	dryRun := ptr.Deref(r.DryRun, false) || eviction.DeleteOptions != nil && len(eviction.DeleteOptions.DryRun) > 0
	if pod != nil && !dryRun {
		s.assumeDeleted(pod, p.now())
	}
	return allowed
}

// writeBudget warns of a budget that could never let a pod go, or refuses it: no node with one of its pods could be
// drained.
func (p policy) writeBudget(x *indexes, r *admissionv1.AdmissionRequest) answer {
	budget := &policyv1.PodDisruptionBudget{}
	if err := read(r.Object, budget); err != nil {
		return unreadable("object", err)
	}
	budget.Namespace = cmp.Or(budget.Namespace, r.Namespace)
	budget.Name = cmp.Or(budget.Name, r.Name, unnamed(budget))
	index, _ := x.budgets.With(disruption.Snapshot{Now: p.now(), Budgets: []*policyv1.PodDisruptionBudget{budget}})
	explanation, err := index.Explain(disruption.KeyOf(budget))
	if err != nil || !explanation.Budget.Never {
		return allowed //nolint:nilerr // whether the object is valid is for the API server to say
	}
	text := fmt.Sprintf("PodDisruptionBudget %s/%s never lets a pod go, even with all of its pods healthy: nodes with such a pod cannot be drained", budget.Namespace, budget.Name)
	if p.refuseBudgets {
		return refused(http.StatusForbidden, "%s", text)
	}
	a := allowed
	a.warnings = []string{text}
	return a
}

// unnamed stands in for a name that is not generated yet. No object can have it.
func unnamed(o metav1.Object) string { return o.GetGenerateName() + "/" }

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
