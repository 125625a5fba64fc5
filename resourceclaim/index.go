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
//   - Deleted are UIDs: With adds them, and Without removes them. In the handler of a pod's deletion call both, with the
//     argument and the result of DeletedPods.Add of package memory.
//   - Answers stay in the Index that With(Snapshot{Answers: answers}) returns. Plan with this Index, then continue with
//     the previous Index: the answers then serve only the plan that asked for them.
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

	answers map[purekube.Need]purekube.Answer
	deleted *persistent.Map[types.UID, struct{}]
}

var _ purekube.Index[*Index, Snapshot, Action] = (*Index)(nil)

// NewIndex arranges the snapshot, in one pass over it. The Index keeps pointers to the objects, so do not write to
// them. It keeps none of the slices and maps. The options apply to every question.
func NewIndex(s Snapshot, o Options) *Index {
	if o.PodGroupOf == nil {
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
		deleted:   withUIDs(persistent.NewMap[types.UID, struct{}](cmp.Compare[types.UID]), s.Deleted),
	}
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
func (x *Index) With(changed Snapshot) (next *Index, affected []purekube.Key) {
	n, c := *x, changes{answers: changed.Answers}
	n.pods, c.pods = x.pods.With(changed.Pods)
	n.claims, c.claims = x.claims.With(changed.Claims)
	n.assumed, c.assumed = x.assumed.With(changed.Assumed)
	n.templates, c.templates = x.templates.With(changed.Templates)
	if x.options.PodGroupOf != nil {
		n.groups, c.groups = x.groups.With(podGroupsOf(changed.PodGroups))
	}
	if len(changed.Answers) > 0 {
		n.answers = maps.Clone(x.answers)
		if n.answers == nil {
			n.answers = map[purekube.Need]purekube.Answer{}
		}
		maps.Copy(n.answers, changed.Answers)
	}
	n.deleted = withUIDs(x.deleted, changed.Deleted)
	c.deleted = changed.Deleted
	return &n, n.follow(x, c)
}

// Without returns the Index without the objects of gone, by kind, namespace and name, and without its answers and UIDs.
// It also returns the affected keys, as With does. Names that are not in the Index change nothing.
func (x *Index) Without(gone Snapshot) (next *Index, affected []purekube.Key) {
	n, c := *x, changes{answers: gone.Answers, deleted: gone.Deleted}
	n.pods, c.pods = x.pods.Without(gone.Pods)
	n.claims, c.claims = x.claims.Without(gone.Claims)
	n.assumed, c.assumed = x.assumed.Without(gone.Assumed)
	n.templates, c.templates = x.templates.Without(gone.Templates)
	n.groups, c.groups = x.groups.Without(podGroupsOf(gone.PodGroups))
	if len(gone.Answers) > 0 {
		n.answers = maps.Clone(x.answers)
		for need := range gone.Answers {
			delete(n.answers, need)
		}
	}
	for uid := range gone.Deleted {
		n.deleted = n.deleted.Without(uid)
	}
	return &n, n.follow(x, c)
}

func withUIDs(known *persistent.Map[types.UID, struct{}], uids sets.Set[types.UID]) *persistent.Map[types.UID, struct{}] {
	if len(uids) == 0 {
		return known
	}
	e := known.Edit()
	for uid := range uids {
		e.Set(uid, struct{}{})
	}
	return e.Map()
}

// problems returns the nil objects and objects without a name.
func (x *Index) problems() (problems snapshot.Problems) {
	x.pods.AddTo(&problems)
	x.claims.AddTo(&problems)
	x.assumed.AddTo(&problems)
	x.templates.AddTo(&problems)
	x.groups.AddTo(&problems)
	return problems
}

// wholeProblems joins the problems that belong to no key.
func (x *Index) wholeProblems() error {
	problems := x.problems()
	x.templates.AddDuplicatesTo(&problems)
	return problems.Err()
}

// Err joins the problems of the objects as a whole: nil objects, objects without a name, and names that several pods,
// claims, templates or PodGroups have. The other objects still count. Every Index that is derived from this one keeps
// the nil and nameless objects.
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
func (x *Index) Plan(key purekube.Key) (Result, error) {
	if err := x.options.err(); err != nil {
		return Result{}, err
	}
	r, err := x.plan(key)
	if problems := x.problems(); problems.Err() != nil {
		err = errors.Join(err, problems.Err())
	}
	return r, err
}

// plan decides about one key.
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
func (x *Index) PlanAll() ([]Outcome, error) {
	if err := x.options.err(); err != nil {
		return nil, err
	}
	var out []Outcome
	add := func(kind string, name types.NamespacedName, r Result, err error) {
		if err != nil || !r.Empty() {
			if len(out) == cap(out) {
				out = slices.Grow(out, len(out)+8) // append copies a long slice more often
			}
			out = append(out, Outcome{Key: purekube.Key{Kind: kind, Namespace: name.Namespace, Name: name.Name}, Result: r, Err: err})
		}
	}
	x.each(func(pod *corev1.Pod) {
		if len(pod.Spec.ResourceClaims) > 0 {
			o := podOwner(pod)
			r, err := x.planOwner(&o)
			add(podKind, snapshot.KeyOf(pod), r, err)
		}
	}, func(claim *resourcev1.ResourceClaim) {
		r, err := x.planClaim(claim)
		add(claimKind, snapshot.KeyOf(claim), r, err)
	}, func(g *podGroup) {
		o := groupOwner(g)
		r, err := x.planOwner(&o)
		add(podGroupKind, snapshot.KeyOf(g), r, err)
	}, func(key purekube.Key) {
		r, err := x.plan(key)
		add(key.Kind, key.NamespacedName(), r, err)
	})
	slices.SortFunc(out, func(a, b Outcome) int { return a.Key.Compare(b.Key) })
	return out, x.wholeProblems()
}

// each calls one function for each key: pod, claim and group with the only object of a name, and other with the key
// where it is to be found out which object counts, if any does.
func (x *Index) each(pod func(*corev1.Pod), claim func(*resourcev1.ResourceClaim), group func(*podGroup), other func(purekube.Key)) {
	for p := range x.pods.All() {
		pod(p)
	}
	for name := range x.pods.AmbiguousNames() {
		other(PodKey(name.Namespace, name.Name))
	}
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
func (x *Index) ListedClaims(name types.NamespacedName) []*resourcev1.ResourceClaim {
	return slices.Clone(x.claims.Versions(name))
}
