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

	"github.com/purekube/purekube"
)

// claimant is a pod or PodGroup with its entries, the spec.resourceClaims: claims are generated for it. Both kinds have
// the same rules, as upstream's handleClaim and handlePodGroupClaim do, so a plan is written once, for a claimant.
//
// It is made for one question and belongs to one goroutine. It points into the object, and nothing writes through it.
type claimant struct {
	*metav1.ObjectMeta
	kind, apiVersion string
	entries          []corev1.PodResourceClaim
	statuses         []corev1.PodResourceClaimStatus
	// pod is nil for a PodGroup. node is the node of a pod, and member the PodGroup that the pod is in, once that is
	// known.
	pod    *corev1.Pod
	node   string
	member membership
	// first and named are, by name, the position of the first entry and of the first status, so that a pass over all
	// entries costs no more than their number. Nil when there are few entries.
	// A user decides how many entries a pod has, and searching each name in the list would cost the square of their
	// number.
	first, named map[string]int
}

// fewEntries is the number of entries up to which a search in the list costs less than a map.
const fewEntries = 8

// podClaimant is the pod as a claimant. Its member is not known before decideClaimant.
func podClaimant(pod *corev1.Pod) (c claimant) {
	c = claimant{
		ObjectMeta: &pod.ObjectMeta, kind: podKind, apiVersion: podAPIVersion, pod: pod, node: pod.Spec.NodeName,
		entries: pod.Spec.ResourceClaims, statuses: pod.Status.ResourceClaimStatuses,
	}
	c.arrange()
	return c
}

// groupClaimant is the PodGroup as a claimant. It has no node and is in no group.
func groupClaimant(g *podGroup) (c claimant) {
	c = claimant{ObjectMeta: &g.ObjectMeta, kind: podGroupKind, apiVersion: g.apiVersion, entries: g.entries,
		statuses: g.statuses}
	c.arrange()
	return c
}

// arrange makes the maps of a long list. The first entry and the first status of a name count, as in a search from the
// front.
func (c *claimant) arrange() {
	if len(c.entries) <= fewEntries {
		return
	}
	c.first = make(map[string]int, len(c.entries))
	for i := range c.entries {
		if _, taken := c.first[c.entries[i].Name]; !taken {
			c.first[c.entries[i].Name] = i
		}
	}
	c.named = make(map[string]int, len(c.statuses))
	for i := range c.statuses {
		if _, taken := c.named[c.statuses[i].Name]; !taken {
			c.named[c.statuses[i].Name] = i
		}
	}
}

// code is one of two codes: a pod and a PodGroup have codes of their own, so that a caller can count them apart.
func (c *claimant) code(pod, group Code) Code {
	if c.isGroup() {
		return group
	}
	return pod
}

func (c *claimant) key() purekube.Key {
	return purekube.Key{Kind: c.kind, Namespace: c.Namespace, Name: c.Name}
}

// isGroup reports whether the claimant is a PodGroup. Nothing is reserved by a group's plan, and its limit is 4
// entries.
func (c *claimant) isGroup() bool { return c.pod == nil }

// invalid is why nothing can be planned for the claimant, or nil. A claim created for it would have an owner reference
// without a UID, which the API server rejects, or to an object of another API.
func (c *claimant) invalid() *purekube.ObjectError {
	version, _ := schema.ParseGroupVersion(c.apiVersion) // what does not parse is of no group
	switch {
	case c.UID == "":
		return c.problem("metadata.uid", errNoUID)
	case c.isGroup() && (version.Group != schedulingGroup || version.Version == ""):
		return c.problem("apiVersion", errAPIVersion)
	}
	return nil
}

// position is the position of the first entry of that name; -1: there is none.
func (c *claimant) position(name string) int {
	if c.first == nil {
		return slices.IndexFunc(c.entries, func(pc corev1.PodResourceClaim) bool { return pc.Name == name })
	}
	if i, there := c.first[name]; there {
		return i
	}
	return -1
}

// repeated reports whether an entry before this one has its name. The API does not allow that (errDuplicateEntry).
func (c *claimant) repeated(i int) bool { return c.position(c.entries[i].Name) < i }

// status is the first status of that name, or nil. It points into the claimant.
func (c *claimant) status(name string) *corev1.PodResourceClaimStatus {
	if c.named == nil {
		return statusNamed(c.statuses, name)
	}
	if i, there := c.named[name]; there {
		return &c.statuses[i]
	}
	return nil
}

// claimName is what [ClaimName] says of entry i, also for a PodGroup, and without a pass over the statuses of a long
// list.
func (c *claimant) claimName(i int) (name string, state NameState) {
	if pc := &c.entries[i]; generated(pc) {
		return generatedName(c.status(pc.Name))
	}
	return ClaimName(nil, &c.entries[i])
}

// resolved are the claims that the entries resolve to, in their order. They need not exist, and two entries may resolve
// to one claim. Entries whose claim has no name yet are left out.
func (c *claimant) resolved() iter.Seq[types.NamespacedName] {
	return func(yield func(types.NamespacedName) bool) {
		for i := range c.entries {
			name, state := c.claimName(i)
			if state == NameKnown && !yield(types.NamespacedName{Namespace: c.Namespace, Name: name}) {
				return
			}
		}
	}
}

// resolvesTo reports whether one of the entries resolves to the claim. A claim of another namespace never matches.
func (c *claimant) resolvesTo(claim types.NamespacedName) bool {
	for name := range c.resolved() {
		if name == claim {
			return true
		}
	}
	return false
}

// uses reports whether one of the entries resolves to the claim's name, or whether the claim was generated for the
// claimant. It decides which claimants an event of the claim affects, so it may say yes too often: an entry need not
// match the annotation.
func (c *claimant) uses(claim *resourcev1.ResourceClaim) bool {
	if claim.Namespace != c.Namespace {
		return false
	}
	of, ok := owningEntry(claim)
	return ok && c.UID == of.owner && c.anyGenerated() ||
		c.resolvesTo(types.NamespacedName{Namespace: claim.Namespace, Name: claim.Name})
}

// anyGenerated reports whether one of the entries has a template. Only such a claimant can have a generated claim.
func (c *claimant) anyGenerated() bool {
	return slices.ContainsFunc(c.entries, func(pc corev1.PodResourceClaim) bool {
		return pc.ResourceClaimTemplateName != nil
	})
}

// namesTemplate reports whether one of the entries names the template.
func (c *claimant) namesTemplate(template types.NamespacedName) bool {
	return c.Namespace == template.Namespace && slices.ContainsFunc(c.entries, func(pc corev1.PodResourceClaim) bool {
		return pc.ResourceClaimTemplateName != nil && *pc.ResourceClaimTemplateName == template.Name
	})
}

// generatedFor is what the claim of an entry is found by. The name of the pod is not part of the key: a pod that was
// recreated under its name has another UID, and gets claims of its own.
func (c *claimant) generatedFor(entry string) generatedFor {
	return generatedFor{namespace: c.Namespace, owner: c.UID, entry: entry}
}

// changedFor are what the claim of an entry is found by after an admission policy has changed it: first by its
// annotation, which is exact, then by its generateName. A generateName that was cut may be the same for two entries.
func (c *claimant) changedFor(entry string) [2]generatedFor {
	named := c.generatedFor(entry)
	named.changed = true
	unnamed := named
	unnamed.entry, unnamed.generateName = "", GenerateName(c.Name, entry)
	return [...]generatedFor{named, unnamed}
}

// problem is an error about the claimant, or about a field of it.
func (c *claimant) problem(field string, err error) *purekube.ObjectError {
	return &purekube.ObjectError{Kind: c.kind, Namespace: c.Namespace, Name: c.Name, Field: field, Err: err}
}

// entryProblem is an error about entry i, or about a field of the entry. The path is the same for both kinds, because a
// PodGroup has its entries in spec.resourceClaims too.
func (c *claimant) entryProblem(i int, field string, err error) *purekube.ObjectError {
	path := fmt.Sprintf("spec.resourceClaims[%d]", i)
	if field != "" {
		path += "." + field
	}
	return c.problem(path, err)
}

// unsupported is upstream's text about an entry that names neither a claim nor a template. Upstream quotes the names of
// a pod, and does not quote the names of a PodGroup.
func (c *claimant) unsupported(entry string) string {
	text := fmt.Sprintf("pod %q, spec.resourceClaim %q", c.Namespace+"/"+c.Name, entry)
	if c.isGroup() {
		text = fmt.Sprintf("PodGroup %s/%s, spec.resourceClaim %s", c.Namespace, c.Name, entry)
	}
	return fmt.Sprintf("checking for claim before creating it: %s: %v", text, errUnsupported)
}

// NameState says what is known about the claim of an entry of a pod's spec.resourceClaims.
//
//	spec of the entry   status of the entry   state
//	claim               any                   NameKnown
//	template            none                  NameNotCreated
//	template            without a name        NameNotNeeded
//	template            with a name           NameKnown
//	neither             any                   NameUnsupported
type NameState string

const (
	// NoNameState is the zero value. [ClaimName] never returns it.
	NoNameState NameState = ""
	// NameKnown: the entry's claim has a name. NameKnown does not say whether that claim exists, nor, for an entry with
	// a template, whether it belongs to the pod.
	NameKnown NameState = "Known"
	// NameNotCreated: the claim will be created from a template, and the pod's status does not name a claim yet.
	NameNotCreated NameState = "NotCreated"
	// NameNotNeeded: the pod's status says that no claim is needed for the entry.
	NameNotNeeded NameState = "NotNeeded"
	// NameUnsupported: the entry names neither a claim nor a template. It may come from a newer version of the API.
	NameUnsupported NameState = "Unsupported"
)

// ClaimName returns the name of the claim of an entry of pod.Spec.ResourceClaims. For an entry that names a claim, it
// is that name; for an entry with a template, it is the name in pod.Status.ResourceClaimStatuses. The name is empty
// unless the state is NameKnown. A nil pod has no status, and a nil entry names nothing.
//
// Upstream: Name in k8s.io/dynamic-resource-allocation/resourceclaim. An entry that has both fields, which the API does
// not allow, resolves to the claim that it names.
//
// It does not check whether the pod may use the claim. A claim from a template belongs to the pod only if the pod, or
// its PodGroup, is the controller of the claim (BR-30-02).
func ClaimName(pod *corev1.Pod, pc *corev1.PodResourceClaim) (name string, state NameState) {
	switch {
	case pc == nil:
		return "", NameUnsupported
	// The status of such an entry does not count: its name is in the spec.
	case pc.ResourceClaimName != nil:
		return *pc.ResourceClaimName, NameKnown
	case pc.ResourceClaimTemplateName == nil:
		return "", NameUnsupported
	case pod == nil:
		return "", NameNotCreated
	}
	return generatedName(statusNamed(pod.Status.ResourceClaimStatuses, pc.Name))
}

// generatedName resolves an entry with a template from its status, which may be nil. No status and a status without a
// name are different: the first means "not yet", the second "never".
func generatedName(status *corev1.PodResourceClaimStatus) (name string, state NameState) {
	switch {
	case status == nil:
		return "", NameNotCreated
	case status.ResourceClaimName == nil:
		return "", NameNotNeeded
	// An empty name is no name; the API does not allow it.
	case *status.ResourceClaimName == "":
		return "", NameNotCreated
	}
	return *status.ResourceClaimName, NameKnown
}

// statusNamed is the first status of that name, or nil. It points into the slice, so do not write to it. The API does
// not allow a second status of the name.
func statusNamed(statuses []corev1.PodResourceClaimStatus, entry string) *corev1.PodResourceClaimStatus {
	for i := range statuses {
		if statuses[i].Name == entry {
			return &statuses[i]
		}
	}
	return nil
}
