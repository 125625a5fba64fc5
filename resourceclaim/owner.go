package resourceclaim

import (
	"fmt"
	"iter"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/podstate"
)

// owner is a pod or PodGroup with its entries, the spec.resourceClaims: claims are generated for it. Both kinds have
// the same rules, as upstream's handleClaim and handlePodGroupClaim do, so a plan is written once, for an owner.
//
// It is made for one question and belongs to one goroutine. It points into the object, and nothing writes through it.
type owner struct {
	*metav1.ObjectMeta
	kind, apiVersion string
	entries          []corev1.PodResourceClaim
	statuses         []corev1.PodResourceClaimStatus
	// pod is nil for a PodGroup. node is the node of a pod, and member the PodGroup that the pod is in, once that is
	// known.
	pod    *corev1.Pod
	node   string
	member membership
	// first and named are, by name, the position of the first entry and of the first status, such that going
	// through all entries costs no more than their number. Nil when there are few entries.
	// A user decides how many entries a pod has, and searching each name in the list would cost the square of their
	// number.
	first, named map[string]int
}

// fewEntries are so many that searching them costs less than a map of them.
const fewEntries = 8

// podOwner is the pod as an owner. Its member is not known yet: a question that needs the group calls groupOf first.
func podOwner(pod *corev1.Pod) (o owner) {
	o = owner{
		ObjectMeta: &pod.ObjectMeta, kind: podKind, apiVersion: podAPIVersion, pod: pod, node: pod.Spec.NodeName,
		entries: pod.Spec.ResourceClaims, statuses: pod.Status.ResourceClaimStatuses,
	}
	o.arrange()
	return o
}

// groupOwner is the PodGroup as an owner. It has no node and is in no group.
func groupOwner(g *podGroup) (o owner) {
	o = owner{ObjectMeta: &g.ObjectMeta, kind: podGroupKind, apiVersion: g.apiVersion, entries: g.entries, statuses: g.statuses}
	o.arrange()
	return o
}

// arrange makes the maps of a long list. The first entry and the first status of a name count, as in a search from the
// front.
func (o *owner) arrange() {
	if len(o.entries) <= fewEntries {
		return
	}
	o.first = make(map[string]int, len(o.entries))
	for i := range o.entries {
		if _, taken := o.first[o.entries[i].Name]; !taken {
			o.first[o.entries[i].Name] = i
		}
	}
	o.named = make(map[string]int, len(o.statuses))
	for i := range o.statuses {
		if _, taken := o.named[o.statuses[i].Name]; !taken {
			o.named[o.statuses[i].Name] = i
		}
	}
}

func (o *owner) name() types.NamespacedName {
	return types.NamespacedName{Namespace: o.Namespace, Name: o.Name}
}

func (o *owner) key() purekube.Key {
	return purekube.Key{Kind: o.kind, Namespace: o.Namespace, Name: o.Name}
}

// isGroup reports whether the owner is a PodGroup. Nothing is reserved by a group's plan, and its limit is 4 entries.
func (o *owner) isGroup() bool { return o.pod == nil }

// need is the lookup of the owner, for a cached owner that was seen to be deleted (D-37).
func (o *owner) need() purekube.Need { return needOf(o.key()) }

// getsNothing reports whether there is nothing to do for the owner, whatever else is wrong with it. By default a pod
// that is done gets nothing (D-7): a claim made or reserved now would have to be taken back at once, and the next plan
// would make it again. An owner that is being deleted gets nothing in either mode.
func (o *owner) getsNothing(options Options) bool {
	return len(o.entries) == 0 || o.DeletionTimestamp != nil || !options.upstream() && o.pod != nil && podstate.Done(o.pod)
}

// invalid is why nothing can be planned for the owner, or nil. A claim created for it would have an owner reference
// without a UID, which the API server rejects, or to an object of another API.
func (o *owner) invalid() *purekube.ObjectError {
	version, _ := schema.ParseGroupVersion(o.apiVersion) // what does not parse is of no group
	switch {
	case o.UID == "":
		return o.problem("metadata.uid", ErrNoUID)
	case o.isGroup() && (version.Group != schedulingGroup || version.Version == ""):
		return o.problem("apiVersion", ErrAPIVersion)
	}
	return nil
}

// repeated reports whether an entry before this one has its name. The API does not allow that (errDuplicateEntry).
func (o *owner) repeated(i int) bool {
	name := o.entries[i].Name
	if o.first != nil {
		return o.first[name] < i
	}
	return slices.IndexFunc(o.entries, func(pc corev1.PodResourceClaim) bool { return pc.Name == name }) < i
}

// status is the first status of that name, or nil. It points into the owner.
func (o *owner) status(name string) *corev1.PodResourceClaimStatus {
	if o.named == nil {
		return statusNamed(o.statuses, name)
	}
	if i, there := o.named[name]; there {
		return &o.statuses[i]
	}
	return nil
}

// claimName is what [ClaimName] says of entry i, also for a PodGroup, and without a pass over the statuses of a long
// list.
func (o *owner) claimName(i int) (name string, state NameState) {
	if pc := &o.entries[i]; generated(pc) {
		return generatedName(o.status(pc.Name))
	}
	return ClaimName(nil, &o.entries[i])
}

// resolved are the claims that the entries resolve to, in their order. They need not exist, and two entries may resolve
// to one claim. Entries whose claim has no name yet are left out.
func (o *owner) resolved() iter.Seq[types.NamespacedName] {
	return func(yield func(types.NamespacedName) bool) {
		for i := range o.entries {
			name, state := o.claimName(i)
			if state == NameKnown && !yield(types.NamespacedName{Namespace: o.Namespace, Name: name}) {
				return
			}
		}
	}
}

// resolvesTo reports whether one of the entries resolves to the claim. A claim of another namespace never matches.
func (o *owner) resolvesTo(claim types.NamespacedName) bool {
	for name := range o.resolved() {
		if name == claim {
			return true
		}
	}
	return false
}

// uses reports whether one of the entries resolves to the claim's name, or whether the claim was generated for the
// owner. It decides which owners an event of the claim affects, so it may say yes too often: an entry need not match
// the annotation.
func (o *owner) uses(claim *resourcev1.ResourceClaim) bool {
	if claim.Namespace != o.Namespace {
		return false
	}
	of, ok := owningEntry(claim)
	return ok && o.UID == of.owner && o.anyGenerated() || o.resolvesTo(types.NamespacedName{Namespace: claim.Namespace, Name: claim.Name})
}

// anyGenerated reports whether one of the entries has a template. Only such an owner can have a generated claim.
func (o *owner) anyGenerated() bool {
	return slices.ContainsFunc(o.entries, func(pc corev1.PodResourceClaim) bool { return pc.ResourceClaimTemplateName != nil })
}

// namesTemplate reports whether one of the entries names the template.
func (o *owner) namesTemplate(template types.NamespacedName) bool {
	return o.Namespace == template.Namespace && slices.ContainsFunc(o.entries, func(pc corev1.PodResourceClaim) bool {
		return pc.ResourceClaimTemplateName != nil && *pc.ResourceClaimTemplateName == template.Name
	})
}

// reference is the owner reference of a claim that is generated for an entry (BR-30-02). As upstream's it has no
// blockOwnerDeletion: the deletion of a pod does not wait for its claims.
func (o *owner) reference() metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: o.apiVersion, Kind: o.kind, Name: o.Name, UID: o.UID, Controller: ptr.To(true)}
}

// generatedFor is the entry of a pod or PodGroup that a claim was made for. It is comparable: a claim and an entry
// belong together if owningEntry of the claim equals generatedFor or one of changedFor of the entry.
//
//	claim of entry gpu of pod train-0            changed   entry   generateName
//	as it was created                            false     gpu
//	without the controller flag (D-38)           true      gpu
//	without the annotation (D-38)                true              train-0-gpu-
type generatedFor struct {
	namespace string
	owner     types.UID
	entry     string
	// changed: the claim does not say so as it was created (D-38). Then the entry may be known by the
	// claim's generateName alone.
	changed      bool
	generateName string
}

// generatedFor is what the claim of an entry is found by. The owner's name is not part of the key: a pod that was
// recreated under its name has another UID, and gets claims of its own.
func (o *owner) generatedFor(entry string) generatedFor {
	return generatedFor{namespace: o.Namespace, owner: o.UID, entry: entry}
}

// changedFor are what the claim of an entry is found by after an admission policy has changed it: first by its
// annotation, which is exact, then by its generateName. A generateName that was cut may be the same for two entries.
func (o *owner) changedFor(entry string) [2]generatedFor {
	named := o.generatedFor(entry)
	named.changed = true
	unnamed := named
	unnamed.entry, unnamed.generateName = "", GenerateName(o.Name, entry)
	return [...]generatedFor{named, unnamed}
}

// mayBeFor reports whether a claim that is not the owner's by its controller reference may have been created for entry
// i all the same (D-38). A claim of another pod or PodGroup is not: a pod that was recreated may have the status of its
// predecessor, and then it gets a claim of its own.
func (o *owner) mayBeFor(i int, claim *resourcev1.ResourceClaim) bool {
	controller := metav1.GetControllerOfNoCopy(claim)
	// The policy may have removed every trace. In doubt no claim is created: the user sees the error, and not one more
	// claim with each plan.
	if controller == nil {
		return true
	}
	// An object of another kind is the controller. The generateName or a further owner reference shows whether the
	// claim was created for this entry.
	return !isPodOwner(controller) && !isPodGroupOwner(controller) &&
		(claim.GenerateName == GenerateName(o.Name, o.entries[i].Name) ||
			slices.ContainsFunc(claim.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == o.UID }))
}

// noun is the kind as messages have it: "pod" is a common word, and "PodGroup" a name.
func (o *owner) noun() string {
	if o.isGroup() {
		return podGroupKind
	}
	return "pod"
}

// failed is the event for an entry that gets no claim. It has the resourceVersion of the object, as events of
// upstream's recorder do.
func (o *owner) failed(entry, reason string) purekube.Event {
	return failedEvent(corev1.ObjectReference{
		APIVersion: o.apiVersion, Kind: o.kind, Namespace: o.Namespace, Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion,
	}, entry, reason)
}

// problem is an error about the owner, or about a field of it.
func (o *owner) problem(field string, err error) *purekube.ObjectError {
	return &purekube.ObjectError{Kind: o.kind, Namespace: o.Namespace, Name: o.Name, Field: field, Err: err}
}

// entryProblem is an error about entry i, or about a field of the entry. The path is the same for both kinds, because a
// PodGroup has its entries in spec.resourceClaims too.
func (o *owner) entryProblem(i int, field string, err error) *purekube.ObjectError {
	path := fmt.Sprintf("spec.resourceClaims[%d]", i)
	if field != "" {
		path += "." + field
	}
	return o.problem(path, err)
}

// unsupported is upstream's text about an entry that names neither a claim nor a template. Upstream quotes the names of
// a pod, and does not quote the names of a PodGroup.
func (o *owner) unsupported(entry string) string {
	text := fmt.Sprintf("pod %q, spec.resourceClaim %q", o.Namespace+"/"+o.Name, entry)
	if o.isGroup() {
		text = fmt.Sprintf("PodGroup %s/%s, spec.resourceClaim %s", o.Namespace, o.Name, entry)
	}
	return fmt.Sprintf("checking for claim before creating it: %s: %v", text, ErrUnsupported)
}
