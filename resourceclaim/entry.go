package resourceclaim

import (
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
)

// entry is one entry of the spec.resourceClaims of a pod or PodGroup, and what is decided about it.
//
//	code                 claim   template   problem            text
//	ClaimAdopted         yes
//	ClaimCreated                 yes
//	ClaimUnknown                            an unusable answer
//	ClaimFailed                             always             for the event, or empty
//	entryReady           yes
//
// text is upstream's text of the problem. It is empty where the snapshot is at fault and not the pod, as with two
// claims of one name: an event would tell the pod's owner about something that is not in the cluster.
//
// An entry usually goes through these states:
//
//	with a template          ClaimCreated, then ready
//	the status write failed  ClaimCreated, then ClaimAdopted, then ready
//	of a PodGroup            ClaimWaiting, then ClaimAdopted (the group's claim), then ready
//	names a claim            ClaimMissing until its user creates the claim, then ready
type entry struct {
	code     Code
	claim    *resourcev1.ResourceClaim
	template *resourcev1.ResourceClaimTemplate
	problem  *purekube.ObjectError
	text     string
	// forGroup: the claim is or will be reserved for the pod's PodGroup. reserve: by this plan.
	forGroup, reserve bool
}

// entryReady is the code between resolve and reservation: the entry's claim is there, and is the pod's if it has to be.
// Allocation and reservation, which are states of the claim, decide what comes of it.
const entryReady Code = "ready"

// resolve finds out about entry i (handleClaim and handlePodGroupClaim in upstream's controller.go). It asks in this
// order, and the first answer counts:
//
//   - the status: no claim is needed
//   - the claim that the entry or the status names, if the claimant may use it
//   - the API server, about a named claim that no cache has (D-28)
//   - the PodGroup, if the pod is in a group: the claim may be the group's to create
//   - a claim that was generated for the entry and that the status does not name
//   - the template
//
// It changes nothing but what the claimant's membership notes. Its cost does not depend on the size of the snapshot.
func (x *Index) resolve(c *claimant, i int) entry {
	pc := &c.entries[i]
	// The name of an entry is the key of its status. The first entry of the name is handled.
	if c.repeated(i) {
		return failing(c.entryProblem(i, "name", errDuplicateEntry))
	}
	name, state := c.claimName(i)
	var others *resourcev1.ResourceClaim // the claim that the status names, if that is not the entry's
	switch state {
	case NameUnsupported:
		return entry{code: ReasonClaimFailed, problem: c.entryProblem(i, "", errUnsupported), text: c.unsupported(pc.Name)}
	case NameNotNeeded:
		return entry{code: ReasonClaimNotNeeded}
	// The status of a pod is written after its claim is created. If that write failed, the claim exists all the same.
	case NoNameState, NameNotCreated:
	case NameKnown:
		key := ClaimKey(c.Namespace, name)
		claim, problem := x.claim(key.NamespacedName())
		if problem != nil {
			return failing(problem)
		}
		// A claim that the user names may belong to anybody: several pods may share it. A generated claim must be the
		// claimant's, or it could be a user's claim of the same name.
		if claim != nil && (!generated(pc) || x.options.owns(c, claim)) {
			return entry{code: entryReady, claim: claim}
		}
		if generated(pc) {
			// The named claim is gone, or another's, or unknown.
			switch e := x.named(c, i, key, claim); {
			case e.code == ReasonClaimUnknown && x.waitsInAnyCase(c, i):
				return entry{code: ReasonClaimWaiting}
			case e.code != "":
				return e
			}
			// named has asked the API server for it, if it was not cached.
			if others = claim; others == nil {
				others, _ = x.lookUp(needOf(key)).found.(*resourcev1.ResourceClaim)
			}
		}
	}
	// A named claim that does not exist is for its user to create (BR-30-01 is about templates only). Whether it exists
	// is not asked for: no answer would change the plan.
	if !generated(pc) {
		return entry{code: ReasonClaimMissing}
	}
	if c.member.name != "" {
		// The group comes before the template: an entry that belongs to the group must never get a claim of the pod's
		// own.
		if e := x.shared(c, i); e.code != "" {
			return e
		}
	}
	return x.generate(c, i, others)
}

// failing is an entry that fails without an event.
func failing(problem *purekube.ObjectError) entry {
	return entry{code: ReasonClaimFailed, problem: problem}
}

// named is for an entry with a template whose status names a claim that is not among the cached ones, or is another's
// there: cached is the other's claim. A result without a code says that the named claim is gone, or another's.
//
//	               default                 v1.37 (claimExists)             v1.36
//	another's      see another             its own claim is created        its own claim is created
//	not cached     a Need, then as found   own writes, then a live lookup  its own claim is created
func (x *Index) named(c *claimant, i int, key purekube.Key, cached *resourcev1.ResourceClaim) entry {
	switch {
	case !x.options.asksForNamed():
		return entry{}
	case x.options.usesListedOnly():
		// v1.37 looks into its cache of own writes here, but reserves only what the informer's cache has. So the entry
		// is neither failed nor ready.
		if written, _ := x.current(key.NamespacedName()); written != nil && x.options.owns(c, written) {
			return entry{code: ReasonClaimNotInCache}
		} else if written != nil {
			return entry{}
		}
	case cached != nil:
		// The cache knows whose the claim is, and no lookup is needed.
		return x.another(c, i, cached)
	}
	answer := x.lookUp(needOf(key))
	found, _ := answer.found.(*resourcev1.ResourceClaim)
	switch {
	case !answer.asked:
		// Nobody has asked, or the answer cannot be used: the plan has a Need.
		return entry{code: ReasonClaimUnknown, problem: answer.problem}
	case found == nil:
		// The claim is gone, and the entry gets another one.
		return entry{}
	case !x.options.owns(c, found):
		return x.another(c, i, found)
	case x.options.usesListedOnly():
		return entry{code: ReasonClaimNotInCache}
	}
	// The answer serves like a cached claim: a Reserve has its resourceVersion.
	return entry{code: entryReady, claim: found}
}

// another handles an entry whose status names a claim of another owner. A result without a code means that the entry
// gets its own claim.
func (x *Index) another(c *claimant, i int, claim *resourcev1.ResourceClaim) entry {
	if x.options.isUnknownGroups(claim) {
		return failing(c.entryProblem(i, "", ErrPodGroupClaim))
	}
	return entry{}
}

// waitsInAnyCase reports whether the pod waits, whether or not the claim that its status names exists: the pod has no
// node, so nothing is reserved for it, and if the claim is gone, the PodGroup's claim must be created first. A lookup
// that decides nothing is not asked for: hundreds of pods of a group that is being created would ask for the same
// claim.
func (x *Index) waitsInAnyCase(c *claimant, i int) bool {
	return x.options.skipsNeedless() && c.node == "" && c.member.group != nil && x.shared(c, i).code == ReasonClaimWaiting
}

// shared handles an entry of a pod that is in a PodGroup. If the entry belongs to the group, its claim is the group's
// claim. A result without a code means that the entry is the pod's own.
//
//	group            entry of the group   claim of the group   result
//	there            yes                  there                adopt it
//	there            yes                  not yet              wait for the group's plan
//	there            no                                        the pod's own: no code
//	does not exist   unknown              the pod's own claim  adopt it, or an error (D-32)
func (x *Index) shared(c *claimant, i int) entry {
	pc := &c.entries[i]
	// From here on the group decides. If it is not known whether there is one, the plan asks for it.
	c.member.consult()
	key := c.generatedFor(pc.Name)
	g := c.member.group
	if g != nil {
		bound, failsAt := x.options.bound(g, pc)
		if failsAt >= 0 {
			text := fmt.Sprintf("PodGroup %s/%s claim %s: %v", g.Namespace, g.Name, g.entries[failsAt].Name, errUnsupported)
			return entry{code: ReasonClaimFailed, problem: unbindable(g, failsAt), text: text}
		}
		if !bound {
			return entry{}
		}
		// The group owns the claim, so the claim is found by the group's UID and the name of the entry, which both
		// share.
		key.owner = g.UID
	}
	if e := x.adopts(key); e.code != "" {
		return e
	}
	if g != nil {
		return entry{code: ReasonClaimWaiting}
	}
	return failing(c.entryProblem(i, "", c.member.problem)) // D-32
}

// unbindable is upstream's failure at that entry of the group, for one of its pods. The problem is the group's.
func unbindable(g *podGroup, i int) *purekube.ObjectError {
	c := groupClaimant(g)
	return c.entryProblem(i, "", errUnsupported)
}

// adopts looks for a claim that was generated for the entry. A result without a code means that there is none.
func (x *Index) adopts(key generatedFor) entry {
	claim, problem := x.generatedClaim(key)
	switch {
	case problem != nil:
		return failing(problem)
	case claim != nil:
		return entry{code: ReasonClaimAdopted, claim: claim}
	}
	return entry{}
}

// generate is for an entry with a template whose claim the status does not name, or whose named claim is gone or
// another's: others is the named claim in the latter case. It looks for a claim that was made for the entry before it
// asks for a new one: a claim too many stays unused until the pod is deleted.
func (x *Index) generate(c *claimant, i int, others *resourcev1.ResourceClaim) entry {
	pc := &c.entries[i]
	// The claim may have been created when the status could not be written (findPodResourceClaim in upstream's
	// controller.go).
	if e := x.adopts(c.generatedFor(pc.Name)); e.code != "" {
		return e
	}
	if x.options.findsChanged() { // D-38
		if others != nil && mayBeFor(c, i, others) {
			return failing(c.entryProblem(i, "", fmt.Errorf("%w: %s", ErrNotController, others.Name)))
		}
		// The same for a claim that no status names yet. It is put into the status, and the next plan finds it by its
		// name: it is ready if only the annotation is lost, and ErrNotController if the owner is.
		for _, changed := range c.changedFor(pc.Name) {
			if e := x.adopts(changed); e.code != "" {
				return e
			}
		}
	}
	// Nothing was made for the entry. A missing template has an event, since the pod's user can create it. Two
	// templates of one name have none: they are only in the snapshot.
	key := types.NamespacedName{Namespace: c.Namespace, Name: *pc.ResourceClaimTemplateName}
	template, twice := x.templates.Lookup(key)
	if twice != nil {
		return failing(twice)
	}
	if template == nil {
		return entry{
			code:    ReasonClaimFailed,
			problem: c.entryProblem(i, "resourceClaimTemplateName", fmt.Errorf("%w: %s", errTemplateNotFound, key.Name)),
			// As upstream's lister says it.
			text: fmt.Sprintf("resource claim template %q: %s %q not found", key.Name,
				resourcev1.Resource("resourceclaimtemplate"), key.Name),
		}
	}
	// Upstream refuses such a template as well, before it creates anything.
	if err := x.options.refusedTemplate(template); err != nil {
		return entry{code: ReasonClaimFailed, problem: c.entryProblem(i, "resourceClaimTemplateName", err), text: err.Error()}
	}
	return entry{code: ReasonClaimCreated, template: template}
}
