package resourceclaim

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
)

// FieldManager owns the entries of status.resourceClaimStatuses that [SetClaimStatuses] applies.
const FieldManager = "ResourceClaimController"

// SetClaimStatuses writes the names of generated claims into the status.resourceClaimStatuses of a
// pod or PodGroup.
//
// By default Statuses and Pending together are all of this controller's entries, not only the
// new ones: what an apply leaves out, the server takes away (D-5).
type SetClaimStatuses struct {
	// Pod is the pod whose status is written; empty if it is a PodGroup's.
	Pod types.NamespacedName
	// PodGroup is the PodGroup whose status is written, and APIVersion the version to write it in;
	// both are empty if it is a pod's.
	PodGroup   types.NamespacedName
	APIVersion string
	// UID of that object, so that the apply cannot hit a new one of the same name. Empty under
	// MatchUpstream, which sends none.
	UID types.UID
	// Statuses are the entries to apply, sorted by name. One without a ResourceClaimName says
	// that no claim is needed, as in the API.
	Statuses []corev1.PodResourceClaimStatus
	// Pending are the entries, sorted, whose claim is made by a [CreateClaim] before this
	// action: its name is not known yet. Request takes it from the answers, WithCreated from
	// its argument. What is pending in the end is left out, and a later plan adds it.
	Pending []string
	// GoOn reports that the actions behind this one, which are reservations, are right even if
	// the apply fails. A plan sets it, except under MatchUpstream: upstream stops at the first
	// error.
	GoOn bool
}

// Request applies the statuses: patch pods/status, or podgroups/status in APIVersion, a server-side
// apply with the field manager [FieldManager] and force. done has the claims that the API server
// created: a pending entry gets the first claim in its namespace that has the entry's name as
// annotation resource.kubernetes.io/pod-claim-name and is controlled by the pod or PodGroup. Any
// other object in done is passed over, and an entry without a claim is left out.
//
// HTTP 409 means that the object is gone, 422 that another one has its name by now ("metadata.uid:
// field is immutable"), 404 that the namespace is gone or, for a PodGroup, that the server does not
// serve APIVersion. In each case there is nothing left to do for the object that was planned; plan
// its name again.
func (a SetClaimStatuses) Request(done []runtime.Object) purekube.Request {
	created := map[string]string{}
	for _, answer := range done {
		if entry, name, ok := a.createdFor(answer); ok && created[entry] == "" {
			created[entry] = name
		}
	}
	patchType, body := a.withCreated(created).Patch()
	_, version, object := a.target()
	resource := podResource
	if a.PodGroup.Name != "" {
		group, _ := schema.ParseGroupVersion(version) // what does not parse, the API server refuses
		resource = group.WithResource(podGroupResource)
	}
	return purekube.Request{
		Verb: "patch", Resource: resource, Subresource: "status", Namespace: object.Namespace, Name: object.Name,
		PatchType: patchType, Patch: body, FieldManager: FieldManager, Force: true, GoOn: a.GoOn,
	}
}

// target is the object whose status is written.
func (a SetClaimStatuses) target() (kind, apiVersion string, object types.NamespacedName) {
	if a.PodGroup.Name == "" {
		return "Pod", "v1", a.Pod
	}
	return podGroupKind, cmp.Or(a.APIVersion, podGroupAPIVersion), a.PodGroup
}

// createdFor says which entry of the pod an object was created for, and its name. It reads the
// metadata only, so that any kind of client serves.
func (a SetClaimStatuses) createdFor(object runtime.Object) (entry, name string, ok bool) {
	created, ok := claimMetadata(object)
	kind, _, target := a.target()
	if !ok || created.GetName() == "" || created.GetNamespace() != target.Namespace {
		return "", "", false
	}
	owner, uid, owned := owningPod(created)
	if kind == podGroupKind {
		owner, uid, owned = owningPodGroup(created)
	}
	// Under MatchUpstream the action has no UID: then the name has to do.
	if !owned || owner != target.Name || a.UID != "" && uid != a.UID {
		return "", "", false
	}
	entry, ok = created.GetAnnotations()[PodClaimAnnotation]
	return entry, created.GetName(), ok
}

// WithCreated returns a copy in which the pending entry podClaim has the claim that the API
// server made for it. An entry that is not pending changes nothing.
func (a SetClaimStatuses) WithCreated(podClaim, claimName string) SetClaimStatuses {
	return a.withCreated(map[string]string{podClaim: claimName})
}

// withCreated is WithCreated for many entries: the names of their claims.
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

// claimStatusesPatch is the body of the apply. Its fields stand in the order in which
// client-go's apply configurations marshal theirs.
type claimStatusesPatch struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	Metadata   struct {
		Name      string    `json:"name"`
		Namespace string    `json:"namespace"`
		UID       types.UID `json:"uid,omitempty"`
	} `json:"metadata"`
	Status struct {
		ResourceClaimStatuses []corev1.PodResourceClaimStatus `json:"resourceClaimStatuses,omitempty"`
	} `json:"status"`
}

// Patch is the type and the body of the server-side apply. The body leaves out what is pending.
func (a SetClaimStatuses) Patch() (types.PatchType, []byte) {
	kind, version, object := a.target()
	p := claimStatusesPatch{Kind: kind, APIVersion: version}
	p.Metadata.Name, p.Metadata.Namespace, p.Metadata.UID = object.Name, object.Namespace, a.UID
	p.Status.ResourceClaimStatuses = a.Statuses
	// Strings cannot fail to marshal.
	body, _ := json.Marshal(p)
	return types.ApplyPatchType, body
}

// Apply returns a copy of the pod as it is after the apply, when nobody but this controller
// writes the statuses of entries that have a template: those become Statuses, others are kept.
// A pod with another UID is returned as it is; nil gives nil.
func (a SetClaimStatuses) Apply(latest *corev1.Pod) *corev1.Pod {
	out := latest.DeepCopy()
	if out == nil || a.UID != "" && out.UID != a.UID {
		return out
	}
	out.Status.ResourceClaimStatuses = a.applied(out.Spec.ResourceClaims, out.Status.ResourceClaimStatuses)
	return out
}

// ApplyToPodGroup is Apply for a PodGroup: a copy of it as it is after the apply.
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

// applied are the statuses after the apply. It may change the ones before it.
func (a SetClaimStatuses) applied(spec []corev1.PodResourceClaim, statuses []corev1.PodResourceClaimStatus) []corev1.PodResourceClaimStatus {
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
	return "SetClaimStatuses " + ownerText(a.Pod, a.PodGroup) + ": " + strings.Join(parts, ", ")
}

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

func sortStatuses(statuses []corev1.PodResourceClaimStatus) {
	slices.SortStableFunc(statuses, func(x, y corev1.PodResourceClaimStatus) int { return cmp.Compare(x.Name, y.Name) })
}
