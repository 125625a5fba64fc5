package resourceclaim

import (
	"cmp"
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
// Plan(s, key, o) is NewIndex(s, o).Plan(key), and PlanAll alike. A method costs what the decision depends on: a pod's
// plan costs its entries, a claim's plan its consumers. The zero value is not
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
// claims, since one name may have a version in each; newest says which version counts.
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
	x.podTerms, x.podUIDs = persistent.NewTermIndex(x.pods, x.terms.ofPod),
		persistent.NewTermIndex(x.pods, x.terms.uidOfPod)
	x.claimTerms, x.assumedTerms = persistent.NewTermIndex(x.claims, x.terms.ofClaim),
		persistent.NewTermIndex(x.assumed, x.terms.ofClaim)
	x.groupTerms = persistent.NewTermIndex(x.groups, x.terms.ofPodGroup)
	return x
}

// changedUIDs is the set with or without these UIDs. known stays as it is; without UIDs it is returned.
func changedUIDs(
	known *persistent.Map[types.UID, struct{}], uids sets.Set[types.UID], keep bool,
) *persistent.Map[types.UID, struct{}] {
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
// claims, assumed claims, templates or PodGroups have. The other objects still count. Every Index that is derived
// from this one keeps the nil and nameless objects.
//
// It makes no plan, and costs the number of problems and not of objects.
func (x *Index) Err() error {
	if err := x.options.err(); err != nil {
		return err
	}
	problems := x.problems()
	x.pods.AddDuplicatesTo(&problems)
	x.claims.AddDuplicatesTo(&problems)
	x.assumed.AddDuplicatesTo(&problems)
	x.templates.AddDuplicatesTo(&problems)
	x.groups.AddDuplicatesTo(&problems)
	return problems.Err()
}

// ListedClaims returns the claims of that name in Snapshot.Claims: several if several have the name.
// It is nil for a name that no listed claim has. Assumed claims are not among them: AssumedClaims.ListFor of package
// memory asks here whether the cache shows a claim yet, and its own claims must not answer.
func (x *Index) ListedClaims(name types.NamespacedName) []*resourcev1.ResourceClaim {
	return slices.Clone(x.claims.Versions(name))
}
