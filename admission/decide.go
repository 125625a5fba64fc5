package admission

import (
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/rbacaggregate"
	"github.com/purekube/purekube/servicecidr"
)

// Indexes are the objects that [Decide] decides by, at one moment. Leave an Index nil whose objects are not known yet, or
// only as they were.
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
// [BudgetWrite]. A request for none of them is allowed, since it has nothing to do with them; for a ClusterRole that is
// no request, since ClusterRoleWrite refuses what it does not know. A request that is nil or has no UID is refused with 400.
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

// Deletion is what the API server deletes once a request is allowed.
type Deletion struct {
	// Key names the ServiceCIDR of a deletion, or the pod of an eviction. It is zero for any other request.
	Key purekube.Key
	// UID of the ServiceCIDR. A request does not have the UID of a pod.
	UID types.UID
	// DryRun: nothing is deleted. An eviction may ask for that in its options alone.
	DryRun bool
}

// DeletionOf returns what a request deletes. It is zero for a request that deletes nothing, or does not decode.
func DeletionOf(r *admissionv1.AdmissionRequest) Deletion {
	switch {
	case r == nil:
	case serviceCIDRDeletes.decides(r):
		if cidr, err := readServiceCIDR(r); err == nil {
			return Deletion{Key: servicecidr.KeyOf(cidr), UID: cidr.UID, DryRun: ptr.Deref(r.DryRun, false)}
		}
	case evictions.decides(r):
		if eviction, err := readEviction(r); err == nil {
			dryRun := ptr.Deref(r.DryRun, false) || eviction.DeleteOptions != nil && len(eviction.DeleteOptions.DryRun) > 0
			return Deletion{Key: disruption.PodKey(eviction.Namespace, eviction.Name), DryRun: dryRun}
		}
	}
	return Deletion{}
}
