package admission

import (
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/rbacaggregate"
	"github.com/purekube/purekube/servicecidr"
)

// Indexes are the objects that [Decide] decides by. Leave an Index nil if its objects are not known, or if the answer
// does not depend on it: see [ReadsServiceCIDRs] and [ReadsClusterRoles].
type Indexes struct {
	ServiceCIDRs *servicecidr.Index
	ClusterRoles *rbacaggregate.Index
	// Disruption decides evictions and budgets.
	Disruption *disruption.Index
}

// Options are the options of the four decisions.
type Options struct {
	ClusterRoles ClusterRoleOptions
	Evictions    EvictionOptions
	Budgets      BudgetOptions
}

// Decide answers a request with the decision that it is for: [ServiceCIDRDelete], [ClusterRoleWrite], [Eviction] or
// [BudgetWrite]. Any other request is allowed, unless it is about ClusterRoles: ClusterRoleWrite refuses what it does
// not know. A request that is nil or has no UID is refused with 400.
func Decide(x Indexes, r *admissionv1.AdmissionRequest, o Options) *admissionv1.AdmissionResponse {
	switch {
	case r == nil || r.UID == "" || clusterRoleWrites.about(r):
		return ClusterRoleWrite(x.ClusterRoles, r, o.ClusterRoles)
	case serviceCIDRDeletes.decides(r):
		return ServiceCIDRDelete(x.ServiceCIDRs, r)
	case evictions.decides(r):
		return Eviction(x.Disruption, r, o.Evictions)
	case budgetWrites.decides(r):
		return BudgetWrite(x.Disruption, r, o.Budgets)
	}
	return allowed(r)
}

// ReadsServiceCIDRs reports whether the answer to a request depends on Indexes.ServiceCIDRs. If so, make that Index for
// the review, from lists of the API server. Leave it nil for other requests.
func ReadsServiceCIDRs(r *admissionv1.AdmissionRequest) bool {
	return serviceCIDRDeletes.refusal(r) == nil
}

// ReadsClusterRoles reports whether the answer to a request depends on Indexes.ClusterRoles, as [ReadsServiceCIDRs]
// does. It does not depend on them for a deletion, which adds no rules, and if no ClusterRole is protected.
func ReadsClusterRoles(r *admissionv1.AdmissionRequest, o ClusterRoleOptions) bool {
	return clusterRoleWrites.refusal(r) == nil && r.Operation != admissionv1.Delete && len(o.Allowed) > 0
}

// EvictionOf returns the pod that a request evicts, and whether it is a dry run: an eviction may ask for that in its
// options alone. The name is zero for a request that is no eviction, or does not decode.
func EvictionOf(r *admissionv1.AdmissionRequest) (pod types.NamespacedName, dryRun bool) {
	if r == nil || !evictions.decides(r) {
		return pod, false
	}
	eviction, err := readEviction(r)
	if err != nil {
		return pod, false
	}
	return types.NamespacedName{Namespace: eviction.Namespace, Name: eviction.Name},
		ptr.Deref(r.DryRun, false) || eviction.DeleteOptions != nil && len(eviction.DeleteOptions.DryRun) > 0
}
