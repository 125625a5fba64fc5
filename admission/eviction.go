package admission

import (
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
)

// maxScales is how many scales get a warning each.
const maxScales = 10

// EvictionOptions are the options of [Eviction].
type EvictionOptions struct {
	// AllowUnknown leaves an eviction that cannot be computed to the API server's own check, which reads the status of the
	// budget as it was written last: the answer is allowed, with a warning unless the Index does not have the pod. By
	// default it is refused with 429.
	//
	// Set it in a webhook for kubectl drain. Otherwise a pod that is gone already gets 429, and not the 404 after which
	// kubectl drain goes on; and pods of a custom resource without an answer in Snapshot.Answers cannot be evicted.
	AllowUnknown bool
}

// Eviction refuses an eviction that the pod's budget does not allow when the budget is computed from the pods as they
// are.
//
// It protects against evictions by a budget status that is out of date. The API server decides by the status that was
// written last, and it does so after the webhook: an eviction needs the consent of both. So the answer holds with any
// disruption controller, stock kube-controller-manager or disruption, and with one that is slow or does not run.
//
// A refusal has the code and the text of the API server: 429 for a budget that does not allow a disruption now, 403 for
// a status out of bounds, 500 for a pod with several budgets. What cannot be computed is refused with 429. With
// [EvictionOptions].AllowUnknown it is allowed, with a warning in all of these cases but the first:
//   - a pod that the Index does not have. It is gone, so that the API server answers 404, or the cache is behind. Then
//     the API server alone decides, and there is no warning;
//   - a budget that needs the scale of a custom resource, or a workload that the Index does not have;
//   - a namespace with a budget whose selector does not compile, or two pods of one name.
//
// It cannot see:
//   - a budget that the cache does not show yet. The API server sees it;
//   - evictions that were allowed and that the Index does not have yet: see package admission/memory;
//   - deletions of pods. Budgets do not apply to them.
//
// It decides CREATE of pods/eviction; the Eviction may be policy/v1 or policy/v1beta1. An eviction has the name of its
// pod, which is never generated. The package comment says what every decision answers, a nil Index for example.
func Eviction(x *disruption.Index, r *admissionv1.AdmissionRequest, o EvictionOptions) *admissionv1.AdmissionResponse {
	if response := evictions.refusal(r); response != nil {
		return response
	}
	if x == nil {
		return notSynced(r)
	}
	eviction, err := readEviction(r)
	if err != nil {
		return refused(r, badRequest, "%v", err)
	}
	name := types.NamespacedName{Namespace: eviction.Namespace, Name: eviction.Name}
	if name.Name == "" || name.Namespace == "" {
		return refused(r, badRequest, "request.name and request.namespace: required")
	}
	checked, err := x.CheckEviction(name, disruption.Recomputed)
	if checked.Verdict != disruption.NoVerdict && !checked.Verdict.Allowed() {
		return refused(r, int32(checked.Verdict.StatusCode()), "%s", checked.Reason)
	}
	if err == nil && checked.Verdict.Allowed() {
		return allowed(r)
	}
	return unknownEviction(r, checked, err, o)
}

// unknownEviction is the answer to an eviction that cannot be computed.
func unknownEviction(
	r *admissionv1.AdmissionRequest, checked disruption.Eviction, err error, o EvictionOptions,
) *admissionv1.AdmissionResponse {
	if !o.AllowUnknown {
		if err == nil {
			err = fmt.Errorf("unknown: %v", checked.Needs)
		}
		return refused(r, tooManyRequests, "Pod %s/%s: the eviction is refused because it cannot be checked: %v", r.Namespace,
			r.Name, err)
	}
	switch {
	case len(checked.Needs) > 0:
		named := checked.Needs[:min(len(checked.Needs), maxScales)]
		var warnings []string
		for _, n := range named {
			warnings = append(warnings,
				warning("budget not recomputed: no scale of ", fmt.Sprintf("%s %s/%s", n.Kind, n.Namespace, n.Name), ""))
		}
		if more := len(checked.Needs) - len(named); more > 0 {
			warnings = append(warnings, fmt.Sprintf("budget not recomputed: %d more scales are not known", more))
		}
		return allowed(r, warnings...)
	case errors.Is(err, purekube.ErrNotFound):
		return allowed(r)
	}
	return allowed(r, warning("budget not recomputed: ", err.Error(), ""))
}

func readEviction(r *admissionv1.AdmissionRequest) (*policyv1.Eviction, error) {
	return read[policyv1.Eviction](r, "object", r.Object, "Eviction", "policy/v1", "policy/v1beta1")
}
