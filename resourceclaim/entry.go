package resourceclaim

import (
	"errors"
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// ErrUnsupported: an entry of spec.resourceClaims names neither a claim nor a template. A newer version of the API may
// have a third kind of entry, which this version reads as an empty one.
var ErrUnsupported = errors.New("none of the supported fields are set")

// ErrTemplateNotFound: an entry of spec.resourceClaims names a template that is not in the snapshot.
var ErrTemplateNotFound = errors.New("template not found")

// ErrNotController: the status of an entry with a template names a claim that may have been created for the entry, but
// the claim's owner references do not name the owner: an admission policy or a user has changed them. The entry gets no
// other claim. Delete the claim or restore its owner reference; the next plan then continues.
var ErrNotController = errors.New("the named claim has no controller reference to the object that it was created for")

// errDuplicateEntry: the API does not allow two entries of one name. Such a pod comes from a simulation or a manifest
// that no API server has seen. A status belongs to an entry by name, so a claim for the second entry could not be
// named.
var errDuplicateEntry = errors.New("several entries have this name")

// entryState is the state of an entry of spec.resourceClaims. The zero value is no state.
//
// An entry usually goes through these states:
//
//	with a template          create, then ready
//	the status write failed  create, then adopt, then ready
//	of a PodGroup            waiting, then adopt (the group's claim), then ready
//	names a claim            missing until its user creates the claim, then ready
//
// ready says nothing about allocation and reservation: these are states of the claim.
type entryState uint8

const (
	entryNotNeeded entryState = iota + 1 // the status says that no claim is needed
	entryReady                           // its claim is there, and is the pod's if it has to be
	entryElsewhere                       // its claim is there, but upstream's cache does not show it
	entryUnknown                         // the API server has to be asked for the claim that the status names
	entryWaiting                         // the claim is the PodGroup's, and is not there yet
	entryMissing                         // it names a claim that its user has yet to make
	entryAdopt                           // its claim is there, but the status does not name it
	entryCreate                          // its claim is to be made
	entryFailed                          // nothing can be done
)

// entry is one entry of the spec.resourceClaims of a pod or PodGroup, resolved.
//
//	state           claim   template   problem                reason
//	entryReady      yes
//	entryAdopt      yes
//	entryCreate             yes
//	entryUnknown                       an unusable answer
//	entryFailed                        always                 for the event, or empty
//
// reason is upstream's text of the problem. It is empty where the snapshot is at fault and not the pod, as with two
// claims of one name: an event would tell the pod's owner about something that is not in the cluster.
type entry struct {
	state    entryState
	claim    *resourcev1.ResourceClaim
	template *resourcev1.ResourceClaimTemplate
	problem  *purekube.ObjectError
	reason   string
}

// resolve finds out about entry i (handleClaim and handlePodGroupClaim in upstream's controller.go). It asks in this
// order, and the first answer counts:
//
//   - the status: no claim is needed
//   - the claim that the entry or the status names, if the owner may use it
//   - the API server, about a named claim that no cache has (D-28)
//   - the PodGroup, if the pod is in a group: the claim may be the group's to create
//   - a claim that was generated for the entry and that the status does not name
//   - the template
//
// It changes nothing but what the owner's membership notes. Its cost does not depend on the size of the snapshot.
func (x *Index) resolve(o *owner, i int) entry {
	pc := &o.entries[i]
	// The name of an entry is the key of its status. The first entry of the name is handled.
	if o.repeated(i) {
		return entry{state: entryFailed, problem: o.entryProblem(i, "name", errDuplicateEntry)}
	}
	name, state := o.claimName(i)
	var others *resourcev1.ResourceClaim // the claim that the status names, if that is not the entry's
	switch state {
	case NameUnsupported:
		return entry{state: entryFailed, problem: o.entryProblem(i, "", ErrUnsupported), reason: o.unsupported(pc.Name)}
	case NameNotNeeded:
		return entry{state: entryNotNeeded}
	// The status of a pod is written after its claim is created. If that write failed, the claim exists all the same.
	case NoNameState, NameNotCreated: // there may be one all the same
	case NameKnown:
		key := types.NamespacedName{Namespace: o.Namespace, Name: name}
		claim, ambiguous := x.claim(key)
		if ambiguous {
			return entry{state: entryFailed, problem: snapshot.DuplicateError(claimKind, key)}
		}
		// A claim that the user names may belong to anybody: several pods may share it. A generated claim must be the
		// owner's, or it could be a user's claim of the same name.
		if claim != nil && (!generated(pc) || x.owns(o, claim)) {
			return entry{state: entryReady, claim: claim}
		}
		if generated(pc) {
			// The named claim is gone, or another's, or unknown.
			switch e := x.named(o, i, key, claim); {
			case e.state == entryUnknown && x.waitsInAnyCase(o, i):
				return entry{state: entryWaiting}
			case e.state != 0:
				return e
			}
			// named has asked the API server for it, if it was not cached.
			if others = claim; others == nil {
				others, _ = x.lookUp(needOf(ClaimKey(key.Namespace, key.Name))).found.(*resourcev1.ResourceClaim)
			}
		}
	}
	// A named claim that does not exist is for its user to create (BR-30-01 is about templates only). Whether it exists
	// is not asked for: no answer would change the plan.
	if !generated(pc) {
		return entry{state: entryMissing}
	}
	if o.member.name != "" {
		// The group comes before the template: an entry that belongs to the group must never get a claim of the pod's
		// own.
		if e := x.shared(o, i); e.state != 0 {
			return e
		}
	}
	return x.generate(o, i, others)
}

// named is for an entry with a template whose status names a claim that is not among the cached ones, or is another's
// there: cached is the other's claim. A result without a state says that the named claim is gone, or another's.
//
//	               default                 v1.37 (claimExists)             v1.36
//	another's      see another             its own claim is created        its own claim is created
//	not cached     a Need, then as found   own writes, then a live lookup  its own claim is created
func (x *Index) named(o *owner, i int, name types.NamespacedName, cached *resourcev1.ResourceClaim) entry {
	switch {
	case x.options.upstreamSince137():
		// v1.37 looks into its cache of own writes here, but reserves only what the informer's cache has. So the entry
		// is neither failed nor ready.
		if written, _, _ := x.newest(name); written != nil {
			if x.owns(o, written) {
				return entry{state: entryElsewhere}
			}
			return entry{}
		}
	case x.options.upstream():
		return entry{}
	case cached != nil:
		// The cache knows whose the claim is, and no lookup is needed. v1.36, above, creates another claim in either
		// case.
		return x.another(o, i, cached)
	}
	// D-28: a cache that lags does not show a claim that was made a moment ago, for example by a process that has
	// crashed since. A second claim would replace it in the status, and the first one would stay unused until the pod
	// is deleted.
	answer := x.lookUp(needOf(ClaimKey(name.Namespace, name.Name)))
	found, _ := answer.found.(*resourcev1.ResourceClaim)
	switch {
	case !answer.asked:
		// Nobody has asked, or the answer cannot be used: the plan has a Need.
		return entry{state: entryUnknown, problem: answer.problem}
	case found == nil:
		// The claim is gone, and the entry gets another one.
		return entry{}
	case !x.owns(o, found):
		return x.another(o, i, found)
	case x.options.upstream():
		return entry{state: entryElsewhere}
	}
	// The answer serves like a cached claim: a Reserve has its resourceVersion.
	return entry{state: entryReady, claim: found}
}

// another handles an entry whose status names a claim of another owner. A result without a state means that the entry
// gets its own claim.
func (x *Index) another(o *owner, i int, claim *resourcev1.ResourceClaim) entry {
	if _, _, isGroups := owningPodGroup(claim); isGroups && x.options.PodGroupOf == nil && !x.options.upstream() {
		// D-27: PodGroups are on in the cluster, and this process does not know it. A claim for the pod alone would
		// take the pod off the devices of its group.
		return entry{state: entryFailed, problem: o.entryProblem(i, "", ErrPodGroupClaim)}
	}
	return entry{}
}

// waitsInAnyCase reports whether the pod waits, be the claim that its status names there or gone: it has no node, so
// that nothing is reserved, and without that claim its group's is still to be made. A lookup that decides nothing is
// not asked for: hundreds of pods of a group that is being created would ask for the same claim.
func (x *Index) waitsInAnyCase(o *owner, i int) bool {
	return !x.options.upstream() && o.node == "" && o.member.group != nil && x.shared(o, i).state == entryWaiting
}

// shared handles an entry of a pod that is in a PodGroup. If the entry belongs to the group, its claim is the group's
// claim. A result without a state means that the entry is the pod's own.
//
//	group            entry of the group   claim of the group   result
//	there            yes                  there                adopt it
//	there            yes                  not yet              wait for the group's plan
//	there            no                                        the pod's own: no state
//	does not exist   unknown              the pod's own claim  adopt it, or an error (D-32)
func (x *Index) shared(o *owner, i int) entry {
	pc := &o.entries[i]
	// From here on the group decides. If it is not known whether there is one, the plan asks for it.
	o.member.consult()
	key := o.generatedFor(pc.Name)
	g := o.member.group
	if g != nil {
		// Upstream's BindTo gives up at an entry of the group that it does not understand. By default that entry of the
		// group is the group's problem: the pod's entry is compared with the others.
		bound, failsAt := g.binds(pc)
		if failsAt >= 0 && x.options.upstream() {
			problem, reason := g.unbindable(failsAt)
			return entry{state: entryFailed, problem: problem, reason: reason}
		}
		if !bound {
			return entry{}
		}
		// The group owns the claim, so the claim is found by the group's UID and the name of the entry, which both
		// share.
		key.owner = g.UID
	}
	claim, ambiguous := x.generatedClaim(key)
	switch {
	case ambiguous != nil:
		return entry{state: entryFailed, problem: snapshot.DuplicateError(claimKind, *ambiguous)}
	case claim != nil:
		return entry{state: entryAdopt, claim: claim}
	case g != nil:
		return entry{state: entryWaiting}
	}
	// D-32: without the group it is not known whose entry this is. If it is the group's, a claim of the pod alone would
	// split the group's pods over devices that they are to share.
	return entry{state: entryFailed, problem: o.entryProblem(i, "", o.member.problem)}
}

// generate is for an entry with a template whose claim the status does not name, or whose named claim is gone or
// another's: others is the named claim in the latter case. It looks for a claim that was made for the entry before it
// asks for a new one: a claim too many stays unused until the pod is deleted.
func (x *Index) generate(o *owner, i int, others *resourcev1.ResourceClaim) entry {
	pc := &o.entries[i]
	// The claim may have been created when the status could not be written (findPodResourceClaim in upstream's
	// controller.go).
	claim, ambiguous := x.generatedClaim(o.generatedFor(pc.Name))
	if ambiguous != nil {
		return entry{state: entryFailed, problem: snapshot.DuplicateError(claimKind, *ambiguous)}
	}
	if claim != nil {
		return entry{state: entryAdopt, claim: claim}
	}
	if !x.options.upstream() {
		// D-38: an admission policy has taken the owner reference or its controller flag off. Another claim would be
		// changed in the same way, and so would all after it: one more claim with each plan.
		if others != nil && o.mayBeFor(i, others) {
			return entry{state: entryFailed, problem: o.entryProblem(i, "", fmt.Errorf("%w: %s", ErrNotController, others.Name))}
		}
		// The same for a claim that no status names yet. It is put into the status, and the next plan finds it by its
		// name: it is ready if only the annotation is lost, and ErrNotController if the owner is.
		for _, changed := range o.changedFor(pc.Name) {
			claim, ambiguous := x.generatedClaim(changed)
			if ambiguous != nil {
				return entry{state: entryFailed, problem: snapshot.DuplicateError(claimKind, *ambiguous)}
			}
			if claim != nil {
				return entry{state: entryAdopt, claim: claim}
			}
		}
	}
	// Nothing was made for the entry. A missing template has an event, since the pod's user can create it. Two
	// templates of one name have none: they are only in the snapshot.
	key := types.NamespacedName{Namespace: o.Namespace, Name: *pc.ResourceClaimTemplateName}
	template, twice := x.templates.Lookup(key)
	if twice != nil {
		return entry{state: entryFailed, problem: twice}
	}
	if template == nil {
		return entry{
			state:   entryFailed,
			problem: o.entryProblem(i, "resourceClaimTemplateName", fmt.Errorf("%w: %s", ErrTemplateNotFound, key.Name)),
			// As upstream's lister says it.
			reason: fmt.Sprintf("resource claim template %q: %s %q not found", key.Name, resourcev1.Resource("resourceclaimtemplate"), key.Name),
		}
	}
	// Upstream refuses such a template as well, before it creates anything.
	if err := checkFeatures(template, x.options); err != nil {
		return entry{state: entryFailed, problem: o.entryProblem(i, "resourceClaimTemplateName", err), reason: err.Error()}
	}
	return entry{state: entryCreate, template: template}
}
