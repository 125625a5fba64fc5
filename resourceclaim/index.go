package resourceclaim

import (
	"errors"
	"hash/maphash"
	"iter"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// Index is a [Snapshot] arranged for many questions. Each method answers what the function of that
// name answers for the same objects, and costs what the key rests on: a pod's plan its entries, a
// claim's plan its consumers.
//
// An Index is a value that never changes: With and Without return another one, which shares with it
// what is the same. Any number of goroutines may use one Index, and derive others from it, at the
// same time. The zero value is not usable; NewIndex(Snapshot{}, o) is the empty one.
//
// It keeps pointers to the objects and writes to none of them. As long as an Index holds them,
// nobody else may write to them either, as it is with those of an informer's cache.
//
// What the caller remembers goes together with an Index like this:
//
//   - Assumed claims are objects of the Index: With adds them, or replaces those of their name, and
//     Without takes them away. Keep one Index of what the caches show, and derive from it the one to
//     plan with: index.With(Snapshot{Assumed: assumed.ListFor(now, index)}), which costs what is
//     assumed.
//   - Deleted is a function that every plan calls anew. NewIndex takes it, and With where it is not
//     nil. It is no object, so affected keys do not tell that it has changed. The event of the
//     deletion tells (Without), whether [DeletedPods].Add comes before or after it.
//   - Confirmed, ConfirmedClaims and ConfirmedPodGroups stay in the Index that
//     With(Snapshot{Confirmed: answers}) returns. Plan with that one, and go on with the one before
//     it: so they serve the plan that asked for them and are dropped.
type Index struct {
	planner   planner
	terms     terms
	pods      *collection[corev1.Pod, *corev1.Pod]
	claims    *collection[resourcev1.ResourceClaim, *resourcev1.ResourceClaim]
	assumed   *collection[resourcev1.ResourceClaim, *resourcev1.ResourceClaim]
	templates *collection[resourcev1.ResourceClaimTemplate, *resourcev1.ResourceClaimTemplate]
	groups    *collection[podGroup, *podGroup]
	// unusable says that there were nil or nameless objects. Every plan says so too.
	unusable error
}

// NewIndex arranges the snapshot, in one pass over it. The options are those of every answer.
func NewIndex(s Snapshot, o Options) *Index {
	t := terms{maphash.MakeSeed(), o}
	if o.PodGroupOf == nil {
		s.PodGroups = nil
	}
	x := &Index{
		terms:     t,
		pods:      newCollection("Pod", s.Pods, t.ofPod),
		claims:    newCollection("ResourceClaim", s.Claims, t.ofClaim),
		assumed:   newCollection("ResourceClaim", s.Assumed, t.ofClaim),
		templates: newCollection("ResourceClaimTemplate", s.Templates, ofTemplate),
		groups:    newCollection(podGroupKind, podGroupsOf(s.PodGroups), t.ofPodGroup),
	}
	x.planner = planner{
		Options: o, objects: x,
		deleted: maps.Clone(s.Deleted), answers: maps.Clone(s.Answers),
	}
	x.unusable = x.problems().Err()
	return x
}

// faults are the kinds of nil objects and objects without a name.
func (x *Index) faults() [9]bool {
	return [9]bool{
		x.groups.nameless,
		x.pods.missing, x.pods.nameless, x.claims.missing, x.claims.nameless,
		x.assumed.missing, x.assumed.nameless, x.templates.missing, x.templates.nameless,
	}
}

// problems are nil objects and objects without a name.
func (x *Index) problems() *snapshot.Problems {
	problems := &snapshot.Problems{}
	x.pods.note(problems)
	x.claims.note(problems)
	x.assumed.note(problems)
	x.templates.note(problems)
	x.groups.note(problems)
	return problems
}

// Err joins what is wrong with the objects as a whole: nil ones, ones without a name, and names that
// several pods, claims, templates or PodGroups have. The rest counts all the same. Nil and nameless objects
// are remembered by every Index that is derived from this one.
func (x *Index) Err() error {
	if err := x.planner.err(); err != nil {
		return err
	}
	problems := x.problems()
	x.pods.noteSeveral(problems)
	x.claims.noteSeveral(problems)
	x.templates.noteSeveral(problems)
	x.groups.noteSeveral(problems)
	return problems.Err()
}

// Plan is [Plan] for the objects of the Index.
func (x *Index) Plan(key purekube.Key) (Result, error) {
	if err := x.planner.err(); err != nil {
		return Result{}, err
	}
	r, err := x.planner.plan(key)
	if x.unusable != nil {
		err = errors.Join(err, x.unusable)
	}
	return r, err
}

// PlanAll is [PlanAll] for the objects of the Index.
func (x *Index) PlanAll() ([]Outcome, error) {
	if err := x.planner.err(); err != nil {
		return nil, err
	}
	var out []Outcome
	add := func(key purekube.Key, r Result, err error) {
		if err != nil || !r.Empty() {
			out = append(out, Outcome{Key: key, Result: r, Err: err})
		}
	}
	for pod := range x.pods.named.All() {
		if len(pod.Spec.ResourceClaims) > 0 {
			r, err := x.planner.planPod(pod)
			add(KeyOfPod(pod), r, err)
		}
	}
	for name := range x.pods.several.All() {
		r, err := x.planner.podOutcome(name)
		add(PodKey(name.Namespace, name.Name), r, err)
	}
	// Of a claim with assumed versions it is to be found out which counts.
	assumed := x.assumedNames()
	for claim := range x.claims.named.All() {
		if len(assumed) == 0 || !assumed[snapshot.KeyOf(claim)] {
			r, err := x.planner.planClaim(claim, nil)
			add(KeyOfClaim(claim), r, err)
		}
	}
	for name := range x.claims.several.All() {
		assumed[name] = true
	}
	for name := range assumed {
		r, err := x.planner.claimOutcome(name)
		add(ClaimKey(name.Namespace, name.Name), r, err)
	}
	for g := range x.groups.named.All() {
		r, err := x.planner.planPodGroup(g)
		add(g.key(), r, err)
	}
	for name := range x.groups.several.All() {
		r, err := x.planner.podGroupOutcome(name)
		add(PodGroupKey(name.Namespace, name.Name), r, err)
	}
	slices.SortFunc(out, func(a, b Outcome) int { return purekube.Key.Compare(a.Key, b.Key) })
	return out, x.wholeProblems()
}

// Explain is [Explain] for the objects of the Index.
func (x *Index) Explain(key purekube.Key) (Explanation, error) {
	if err := x.planner.err(); err != nil {
		return Explanation{}, err
	}
	e, err := x.planner.explained(key)
	if x.unusable != nil {
		err = errors.Join(err, x.unusable)
	}
	return e, err
}

// ExplainAll is [ExplainAll] for the objects of the Index.
func (x *Index) ExplainAll() ([]Explanation, error) {
	if err := x.planner.err(); err != nil {
		return nil, err
	}
	var out []Explanation
	for key := range x.keys() {
		if reasons, _, _ := x.planner.explain(key); len(reasons) > 0 {
			out = append(out, Explanation{key, reasons})
		}
	}
	slices.SortFunc(out, func(a, b Explanation) int { return purekube.Key.Compare(a.Key, b.Key) })
	return out, x.wholeProblems()
}

// wholeProblems are those that belong to no key.
func (x *Index) wholeProblems() error {
	problems := x.problems()
	x.templates.noteSeveral(problems)
	return problems.Err()
}

// assumedNames are the names of claims that assumed ones may count for.
func (x *Index) assumedNames() map[types.NamespacedName]bool {
	names := map[types.NamespacedName]bool{}
	if !x.planner.upstream() {
		for claim := range x.assumed.all() {
			names[snapshot.KeyOf(claim)] = true
		}
	}
	return names
}

// keys are those of all objects, in no particular order.
func (x *Index) keys() map[purekube.Key]bool {
	keys := make(map[purekube.Key]bool, x.pods.size+x.claims.size)
	for pod := range x.pods.all() {
		keys[KeyOfPod(pod)] = true
	}
	for claim := range x.claims.all() {
		keys[KeyOfClaim(claim)] = true
	}
	for claim := range x.assumed.all() {
		keys[KeyOfClaim(claim)] = true
	}
	for g := range x.groups.all() {
		keys[g.key()] = true
	}
	return keys
}

// ListedClaims returns the claims of that name that Snapshot.Claims had; several if it had several. The slice must not be
// written to.
func (x *Index) ListedClaims(name types.NamespacedName) []*resourcev1.ResourceClaim {
	return slices.Clip(x.claims.versions(name))
}

// What follows answers by name, for the planner.

func (x *Index) pod(name types.NamespacedName) *corev1.Pod   { return x.pods.find(name) }
func (x *Index) podAmbiguous(name types.NamespacedName) bool { return x.pods.ambiguous(name) }

func (x *Index) podsUsing(claim types.NamespacedName) iter.Seq[*corev1.Pod] {
	return func(yield func(*corev1.Pod) bool) {
		for pod := range x.pods.with(x.terms.named(claimTerm, claim.Namespace, claim.Name)) {
			if pod.Namespace == claim.Namespace && resolvesTo(pod, claim.Name) && !yield(pod) {
				return
			}
		}
	}
}

func (x *Index) podGroup(name types.NamespacedName) *podGroup     { return x.groups.find(name) }
func (x *Index) podGroupAmbiguous(name types.NamespacedName) bool { return x.groups.ambiguous(name) }

func (x *Index) template(name types.NamespacedName) (template *resourcev1.ResourceClaimTemplate, ambiguous bool) {
	return x.templates.find(name), x.templates.ambiguous(name)
}

func (x *Index) claim(name types.NamespacedName) (claim *resourcev1.ResourceClaim, position int) {
	if x.planner.upstream() {
		// Upstream asks its cache of own writes only when it looks for a claim to adopt.
		return x.claims.find(name), -1
	}
	claim, _, _ = x.newest(name)
	return claim, -1
}

func (x *Index) claimAmbiguous(name types.NamespacedName) bool {
	if x.planner.upstream() {
		return x.claims.ambiguous(name)
	}
	_, ambiguous, _ := x.newest(name)
	return ambiguous
}

func (x *Index) writtenClaim(name types.NamespacedName) *resourcev1.ResourceClaim {
	claim, _, _ := x.newest(name)
	return claim
}

func (x *Index) versionProblems(name types.NamespacedName) []*purekube.ObjectError {
	if x.planner.upstream() {
		return nil
	}
	_, _, problems := x.newest(name)
	return problems
}

// newest is the claim that counts among the listed one of that name and the assumed ones.
func (x *Index) newest(name types.NamespacedName) (claim *resourcev1.ResourceClaim, ambiguous bool, problems []*purekube.ObjectError) {
	if x.claims.ambiguous(name) {
		return nil, true, nil
	}
	listed := x.claims.find(name)
	if x.assumed.size == 0 {
		return listed, false, nil
	}
	assumed := x.assumed.versions(name)
	if assumed == nil {
		return listed, false, nil
	}
	claim, known, problems := newestOf(listed, assumed)
	if !known {
		return nil, true, problems
	}
	return claim, false, problems
}

func (x *Index) generatedClaim(key generatedFor) (claim *resourcev1.ResourceClaim, ambiguous *types.NamespacedName) {
	term := x.terms.uid(ownerTerm, key.owner)
	consider := func(c *resourcev1.ResourceClaim) {
		name := snapshot.KeyOf(c)
		newest, unknown, _ := x.newest(name)
		if unknown {
			newest = c
		}
		if of, ok := owningEntry(newest); !ok || of != key {
			return
		}
		switch {
		case unknown && (ambiguous == nil || name.Name < ambiguous.Name):
			ambiguous = &name
		case !unknown && (claim == nil || preferred(newest, claim)):
			claim = newest
		}
	}
	for c := range x.claims.with(term) {
		consider(c)
	}
	if x.assumed.size > 0 {
		for c := range x.assumed.with(term) {
			consider(c)
		}
	}
	if ambiguous != nil {
		return nil, ambiguous
	}
	return claim, nil
}
