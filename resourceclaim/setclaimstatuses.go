package resourceclaim

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// fieldManager owns the entries of status.resourceClaimStatuses that [SetClaimStatuses] applies.
// It is upstream's, so that purekube takes over the entries that kube-controller-manager applied, and the reverse: with
// another field manager, the entries that the other controller applied would stay in the status.
const fieldManager = "ResourceClaimController"

// errNoClaimCreated: the API server's answer to a [CreateClaim] is not a claim with a name, so no status can name it.
var errNoClaimCreated = errors.New("the answer to the create is not a claim of this namespace with a name")

// SetClaimStatuses writes the names of generated claims into the status.resourceClaimStatuses of a
// pod or PodGroup.
//
// By default Statuses and Pending together are all of this controller's entries, not only the new entries: the API
// server removes entries that an apply leaves out (D-5).
type SetClaimStatuses struct {
	// Kind, Namespace and Name of the object whose status is written: a "Pod" or a "PodGroup".
	Kind, Namespace, Name string
	// APIVersion is the version to write a PodGroup in. It is empty for a pod.
	APIVersion string
	// UID of that object, so that the apply cannot change a new object with the same name. It is empty under
	// MatchUpstream, which sends no UID.
	UID types.UID
	// Statuses are the entries to apply, sorted by name. An entry without a ResourceClaimName means that no claim is
	// needed, as in the API.
	Statuses []corev1.PodResourceClaimStatus
	// Pending are the entries, sorted, whose claim a [CreateClaim] before this action creates: the name is not known
	// yet. Request takes it from the answers. Request leaves out entries that are still
	// pending; a later plan adds them.
	Pending []string
	// Creates are the entries of the CreateClaim actions that this plan begins with, in their order:
	// done[i] of Request is the API server's answer for Creates[i].
	Creates []string
	// ContinueOnError reports that the later actions, which are reservations, are right even if the apply fails. A plan
	// sets it, except under MatchUpstream: upstream stops at the first error.
	ContinueOnError bool
}

var _ Action = SetClaimStatuses{}

func (SetClaimStatuses) isAction() {}

// Type is SetClaimStatuses.
func (SetClaimStatuses) Type() string { return "SetClaimStatuses" }

// Request applies the statuses: patch pods/status, or podgroups/status in APIVersion, a server-side
// apply with the field manager of kube-controller-manager and force. A pending entry gets the name of the claim
// that the API server returned for its CreateClaim: done has that at the position of the entry in
// Creates. Only the position counts: an admission policy may have changed the claim's annotations
// and owner references. An entry whose create failed is left out. So is an entry for which done has
// an object that is not a claim of the namespace with a name, and then the request has an Err, which
// wraps errNoClaimCreated.
//
// An entry that is left out loses the name of a claim that is gone. If no entry is left, the names stay on an API
// server of v1.37, which takes a status without them for the write of an old client. A later plan does the same in both
// cases.
//
// HTTP 409 means that the object is gone, 422 that another object has its name ("metadata.uid: field is immutable"),
// 404 that the namespace is gone or, for a PodGroup, that the server does not serve APIVersion. In each case nothing is
// left to do for the planned object; plan its name again.
//
// An example: Creates are gpu, nic and tpu, and the second create was refused by a quota.
//
//	done[0]  ResourceClaim train-0-gpu-l92c5   gpu=train-0-gpu-l92c5
//	done[1]  nil                               nic is left out: a later plan creates its claim
//	done[2]  ResourceClaim train-0-tpu-x4z9k   tpu=train-0-tpu-x4z9k
func (a SetClaimStatuses) Request(done []runtime.Object) purekube.Request {
	kind, version := a.target()
	created := map[string]string{}
	var problems snapshot.Problems
	// A missing answer is a create that was not sent.
	for i, entry := range a.Creates[:min(len(a.Creates), len(done))] {
		switch claim, ok := claimMetadata(done[i]); {
		// A refused create has an error of its own, and an entry that is not pending has its name.
		case failed(done[i]) || !slices.Contains(a.Pending, entry):
		// If a claim was created all the same, a later plan adopts it.
		case !ok || claim.GetName() == "" || claim.GetNamespace() != a.Namespace:
			problems.Add(
				&purekube.ObjectError{Kind: kind, Namespace: a.Namespace, Name: a.Name, Field: "status.resourceClaimStatuses",
					Err: fmt.Errorf("%w: entry %s", errNoClaimCreated, entry)})
		default:
			created[entry] = claim.GetName()
		}
	}
	resource := podResource
	if kind == podGroupKind {
		// A cluster serves podgroups in one version or another, so the caller's version is used for the path as well.
		group, _ := schema.ParseGroupVersion(version) // what does not parse, the API server refuses
		resource = group.WithResource(podGroupResource)
	}
	return purekube.Request{
		Verb: "patch", Resource: resource, Kind: kind, Subresource: "status", Namespace: a.Namespace, Name: a.Name,
		PatchType: types.ApplyPatchType, Patch: a.withCreated(created).body(), FieldManager: fieldManager, Force: true,
		Err: problems.Err(), ContinueOnError: a.ContinueOnError,
	}
}

// target is the kind of the object whose status is written, and its version. An action without a Kind is about a pod.
func (a SetClaimStatuses) target() (kind, apiVersion string) {
	if a.Kind == podGroupKind {
		return podGroupKind, cmp.Or(a.APIVersion, podGroupAPIVersion)
	}
	return podKind, podAPIVersion
}

// withCreated returns a copy in which pending entries have the names of the claims that the API server created for
// them: created has these names by entry. An entry that is not pending changes nothing. It does not write to a, so one
// action can be asked for its Request twice, with different answers.
func (a SetClaimStatuses) withCreated(created map[string]string) SetClaimStatuses {
	out := a
	out.Statuses = copyStatuses(a.Statuses)
	out.Pending = nil
	for _, entry := range a.Pending {
		name, made := created[entry]
		if !made {
			out.Pending = append(out.Pending, entry)
			continue
		}
		out.Statuses = append(out.Statuses, corev1.PodResourceClaimStatus{Name: entry, ResourceClaimName: &name})
	}
	sortStatuses(out.Statuses)
	return out
}

// claimStatusesPatch is the body of the apply. It has the fields in the order of client-go's apply configurations, so
// that the text can be compared with upstream's.
type claimStatusesPatch struct {
	snapshot.Applied
	Status struct {
		ResourceClaimStatuses []corev1.PodResourceClaimStatus `json:"resourceClaimStatuses,omitempty"`
	} `json:"status"`
}

// body is the text of the server-side apply. It leaves out pending entries.
func (a SetClaimStatuses) body() []byte {
	kind, version := a.target()
	p := claimStatusesPatch{Applied: snapshot.Applied{
		Kind: kind, APIVersion: version,
		Metadata: snapshot.AppliedMetadata{Name: a.Name, Namespace: a.Namespace, UID: a.UID},
	}}
	p.Status.ResourceClaimStatuses = a.Statuses
	return snapshot.JSON(p)
}

// Apply returns a copy of the pod after the apply, if only this controller writes the statuses of entries with a
// template: these become Statuses, and other statuses stay. A pod with another UID is copied unchanged. For nil, Apply
// returns nil.
func (a SetClaimStatuses) Apply(latest *corev1.Pod) *corev1.Pod {
	out := latest.DeepCopy()
	if out == nil || a.UID != "" && out.UID != a.UID {
		return out
	}
	out.Status.ResourceClaimStatuses = a.applied(out.Spec.ResourceClaims, out.Status.ResourceClaimStatuses)
	return out
}

// ApplyToPodGroup is Apply for a PodGroup: it returns a copy of the group after the apply.
func (a SetClaimStatuses) ApplyToPodGroup(latest PodGroup) PodGroup {
	out := latest
	out.ResourceClaims = slices.Clone(latest.ResourceClaims)
	for i := range latest.ResourceClaims {
		latest.ResourceClaims[i].DeepCopyInto(&out.ResourceClaims[i])
	}
	out.ResourceClaimStatuses = copyStatuses(latest.ResourceClaimStatuses)
	if a.UID == "" || out.UID == a.UID {
		out.ResourceClaimStatuses = a.applied(out.ResourceClaims, out.ResourceClaimStatuses)
	}
	return out
}

// applied returns the statuses after the apply. It may change the given statuses. A status is this controller's if its
// entry has a template or if it is applied. Such a status is removed if it is not applied now (D-5). Foreign statuses
// stay in front, in their order.
func (a SetClaimStatuses) applied(
	spec []corev1.PodResourceClaim, statuses []corev1.PodResourceClaimStatus,
) []corev1.PodResourceClaimStatus {
	ours := make(map[string]bool, len(a.Statuses))
	for i := range a.Statuses {
		ours[a.Statuses[i].Name] = true
	}
	for i := range spec {
		if pc := &spec[i]; generated(pc) {
			ours[pc.Name] = true
		}
	}
	kept := slices.DeleteFunc(statuses, func(s corev1.PodResourceClaimStatus) bool { return ours[s.Name] })
	return append(kept, copyStatuses(a.Statuses)...)
}

// String reads "SetClaimStatuses ml/train-0: gpu=train-0-gpu-l92c5, nic pending".
func (a SetClaimStatuses) String() string {
	parts := make([]string, 0, len(a.Statuses)+len(a.Pending))
	for _, s := range a.Statuses {
		if s.ResourceClaimName == nil {
			parts = append(parts, s.Name+" not needed")
			continue
		}
		parts = append(parts, s.Name+"="+*s.ResourceClaimName)
	}
	for _, p := range a.Pending {
		parts = append(parts, p+" pending")
	}
	return "SetClaimStatuses " + ownerText(purekube.Key{Kind: a.Kind, Namespace: a.Namespace, Name: a.Name}) + ": " +
		strings.Join(parts, ", ")
}

// copyStatuses is a deep copy, with room for one more status. For nil it is nil.
func copyStatuses(statuses []corev1.PodResourceClaimStatus) []corev1.PodResourceClaimStatus {
	if statuses == nil {
		return nil
	}
	out := make([]corev1.PodResourceClaimStatus, len(statuses), len(statuses)+1)
	for i := range statuses {
		statuses[i].DeepCopyInto(&out[i])
	}
	return out
}

// sortStatuses sorts by entry. It is stable, for statuses of one name that a user has put into an action.
func sortStatuses(statuses []corev1.PodResourceClaimStatus) {
	slices.SortStableFunc(statuses, func(x, y corev1.PodResourceClaimStatus) int { return cmp.Compare(x.Name, y.Name) })
}
