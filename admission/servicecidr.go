package admission

import (
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/purekube/purekube/servicecidr"
)

// maxOrphans is how many addresses a refusal names, so that it costs the same however many there are.
const maxOrphans = 10

// ServiceCIDRDelete refuses the deletion of a ServiceCIDR that would leave addresses without a range. The message names
// the first ten addresses with their Services. It reads the ServiceCIDR from the oldObject of the request.
//
// It protects against a ServiceCIDR that stays Terminating until somebody deletes those Services. It assumes that a
// controller for ServiceCIDRs runs, stock kube-controller-manager or servicecidr: both keep the finalizer for as long,
// so the answer is the same for both.
//
// An address in use is refused with 409, and so is a deletion that cannot be computed: spec.cidrs or an IPAddress that
// does not parse, or two ServiceCIDRs of one name. Other ServiceCIDRs that are being deleted do not count as ranges.
//
// It cannot see:
//   - addresses that are allocated after the Index was made;
//   - Services whose address has no IPAddress;
//   - deletions that were allowed and that the Index does not have yet. If two ServiceCIDRs are the only ranges of an
//     address and both are being deleted, kube-controller-manager lets both go, and servicecidr keeps the last one
//     (D-1). Give an allowed one a deletionTimestamp, as clientgo.NewWebhook does.
//
// Make the Index from lists of the review: [ReadsServiceCIDRs] says which requests need them.
//
// It decides DELETE of servicecidrs in networking.k8s.io/v1. A ServiceCIDR has no generated name at that time. The
// package comment says what every decision answers, a nil Index for example.
func ServiceCIDRDelete(x *servicecidr.Index, r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	if response := serviceCIDRDeletes.refusal(r); response != nil {
		return response
	}
	if x == nil {
		return notSynced(r)
	}
	cidr, err := readServiceCIDR(r)
	if err != nil {
		return refused(r, badRequest, "%v", err)
	}
	index, _ := x.With(servicecidr.Snapshot{ServiceCIDRs: []*networkingv1.ServiceCIDR{cidr}})
	deletion, err := index.CheckDeletion(servicecidr.KeyOf(cidr), maxOrphans)
	switch {
	case err != nil:
		return refused(r, conflict, "ServiceCIDR %s: the deletion is refused because its addresses cannot be checked: %v",
			cidr.Name, err)
	case len(deletion.Orphans) > 0:
		return refused(r, conflict, "ServiceCIDR %s is the only range of %s", cidr.Name, list(deletion))
	case !deletion.Safe:
		return refused(r, conflict, "ServiceCIDR %s: the deletion is refused because its addresses cannot be checked",
			cidr.Name)
	}
	return allowed(r)
}

func readServiceCIDR(r *admissionv1.AdmissionRequest) (*networkingv1.ServiceCIDR, error) {
	return read[networkingv1.ServiceCIDR](r, "oldObject", r.OldObject, "ServiceCIDR", "networking.k8s.io/v1")
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
