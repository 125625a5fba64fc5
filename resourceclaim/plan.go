package resourceclaim

import (
	"errors"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// How a plan is made, and where:
//
//	decideClaimant (claimantverdict.go)   what a pod or PodGroup gets, and why
//	├─ resolve (entry.go)                 the claim of an entry
//	└─ reservation                        what comes of it
//	decideClaim (claimverdict.go)         what becomes of a claim, and why
//	├─ consumer                           what is known about a consumer
//	└─ owner                              what the pod that it was generated for means for it
//
// Both look things up in the Index (lookup.go) and ask the rules (rules.go). Plan turns the verdict into actions,
// Explain into sentences, and With names the keys of the pods whose verdict is not empty.

// Plan decides about one pod, claim or PodGroup.
//
// A pod's plan creates the claims for its templates, writes their names into its status and, once the pod has a node,
// reserves its allocated claims for it. A claim's plan removes the consumers that do not need it, deallocates it with
// the last of them, and deletes it if it was generated for a pod that is done. A PodGroup's plan creates the claims
// that its pods share, and writes their names into its status.
//
// Needs are pods, claims and PodGroups to look up at the API server: add the answers to [Snapshot].Answers, and plan
// again. An error joins one [purekube.ObjectError] for each problem with the snapshot's objects. The result has all
// decisions that do not depend on these objects:
//
//   - A nil entry in a slice, or an object without a name: an error. The entry is ignored.
//   - Several objects of one name in one slice, or versions of a claim in Claims and Assumed that do not compare:
//     nothing is planned for that name. A reservation for such a pod stays. An entry with such a claim or template gets
//     nothing.
//   - An entry of spec.resourceClaims for which no claim can be used: an error and an event on the pod. The other
//     entries get their claims. A plan without such an error has no events.
//
// For a key that is not in the snapshot, or of a kind that this package does not plan, the result is empty: the object
// is gone.
func Plan(s Snapshot, key purekube.Key, o Options) (Result, error) { return NewIndex(s, o).Plan(key) }

// PlanAll plans every pod, claim and PodGroup of the snapshot. It returns the outcomes that are not empty, sorted by
// kind ("Pod", "PodGroup", "ResourceClaim"), namespace and name, each with the Result that [Plan] has for its key.
//
// The error joins one [purekube.ObjectError] for each problem that belongs to no key: nil entries, objects without a
// name, and several templates of one name. The outcomes are complete despite this error.
func PlanAll(s Snapshot, o Options) ([]Outcome, error) { return NewIndex(s, o).PlanAll() }

// usual is at least the number of entries of most pods, and of consumers of most claims. A buffer of this size is on
// the stack, and costs no allocation.
const usual = 8

// Plan is the function [Plan] for the objects of the Index.
func (x *Index) Plan(key purekube.Key) (r Result, err error) {
	if err := x.options.err(); err != nil {
		return Result{}, err
	}
	// The problems of the snapshot come after the key's own error, and do not change the result.
	r, err = x.plan(key)
	return r, x.withProblems(err)
}

// plan decides about one key.
func (x *Index) plan(key purekube.Key) (r Result, err error) {
	switch c, claim, problem := x.find(key); {
	case problem != nil:
		err = problem
	case claim != nil:
		var buffer [usual]Code
		v, consumers := x.decideClaim(claim, buffer[:0])
		r, err = x.claimResult(claim, v, consumers), v.problems.Err()
	case c.kind != "":
		var buffer [usual]entry
		v, entries := x.decideClaimant(&c, buffer[:0])
		r, err = x.claimantResult(&c, v, entries), v.problems.Err()
	}
	return r, err
}

// find returns the pod or PodGroup of the key, or the claim. The error says that several objects have the name: which
// of them the API server has is unknown, and a claim created for the wrong UID would have an owner that does not
// exist. If there is no object of the key, the claimant has no kind and the claim is nil.
func (x *Index) find(key purekube.Key) (c claimant, claim *resourcev1.ResourceClaim, problem *purekube.ObjectError) {
	switch name := key.NamespacedName(); key.Kind {
	case podKind:
		pod, twice := x.pods.Lookup(name)
		if pod != nil {
			c = podClaimant(pod)
		}
		return c, nil, twice
	case podGroupKind:
		g, twice := x.groups.Lookup(name)
		if g != nil {
			c = groupClaimant(g)
		}
		return c, nil, twice
	case claimKind:
		claim, problem = x.claim(name)
	}
	return c, claim, problem
}

// withProblems joins the problems of the objects as a whole to the error of one key.
func (x *Index) withProblems(err error) error {
	problems := x.problems()
	return errors.Join(err, problems.Err())
}

// PlanAll is the function [PlanAll] for the objects of the Index. Two outcomes do not depend on each other, so their
// order is only a matter of sorting.
func (x *Index) PlanAll() ([]Outcome, error) {
	if err := x.options.err(); err != nil {
		return nil, err
	}
	var out []Outcome
	add := func(key purekube.Key, r Result, err error) {
		if len(out) == cap(out) {
			out = slices.Grow(out, len(out)+8) // append copies a long slice more often
		}
		out = append(out, Outcome{Key: key, Result: r, Err: err})
	}
	entriesBuffer, codes := make([]entry, 0, usual), make([]Code, 0, usual)
	x.each(func(c *claimant) {
		v, entries := x.decideClaimant(c, entriesBuffer[:0])
		if !v.empty() {
			add(c.key(), x.claimantResult(c, v, entries), v.problems.Err())
		}
	}, func(claim *resourcev1.ResourceClaim) {
		v, consumers := x.decideClaim(claim, codes[:0])
		if !v.empty() {
			add(KeyOf(claim), x.claimResult(claim, v, consumers), v.problems.Err())
		}
	}, func(key purekube.Key, problem *purekube.ObjectError) {
		add(key, Result{}, problem)
	})
	snapshot.SortByKey(out)
	return out, x.wholeProblems()
}

// each calls one function for each key, in no particular order: claimant with a pod that has entries or a PodGroup,
// claim with a claim, and unusable with a name that cannot be planned. claimant's argument is valid during the call.
// PlanAll and ExplainAll sort what they make of it.
func (x *Index) each(
	claimants func(*claimant), claims func(*resourcev1.ResourceClaim), unusable func(purekube.Key, *purekube.ObjectError),
) {
	var c claimant // one for all
	for pod := range x.pods.All() {
		// Most pods of a cluster have no entries.
		if len(pod.Spec.ResourceClaims) > 0 {
			c = podClaimant(pod)
			claimants(&c)
		}
	}
	for g := range x.groups.All() {
		c = groupClaimant(g)
		claimants(&c)
	}
	for name := range x.pods.AmbiguousNames() {
		unusable(PodKey(name.Namespace, name.Name), snapshot.DuplicateError(podKind, name))
	}
	for name := range x.groups.AmbiguousNames() {
		unusable(PodGroupKey(name.Namespace, name.Name), snapshot.DuplicateError(podGroupKind, name))
	}
	// Names of claims that need more than one look: with an assumed version, which may replace the listed one or be the
	// only one, and names that several listed claims have.
	looks := sets.Set[types.NamespacedName]{}
	if !x.options.usesListedOnly() {
		for claim := range x.assumed.AllVersions() {
			looks.Insert(snapshot.KeyOf(claim))
		}
	}
	for claim := range x.claims.All() {
		if !looks.Has(snapshot.KeyOf(claim)) {
			claims(claim)
		}
	}
	for name := range x.claims.AmbiguousNames() {
		looks.Insert(name)
	}
	for name := range looks {
		if claim, problem := x.claim(name); problem != nil {
			unusable(ClaimKey(name.Namespace, name.Name), problem)
		} else {
			claims(claim)
		}
	}
}
