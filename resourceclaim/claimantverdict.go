package resourceclaim

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// claimantVerdict is what is decided about a pod or PodGroup, and why: Plan turns it into actions, Explain into
// sentences, and With asks whether it is empty. What is decided about the entries is returned next to it.
type claimantVerdict struct {
	// code says why nothing is decided about the entries, or that the pod's PodGroup is missing. Only in the latter case
	// entries follow.
	code Code
	// needs are what has to be asked first. Then nothing is done.
	needs []purekube.Need
	// problems are what is wrong with the claimant and its entries.
	problems snapshot.Problems
	// names is how many entries get a name in the status, and reserves how many claims are to be reserved.
	names, reserves int
	// ended: upstream goes no further than the claims to create.
	ended bool
}

// decideClaimant decides about one pod or PodGroup: create what is missing, write the names into its status, and
// reserve for a pod what is allocated (syncPod and syncPodGroup in upstream's controller.go). The claims of a
// PodGroup are reserved for it by its pods' plans. What is decided about each entry is appended to into, which is
// empty.
//
// One pod with a template takes several plans, each after the events of the last:
//
//	plan   the snapshot has                            actions
//	1      the pod                                     CreateClaim, SetClaimStatuses
//	2      the claim, named in the status              none: the scheduler allocates and reserves it
//	3      the pod on a node, the claim not reserved   Reserve
//
// The third plan is needed only if the scheduler has not reserved the claim, for example for a pod that was created
// with a spec.nodeName.
func (x *Index) decideClaimant(c *claimant, into []entry) (v claimantVerdict, entries []entry) {
	if len(c.entries) == 0 {
		return v, into
	}
	if v.code = x.options.getsNothing(c); v.code != "" {
		return v, into
	}
	// The cache may still show an object whose deletion was seen.
	presence, problem := x.presence(c.key(), c.UID)
	if presence == ReasonConsumerDeleted {
		v.code = c.code(ReasonPodDeleted, ReasonPodGroupDeleted) // D-21: what it gets would have to be taken back
		return v, into
	}
	v, entries = x.decideEntries(c, into)
	if !exists(presence) && !v.empty() {
		// D-37: the API server is asked for it only if there is anything to do for it. Otherwise each deleted pod would
		// cost a request whose answer decides nothing.
		return c.asksFor(c.key(), c.code(ReasonPodUnknown, ReasonPodGroupUnknown), "metadata.name", problem), into
	}
	return v, entries
}

// asksFor is the verdict where one object has to be looked up before anything is decided. field has its name, and
// problem is about an answer that cannot be used.
func (c *claimant) asksFor(
	key purekube.Key, code Code, field string, problem *purekube.ObjectError,
) (v claimantVerdict) {
	v.code = code
	need := needOf(key)
	// Options.PodGroupOf may return any text, and the name of a lookup is part of a path.
	if unsafe := snapshot.CheckNeed(need); unsafe != nil {
		v.problems.Add(c.problem(field, unsafe.Err))
		return v
	}
	v.needs = []purekube.Need{need}
	if problem != nil {
		v.problems.Add(problem)
	}
	return v
}

// decideEntries is decideClaimant for a pod or PodGroup that is there. It finds the claim of each entry first, and then
// looks at what is to be reserved. If an entry has a Need, the plan has the Needs alone.
func (x *Index) decideEntries(c *claimant, into []entry) (v claimantVerdict, entries []entry) {
	if problem := c.invalid(); problem != nil {
		v.code = c.code(ReasonPodWithoutUID, ReasonPodGroupInvalid)
		v.problems.Add(problem)
		return v, into
	}
	c.member = x.groupOf(c.pod)
	if c.member.problem != nil {
		v.code = ReasonPodGroupMissing
		if !x.options.asksForGroup() { // D-32
			v.problems.Add(c.problem("spec.schedulingGroup", c.member.problem))
			return v, into
		}
	}
	entries = into
	for i := range c.entries {
		entries = append(entries, x.resolveNext(c, i, &v))
	}
	x.decideReservations(c, &v, entries)
	if c.member.decides {
		// D-32: the entries were resolved as if the pod had no group, and something depended on that. So none of the
		// decisions is certain: one lookup of the group comes first, and the Needs for claims come with the next plan.
		v = c.asksFor(PodGroupKey(c.Namespace, c.member.name), ReasonPodGroupUnknown, "spec.schedulingGroup",
			c.member.noAnswer)
		return v, into
	}
	return v, entries
}

// resolveNext is resolve for the next entry, unless upstream has stopped, and adds to the verdict what comes of it.
func (x *Index) resolveNext(c *claimant, i int, v *claimantVerdict) (e entry) {
	switch {
	case v.ended:
		return entry{code: ReasonClaimHeldBack}
	case x.options.tooMany(c, i):
		e = entry{code: ReasonClaimFailed, problem: c.problem("spec.resourceClaims", errTooManyClaims)}
	default:
		e = x.resolve(c, i)
	}
	switch e.code {
	case ReasonClaimAdopted, ReasonClaimCreated:
		v.names++
	case ReasonClaimUnknown:
		name, _ := c.claimName(i)
		need := needOf(ClaimKey(c.Namespace, name))
		if unsafe := snapshot.CheckNeed(need); unsafe != nil {
			v.problems.Add(c.entryProblem(i, "resourceClaimName", unsafe.Err))
		} else {
			v.needs = append(v.needs, need)
		}
		if e.problem != nil {
			v.problems.Add(e.problem)
		}
		v.ended = x.options.stopsAtFailure() // with this answer upstream's pass may end here
	case ReasonClaimFailed:
		v.problems.Add(e.problem)
		v.ended = x.options.stopsAtFailure() // what is created by now stays without its name in the status
	}
	return e
}

// empty reports whether there is nothing to do and nothing to say.
func (v *claimantVerdict) empty() bool {
	return len(v.needs) == 0 && v.names == 0 && v.reserves == 0 && v.problems.Err() == nil
}

// decideReservations decides what comes of the entries that have their claim: each allocated claim of a pod with a node
// that is not reserved for the pod will be.
//
// Usually the scheduler reserves a claim when it binds the pod to a node. This is for a pod that got its node in
// another way: the kubelet starts no pod whose claim is not reserved for it.
func (x *Index) decideReservations(c *claimant, v *claimantVerdict, entries []entry) {
	held := v.ended
	var seen map[*resourcev1.ResourceClaim]bool
	for i := range entries {
		e := &entries[i]
		if e.code != entryReady {
			// D-8: if an entry has to wait, the entries after it have to wait as well.
			held = held || x.options.stopsAtFailure() && e.code != ReasonClaimNotNeeded
			continue
		}
		x.reservation(c, i, e)
		switch {
		case e.code != ReasonClaimToBeReserved && e.problem == nil:
		case held:
			e.code, e.problem = ReasonClaimHeldBack, nil
		case e.problem != nil:
			v.problems.Add(e.problem)
			held = x.options.stopsAtFailure()
		case x.options.reservesOnce() && seen[e.claim]: // D-16: an entry before this one names the same claim
		default:
			// Made for the first claim that is reserved: mostly there is none.
			if seen == nil {
				seen = map[*resourcev1.ResourceClaim]bool{}
			}
			seen[e.claim], e.reserve = true, true
			v.reserves++
		}
	}
}

// reservation decides what comes of entry i, whose claim is there. The cases are in the order in which a user meets
// them: reserved, allocated, scheduled, refused.
func (x *Index) reservation(c *claimant, i int, e *entry) {
	reservedForGroup := x.options.reservedForGroup(c.member, e.claim)
	fail := func(problem *purekube.ObjectError) { e.code, e.problem = ReasonClaimFailed, problem }
	switch {
	case c.isGroup():
		e.code = ReasonClaimShared
	// Before the other cases: a reserved claim needs no more, whatever else is true of the claim.
	case isReservedFor(c.UID, e.claim):
		e.code = ReasonClaimReserved
	case e.claim.Status.Allocation == nil:
		// Only an allocated claim can have consumers. The scheduler allocates.
		e.code = ReasonClaimUnallocated
	case c.node == "" && !reservedForGroup:
		// Without a node, reserving is up to the scheduler.
		e.code = ReasonClaimUnscheduled
	// One reservation serves all pods of the group.
	case reservedForGroup:
		if e.code, e.forGroup = ReasonClaimReserved, true; c.node != "" {
			c.member.consult() // whether the pod needs another reservation
		}
	case x.options.mayBeGroups(e.claim): // D-27
		fail(c.entryProblem(i, "", ErrPodGroupClaim))
	case x.options.refusal(e.claim) != nil: // D-8
		fail(x.options.refusal(e.claim))
	default:
		// Whom to reserve for depends on the group.
		e.code = ReasonClaimToBeReserved
		c.member.consult()
		if g := c.member.group; g != nil {
			bound, failsAt := x.options.bound(g, &c.entries[i])
			if e.forGroup = bound; failsAt >= 0 {
				fail(unbindable(g, failsAt))
			}
		}
	}
}

// claimantResult turns what is decided into actions.
func (x *Index) claimantResult(c *claimant, v claimantVerdict, entries []entry) (r Result) {
	// The actions have to wait for the answers, and the events too. An entry that fails still fails in the next plan,
	// and has its event then.
	if len(v.needs) > 0 {
		return Result{Needs: sortNeeds(v.needs)}
	}
	goOn := !x.options.stopsAtFailure()
	for i := range entries {
		switch e := &entries[i]; {
		case e.code == ReasonClaimCreated:
			// Its name is known only after the create, from the API server's answer.
			name := c.entries[i].Name
			r.Actions = append(r.Actions, CreateClaim{
				Owner: c.key(), PodClaim: name, Claim: fromTemplate(c, name, e.template, x.options),
				TemplateName: e.template.Name, TemplateUID: e.template.UID, ContinueOnError: goOn,
			})
		case e.text != "":
			r.Events = append(r.Events, x.options.failed(c, i, e.text))
		}
	}
	if v.names > 0 && !v.ended {
		r.Actions = append(r.Actions, x.setStatuses(c, entries))
	}
	for i := range entries {
		e := &entries[i]
		if !e.reserve {
			continue
		}
		consumer, reservedFor := asConsumer(c.pod), c.key()
		if g := c.member.group; e.forGroup {
			consumer, reservedFor = g.asConsumer(), PodGroupKey(g.Namespace, g.Name)
		}
		// The claim belongs to the snapshot. The copy is the claim after the write.
		claim := e.claim.DeepCopy()
		claim.Status.ReservedFor = append(claim.Status.ReservedFor, consumer)
		r.Actions = append(r.Actions, Reserve{Claim: claim, Consumer: reservedFor, ContinueOnError: goOn})
	}
	return r
}

// fromTemplate is the claim to create for that entry (BR-30-01, BR-30-02). It shares nothing with the template (D-6):
// v1.36 writes the annotation into the map of its cache, where every other reader sees it.
//
//	from the template   labels, annotations, spec
//	from the owner      namespace, generateName, the owner reference with controller: true
//	from the entry      the annotation, and its part of the generateName
func fromTemplate(
	c *claimant, entry string, template *resourcev1.ResourceClaimTemplate, o Options,
) *resourcev1.ResourceClaim {
	// A template may have the annotation too, with any value. The entry's name replaces it.
	annotations := map[string]string{}
	maps.Copy(annotations, template.Spec.Annotations)
	// This is how a claim is found again whose name did not get into the pod's status.
	annotations[PodClaimAnnotation] = entry
	return &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       c.Namespace,
			GenerateName:    o.generateName(c.Name, entry),
			Labels:          maps.Clone(template.Spec.Labels),
			Annotations:     annotations,
			OwnerReferences: []metav1.OwnerReference{ownerReference(c)},
		},
		Spec: *template.Spec.Spec.DeepCopy(),
	}
}

// setStatuses is the write of the status after claims were adopted or are to be created: one for all entries, since an
// apply for each would remove the names of the others (D-5).
func (x *Index) setStatuses(c *claimant, entries []entry) SetClaimStatuses {
	a := SetClaimStatuses{
		Kind: c.kind, Namespace: c.Namespace, Name: c.Name, UID: x.options.uid(c.ObjectMeta),
		ContinueOnError: !x.options.stopsAtFailure(),
	}
	if c.isGroup() {
		a.APIVersion = c.apiVersion
	}
	// The new names replace the old ones: the claim that the status names may be gone.
	named := map[string]bool{}
	for i := range entries {
		name := c.entries[i].Name
		switch e := &entries[i]; e.code {
		case ReasonClaimAdopted:
			// An adopted claim is not reserved by this plan: the status names it first, as upstream does.
			a.Statuses = append(a.Statuses, corev1.PodResourceClaimStatus{Name: name, ResourceClaimName: ptr.To(e.claim.Name)})
			named[name] = true
		case ReasonClaimCreated:
			a.Pending = append(a.Pending, name)
			named[name] = true
		}
	}
	a.Creates = slices.Clone(a.Pending)
	for i := range c.statuses {
		status := &c.statuses[i]
		// A name that is repeated has one status.
		if !named[status.Name] && x.options.keepsStatus(c, status) {
			named[status.Name] = true
			a.Statuses = append(a.Statuses, *status.DeepCopy())
		}
	}
	// Sorted, so that the patch does not depend on the order of the entries, nor on which of them is new.
	sortStatuses(a.Statuses)
	slices.Sort(a.Pending)
	return a
}

// failed is the event for entry i, which gets no claim. It has the resourceVersion of the object, as events of
// upstream's recorder do.
func (o Options) failed(c *claimant, i int, text string) purekube.Event {
	event := failedEvent(corev1.ObjectReference{
		APIVersion: c.apiVersion, Kind: c.kind, Namespace: c.Namespace, Name: c.Name, UID: c.UID,
		ResourceVersion: c.ResourceVersion,
	}, c.entries[i].Name, text)
	event.Message = o.eventText(event.Message)
	return event
}
