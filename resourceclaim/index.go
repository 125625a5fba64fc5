package resourceclaim

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/persistent"
	"github.com/purekube/purekube/internal/snapshot"
)

// Index is a [Snapshot] arranged for many questions. An Index never changes: With and Without return another Index,
// which shares the unchanged parts with the first. Any number of goroutines may use an Index, and derive others from
// it, at the same time.
//
// Each function of this package answers as the method does: Plan(s, key, o) is NewIndex(s, o).Plan(key). A method costs
// what the decision depends on: a pod's plan costs its entries, a claim's plan its consumers. The zero value is not
// usable; NewIndex(Snapshot{}, o) is an empty Index.
//
// Combine your own memory with an Index like this:
//
//   - Assumed claims are objects of the Index: With adds or replaces them by name, and Without removes them. Keep one
//     Index of the caches, and derive the Index to plan with from it: index.With(Snapshot{Assumed: assumed.ListFor(now,
//     index)}), which costs the number of assumed claims.
//   - Deleted are UIDs: With adds them, and Without removes them. In the handler of a pod's deletion call both, with
//     the argument and the result of DeletedPods.Add of package memory.
//   - Answers stay in the Index that With(Snapshot{Answers: answers}) returns. Plan with this Index, then continue with
//     the previous Index: the answers then serve only the plan that asked for them.
//
// Inside: each kind is a collection that never changes, and beside it is a TermIndex, which finds the objects that
// refer to a given one. pods answers "which pod has this name", podTerms "which pods use this claim". The terms of an
// object are in terms.go, and affected.go says who asks for them. assumed is a collection of its own and not mixed into
// claims, since one name may have a version in each; versions.go says which version counts.
type Index struct {
	options         Options
	terms           terms
	pods            *persistent.Objects[corev1.Pod, *corev1.Pod]
	claims, assumed *persistent.Objects[resourcev1.ResourceClaim, *resourcev1.ResourceClaim]
	templates       *persistent.Objects[resourcev1.ResourceClaimTemplate, *resourcev1.ResourceClaimTemplate]
	groups          *persistent.Objects[podGroup, *podGroup]
	// What finds objects that refer to others is arranged when it is first asked.
	podTerms, podUIDs        *persistent.TermIndex[corev1.Pod, *corev1.Pod]
	claimTerms, assumedTerms *persistent.TermIndex[resourcev1.ResourceClaim, *resourcev1.ResourceClaim]
	groupTerms               *persistent.TermIndex[podGroup, *podGroup]

	// answers and deleted are the caller's memory. answers is copied as a whole by each With that has answers: it has a
	// few, and lives for one plan. deleted has up to 500 UIDs and is shared like the objects.
	answers map[purekube.Need]purekube.Answer
	deleted *persistent.Map[types.UID, struct{}]
}

var _ purekube.Index[*Index, Snapshot, Action] = (*Index)(nil)

// NewIndex arranges the snapshot, in one pass over it. The Index keeps pointers to the objects, so do not write to
// them. It keeps none of the slices and maps. The options apply to every question.
func NewIndex(s Snapshot, o Options) *Index {
	if o.PodGroupOf == nil {
		// Otherwise PodGroups would have plans of their own while no pod is in any: claims would be created that no pod
		// uses.
		s.PodGroups = nil
	}
	x := &Index{
		options:   o,
		terms:     terms{persistent.NewHash(), o},
		pods:      persistent.NewObjects(podKind, s.Pods),
		claims:    persistent.NewObjects(claimKind, s.Claims),
		assumed:   persistent.NewObjects(claimKind, s.Assumed),
		templates: persistent.NewObjects(templateKind, s.Templates),
		groups:    persistent.NewObjects(podGroupKind, podGroupsOf(s.PodGroups)),
		answers:   maps.Clone(s.Answers),
		deleted:   changedUIDs(persistent.NewMap[types.UID, struct{}](cmp.Compare[types.UID]), s.Deleted, true),
	}
	// A TermIndex is arranged when it is first asked, so these lines cost nothing for a single plan that needs none.
	// UIDs of pods have an index of their own: it is asked only for Snapshot.Deleted, and most pods have no entries and
	// so no other term.
	x.podTerms, x.podUIDs = persistent.NewTermIndex(x.pods, x.terms.ofPod), persistent.NewTermIndex(x.pods, x.terms.uidOfPod)
	x.claimTerms, x.assumedTerms = persistent.NewTermIndex(x.claims, x.terms.ofClaim), persistent.NewTermIndex(x.assumed, x.terms.ofClaim)
	x.groupTerms = persistent.NewTermIndex(x.groups, x.terms.ofPodGroup)
	return x
}

// With returns the Index with the objects of changed added, or replacing the objects of the same kind, namespace and
// name. It also returns the affected keys, sorted, each once. It adds answers by Need, and Deleted by UID. PodGroups
// count only if Options.PodGroupOf is set.
//
// With and Without name every key whose [Outcome] in PlanAll may differ: its Result, or the text of its Err.
//
//   - A changed, added or removed pod: the pod, if it has or had work to do. If the pod was added, removed or replaced,
//     or is done, also the claims that name it as a consumer or as their owner, and the claims that it no longer needs:
//     its entries' claims, and the claim of status.extendedResourceClaimStatus. Upstream does not look for claims that
//     name a pod which does not name them.
//   - A claim: the claim, and each pod and PodGroup that uses it and has or had work to do. A pod uses a claim that one
//     of its entries resolves to, or that was generated for it or its PodGroup. For a pod that is done, also the other
//     claims of the pod. Upstream does not name a deleted claim.
//   - A template: the pods and PodGroups that have work to do and whose spec names it.
//   - A PodGroup: the group and its pods, if they have or had work to do. If the group was added, removed or replaced,
//     also the claims that name it as a consumer or that its entries resolve to.
//   - An answer or a UID in Deleted: the keys that asked for the answer, and the claims that name the object.
//
// Nil objects and objects without a name belong to no key. Err, the error of PlanAll and the error of every Plan name
// them, and nothing removes them from an Index.
//
// With costs O(log n) for each object in changed, plus the affected objects. About one change in n/2 costs a pass over
// all objects.
//
// changed.Now is ignored: no decision depends on it.
func (x *Index) With(changed Snapshot) (next *Index, affected []purekube.Key) {
	return x.changed(changed, true)
}

// Without returns the Index without the objects of gone, by kind, namespace and name, and without its answers and UIDs.
// It also returns the affected keys, as With does. Names that are not in the Index change nothing.
//
// Only the names in gone count. An informer's last known state of a deleted object serves as well as the object that
// With was given. All objects of an ambiguous name are removed.
func (x *Index) Without(gone Snapshot) (next *Index, affected []purekube.Key) {
	return x.changed(gone, false)
}

// changed returns the Index with what is in by, if keep is true, and without it otherwise.
func (x *Index) changed(by Snapshot, keep bool) (next *Index, affected []purekube.Key) {
	// The copy shares all collections with x. Each line below replaces one of them in the copy alone.
	n, c := *x, changes{answers: by.Answers, deleted: by.Deleted}
	n.pods, c.pods = x.pods.Changed(by.Pods, keep)
	n.claims, c.claims = x.claims.Changed(by.Claims, keep)
	n.assumed, c.assumed = x.assumed.Changed(by.Assumed, keep)
	n.templates, c.templates = x.templates.Changed(by.Templates, keep)
	// NewIndex ignores PodGroups in this case too.
	if x.options.PodGroupOf != nil {
		n.groups, c.groups = x.groups.Changed(podGroupsOf(by.PodGroups), keep)
	}
	if len(by.Answers) > 0 {
		// Another goroutine may be reading x.answers.
		n.answers = map[purekube.Need]purekube.Answer{}
		maps.Copy(n.answers, x.answers)
		for need, answer := range by.Answers {
			if n.answers[need] = answer; !keep {
				delete(n.answers, need)
			}
		}
	}
	// follow asks for each UID whether it was known before.
	n.deleted = changedUIDs(x.deleted, by.Deleted, keep)
	return &n, n.follow(x, c)
}

// changedUIDs is the set with or without these UIDs. known stays as it is; without UIDs it is returned.
func changedUIDs(known *persistent.Map[types.UID, struct{}], uids sets.Set[types.UID], keep bool) *persistent.Map[types.UID, struct{}] {
	if len(uids) == 0 {
		return known
	}
	e := known.Edit()
	for uid := range uids {
		if e.Set(uid, struct{}{}); !keep {
			e.Delete(uid)
		}
	}
	return e.Map()
}

// problems returns the nil objects and objects without a name. They belong to no key, so the error of every Plan has
// them.
func (x *Index) problems() (problems snapshot.Problems) {
	x.pods.AddTo(&problems)
	x.claims.AddTo(&problems)
	x.assumed.AddTo(&problems)
	x.templates.AddTo(&problems)
	x.groups.AddTo(&problems)
	return problems
}

// wholeProblems joins the problems that belong to no key. In a list of all outcomes, a name that several pods, claims
// or PodGroups have is the outcome of that key. Templates have no key, so their names are added here.
func (x *Index) wholeProblems() error {
	problems := x.problems()
	x.templates.AddDuplicatesTo(&problems)
	return problems.Err()
}

// Err joins the problems of the objects as a whole: nil objects, objects without a name, and names that several pods,
// claims, templates or PodGroups have. The other objects still count. Every Index that is derived from this one keeps
// the nil and nameless objects.
//
// It makes no plan, and costs the number of problems and not of objects.
func (x *Index) Err() error {
	if err := x.options.err(); err != nil {
		return err
	}
	problems := x.problems()
	x.pods.AddDuplicatesTo(&problems)
	x.claims.AddDuplicatesTo(&problems)
	x.templates.AddDuplicatesTo(&problems)
	x.groups.AddDuplicatesTo(&problems)
	return problems.Err()
}

// Plan is [Plan] for the objects of the Index.
//
// A key of a kind that this package does not plan, or of an object that is not in the Index, has an empty result.
func (x *Index) Plan(key purekube.Key) (Result, error) {
	if err := x.options.err(); err != nil {
		return Result{}, err
	}
	// The problems of the snapshot come after the key's own error, and do not change the result.
	r, err := x.plan(key)
	if problems := x.problems(); problems.Err() != nil {
		err = errors.Join(err, problems.Err())
	}
	return r, err
}

// plan decides about one key.
// For a name that several pods or PodGroups have, nothing is decided: which of them the API server has is unknown, and
// a claim created for the wrong UID would have an owner that does not exist.
func (x *Index) plan(key purekube.Key) (Result, error) {
	switch name := key.NamespacedName(); key.Kind {
	case podKind:
		if pod, twice := x.pods.Lookup(name); twice != nil {
			return Result{}, twice
		} else if pod != nil {
			o := podOwner(pod)
			return x.planOwner(&o)
		}
	case podGroupKind:
		if g, twice := x.groups.Lookup(name); twice != nil {
			return Result{}, twice
		} else if g != nil {
			o := groupOwner(g)
			return x.planOwner(&o)
		}
	case claimKind:
		// A claim may have problems and still be planned: if an assumed version has a malformed resourceVersion, the
		// listed version counts, and the error says so.
		var problems snapshot.Problems
		problems.Add(x.versionProblems(name)...)
		claim, ambiguous := x.claim(name)
		if ambiguous {
			problems.Add(snapshot.DuplicateError(claimKind, name))
		}
		if claim == nil {
			return Result{}, problems.Err()
		}
		r, err := x.planClaim(claim)
		return r, errors.Join(problems.Err(), err)
	}
	return Result{}, nil
}

// PlanAll is [PlanAll] for the objects of the Index.
//
// It calls the same functions as Plan, one key after the other. Two outcomes do not depend on each other, so their
// order is only a matter of sorting.
func (x *Index) PlanAll() ([]Outcome, error) {
	if err := x.options.err(); err != nil {
		return nil, err
	}
	var out []Outcome
	add := func(kind string, name types.NamespacedName, r *Result, err error) {
		if err != nil || !r.Empty() {
			if len(out) == cap(out) {
				out = slices.Grow(out, len(out)+8) // append copies a long slice more often
			}
			out = append(out, Outcome{Key: purekube.Key{Kind: kind, Namespace: name.Namespace, Name: name.Name}, Result: *r, Err: err})
		}
	}
	// A nil or nameless object has no outcome of its own: wholeProblems has it.
	x.each(func(pod *corev1.Pod) {
		// Most pods of a cluster have no entries, and for these an owner is not even made.
		if len(pod.Spec.ResourceClaims) > 0 {
			o := podOwner(pod)
			r, err := x.planOwner(&o)
			add(podKind, snapshot.KeyOf(pod), &r, err)
		}
	}, func(claim *resourcev1.ResourceClaim) {
		r, err := x.planClaim(claim)
		add(claimKind, snapshot.KeyOf(claim), &r, err)
	}, func(g *podGroup) {
		o := groupOwner(g)
		r, err := x.planOwner(&o)
		add(podGroupKind, snapshot.KeyOf(g), &r, err)
	}, func(key purekube.Key) {
		r, err := x.plan(key)
		add(key.Kind, key.NamespacedName(), &r, err)
	})
	snapshot.SortByKey(out)
	return out, x.wholeProblems()
}

// each calls one function for each key: pod, claim and group with the only object of a name, and other with the key
// where it is to be found out which object counts, if any does. Each key comes once, in no particular order. PlanAll
// and ExplainAll sort what they make of it.
func (x *Index) each(pod func(*corev1.Pod), claim func(*resourcev1.ResourceClaim), group func(*podGroup), other func(purekube.Key)) {
	for p := range x.pods.All() {
		pod(p)
	}
	for name := range x.pods.AmbiguousNames() {
		other(PodKey(name.Namespace, name.Name))
	}
	// special are the names of claims that need more than one look: names with an assumed version, which may replace
	// the listed one or be the only one, and names that several listed claims have. Under MatchUpstream assumed
	// versions do not count for the plan of a claim (versions.go).
	special := map[types.NamespacedName]bool{}
	if !x.options.upstream() {
		for c := range x.assumed.AllVersions() {
			special[snapshot.KeyOf(c)] = true
		}
	}
	for c := range x.claims.All() {
		if len(special) == 0 || !special[snapshot.KeyOf(c)] {
			claim(c)
		}
	}
	// All does not return ambiguous names, so these can join special after the loop over All.
	for name := range x.claims.AmbiguousNames() {
		special[name] = true
	}
	for name := range special {
		other(ClaimKey(name.Namespace, name.Name))
	}
	for g := range x.groups.All() {
		group(g)
	}
	for name := range x.groups.AmbiguousNames() {
		other(PodGroupKey(name.Namespace, name.Name))
	}
}

// ListedClaims returns the claims of that name in Snapshot.Claims: several if several have the name.
// It is nil for a name that no listed claim has. Assumed claims are not among them: AssumedClaims.ListFor of package
// memory asks here whether the cache shows a claim yet, and its own claims must not answer.
func (x *Index) ListedClaims(name types.NamespacedName) []*resourcev1.ResourceClaim {
	return slices.Clone(x.claims.Versions(name))
}
