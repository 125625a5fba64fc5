package resourceclaim

import (
	"errors"
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// ErrUnsupported: an entry of spec.resourceClaims names neither a claim nor a template.
var ErrUnsupported = errors.New("none of the supported fields are set")

// ErrTemplateNotFound: an entry of spec.resourceClaims names a template that is not in the snapshot.
var ErrTemplateNotFound = errors.New("template not found")

// ErrNotController: the status of an entry with a template names a claim that may have been created for the entry, but
// the claim's owner references do not name the owner: an admission policy or a user has changed them. The entry gets no
// other claim. Delete the claim or restore its owner reference; the next plan then continues.
var ErrNotController = errors.New("the named claim has no controller reference to the object that it was created for")

// errDuplicateEntry: the API does not allow two entries of one name.
var errDuplicateEntry = errors.New("several entries have this name")

// entryState is the state of an entry of spec.resourceClaims. The zero value is no state.
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

// entry is one entry of a pod's spec.resourceClaims, resolved. claim is set when ready and to
// adopt, template when to create. Where an answer of the API server is none, problem says why it is unknown. When it failed, problem says why, and reason is upstream's
// text of it for the event; that is empty where the snapshot is at fault and not the pod.
type entry struct {
	state    entryState
	claim    *resourcev1.ResourceClaim
	template *resourcev1.ResourceClaimTemplate
	problem  *purekube.ObjectError
	reason   string
}

// resolve finds out about entry i (handleClaim and handlePodGroupClaim in upstream's controller.go).
func (x *Index) resolve(o *owner, i int) entry {
	pc := &o.entries[i]
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
	case NoNameState, NameNotCreated: // there may be one all the same
	case NameKnown:
		key := types.NamespacedName{Namespace: o.Namespace, Name: name}
		claim, ambiguous := x.claim(key)
		if ambiguous {
			return entry{state: entryFailed, problem: snapshot.DuplicateError(claimKind, key)}
		}
		if claim != nil && (!generated(pc) || x.owns(o, claim)) {
			return entry{state: entryReady, claim: claim}
		}
		if generated(pc) {
			switch e := x.named(o, i, key, claim); {
			case e.state == entryUnknown && x.waitsInAnyCase(o, i):
				return entry{state: entryWaiting}
			case e.state != 0:
				return e
			}
			if others = claim; others == nil {
				others, _ = x.lookUp(needClaim(key.Namespace, key.Name)).found.(*resourcev1.ResourceClaim)
			}
		}
	}
	if !generated(pc) {
		return entry{state: entryMissing}
	}
	if o.member.name != "" {
		if e := x.shared(o, i); e.state != 0 {
			return e
		}
	}
	return x.generate(o, i, others)
}

// named is for an entry with a template whose status names a claim that is not among the cached ones,
// or is another's there: cached is that one. A result without a state says that the named claim is
// gone, or another's.
func (x *Index) named(o *owner, i int, name types.NamespacedName, cached *resourcev1.ResourceClaim) entry {
	switch {
	case x.options.upstreamSince137():
		if written, _, _ := x.newest(name); written != nil {
			if x.owns(o, written) {
				return entry{state: entryElsewhere}
			}
			return entry{}
		}
	case x.options.upstream():
		return entry{}
	case cached != nil:
		return x.another(o, i, cached)
	}
	// D-28: a cache that lags does not show a claim that was made a moment ago.
	answer := x.lookUp(needClaim(name.Namespace, name.Name))
	found, _ := answer.found.(*resourcev1.ResourceClaim)
	switch {
	case !answer.asked:
		return entry{state: entryUnknown, problem: answer.problem}
	case found == nil:
		return entry{}
	case !x.owns(o, found):
		return x.another(o, i, found)
	case x.options.upstream():
		return entry{state: entryElsewhere}
	}
	return entry{state: entryReady, claim: found}
}

// another handles an entry whose status names a claim of another owner. A result without a state means that the entry
// gets its own claim.
func (x *Index) another(o *owner, i int, claim *resourcev1.ResourceClaim) entry {
	if _, _, isGroups := owningPodGroup(claim); isGroups && x.options.PodGroupOf == nil && !x.options.upstream() {
		// D-27: PodGroups are on in the cluster. A claim for the pod alone would take it off its
		// group's.
		return entry{state: entryFailed, problem: o.entryProblem(i, "", ErrPodGroupClaim)}
	}
	return entry{}
}

// waitsInAnyCase reports whether the pod waits, be the claim that its status names there or gone: it has no
// node, so that nothing is reserved, and without that claim its group's is still to be made.
func (x *Index) waitsInAnyCase(o *owner, i int) bool {
	return !x.options.upstream() && !o.isGroup() && o.node == "" && o.member.group != nil && x.shared(o, i).state == entryWaiting
}

// shared handles an entry of a pod that is in a PodGroup. If the entry belongs to the group, its claim is the group's
// claim. A result without a state means that the entry is the pod's own.
func (x *Index) shared(o *owner, i int) entry {
	pc := &o.entries[i]
	o.member.consult()
	key := o.generatedFor(pc.Name)
	g := o.member.group
	if g != nil {
		bound, failsAt := g.binds(pc)
		if failsAt >= 0 && x.options.upstream() {
			problem, reason := g.unbindable(failsAt)
			return entry{state: entryFailed, problem: problem, reason: reason}
		}
		if !bound {
			return entry{}
		}
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
	// D-32: without the group it is not known whose entry this is.
	return entry{state: entryFailed, problem: o.entryProblem(i, "", o.member.problem)}
}

// generate is for an entry with a template whose claim the status does not name, or whose named
// claim is gone or another's: others is the named claim in the latter case.
func (x *Index) generate(o *owner, i int, others *resourcev1.ResourceClaim) entry {
	pc := &o.entries[i]
	// The claim may have been created when the status could not be written.
	claim, ambiguous := x.generatedClaim(o.generatedFor(pc.Name))
	if ambiguous != nil {
		return entry{state: entryFailed, problem: snapshot.DuplicateError(claimKind, *ambiguous)}
	}
	if claim != nil {
		return entry{state: entryAdopt, claim: claim}
	}
	if !x.options.upstream() {
		// D-38: another claim would be changed in the same way, and so would all after it.
		if others != nil && o.mayBeFor(i, others) {
			return entry{state: entryFailed, problem: o.entryProblem(i, "", fmt.Errorf("%w: %s", ErrNotController, others.Name))}
		}
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
	if err := checkFeatures(template, x.options); err != nil {
		return entry{state: entryFailed, problem: o.entryProblem(i, "resourceClaimTemplateName", err), reason: err.Error()}
	}
	return entry{state: entryCreate, template: template}
}
