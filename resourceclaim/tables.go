package resourceclaim

import (
	"cmp"
	"iter"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// tables are a snapshot that answers by name. They are made in one pass, for one plan or for all, and
// belong to it alone.
type tables struct {
	Options
	snapshot Snapshot

	pods *snapshot.Table[corev1.Pod, *corev1.Pod]
	// using are the pods by the claims that their entries resolve to; made when first asked.
	using     map[types.NamespacedName][]*corev1.Pod
	groups    []*podGroup
	podGroups *snapshot.Table[podGroup, *podGroup]

	// claims are those that a name resolves to and that have a key of their own.
	claims claimSet
	// adoptable are those among which a claim is looked for that no status names.
	adoptable claimSet
	// owned are the adoptable claims by what they were generated for; made when first asked.
	owned map[generatedFor]*resourcev1.ResourceClaim
	// contested are the entries for which claims of an ambiguous name were generated.
	contested map[generatedFor]types.NamespacedName

	templates          map[types.NamespacedName]*resourcev1.ResourceClaimTemplate
	ambiguousTemplates map[types.NamespacedName]bool

	// problems are those with the snapshot as a whole.
	problems snapshot.Problems
}

// generatedFor is the entry of a pod or PodGroup that a claim was made for.
type generatedFor struct {
	namespace string
	owner     types.UID
	entry     string
	// changed: the claim does not say so as it was created (D-38). Then the entry may be known by the
	// claim's generateName alone.
	changed      bool
	generateName string
}

func newTables(s Snapshot, o Options) *tables {
	x := &tables{Options: o}
	s.Pods = snapshot.Named("Pod", s.Pods, &x.problems)
	s.Claims = snapshot.Named("ResourceClaim", s.Claims, &x.problems)
	s.Assumed = snapshot.Named("ResourceClaim", s.Assumed, &x.problems)
	s.Templates = snapshot.Named("ResourceClaimTemplate", s.Templates, &x.problems)
	x.snapshot = s

	x.pods = snapshot.NewTable("Pod", s.Pods)
	if o.PodGroupOf != nil {
		x.groups = snapshot.Named(podGroupKind, podGroupsOf(s.PodGroups), &x.problems)
	}
	x.podGroups = snapshot.NewTable(podGroupKind, x.groups)
	x.templates, x.ambiguousTemplates = snapshot.Unique(s.Templates)
	listed := listClaims(s.Claims)
	x.adoptable = listed.with(s.Assumed)
	x.claims = x.adoptable
	if o.upstream() {
		// Upstream asks its cache of own writes only when it looks for a claim to adopt.
		x.claims = listed
	}
	return x
}

// planner plans with the tables.
func (x *tables) planner() *planner {
	return &planner{
		Options: x.Options, objects: x,
		deleted: x.snapshot.Deleted, answers: x.snapshot.Answers,
	}
}

func (x *tables) pod(name types.NamespacedName) *corev1.Pod     { return x.pods.Find(name) }
func (x *tables) podAmbiguous(name types.NamespacedName) bool   { return x.pods.Ambiguous(name) }
func (x *tables) claimAmbiguous(name types.NamespacedName) bool { return x.claims.ambiguous[name] }
func (x *tables) claim(name types.NamespacedName) (claim *resourcev1.ResourceClaim, position int) {
	return x.claims.locate(name)
}

func (x *tables) podsUsing(claim types.NamespacedName) iter.Seq[*corev1.Pod] {
	if x.using == nil {
		x.using = map[types.NamespacedName][]*corev1.Pod{}
		for _, pod := range x.snapshot.Pods {
			for name := range resolved(pod) {
				x.using[name] = append(x.using[name], pod)
			}
		}
	}
	return slices.Values(x.using[claim])
}

func (x *tables) podGroup(name types.NamespacedName) *podGroup { return x.podGroups.Find(name) }
func (x *tables) podGroupAmbiguous(name types.NamespacedName) bool {
	return x.podGroups.Ambiguous(name)
}

func (x *tables) writtenClaim(name types.NamespacedName) *resourcev1.ResourceClaim {
	return x.adoptable.find(name)
}

func (x *tables) versionProblems(name types.NamespacedName) []*purekube.ObjectError {
	return x.claims.versions[name]
}

func (x *tables) template(name types.NamespacedName) (template *resourcev1.ResourceClaimTemplate, ambiguous bool) {
	return x.templates[name], x.ambiguousTemplates[name]
}

func (x *tables) generatedClaim(key generatedFor) (claim *resourcev1.ResourceClaim, ambiguous *types.NamespacedName) {
	if x.owned == nil {
		x.findGenerated()
	}
	if name, ok := x.contested[key]; ok {
		return nil, &name
	}
	return x.owned[key], nil
}

func (x *tables) findGenerated() {
	x.owned = map[generatedFor]*resourcev1.ResourceClaim{}
	x.contested = map[generatedFor]types.NamespacedName{}
	consider := func(claim *resourcev1.ResourceClaim) {
		name := snapshot.KeyOf(claim)
		ambiguous := x.adoptable.ambiguous[name]
		if !ambiguous {
			claim = x.adoptable.find(name)
		}
		key, ok := owningEntry(claim)
		if !ok {
			return
		}
		if ambiguous {
			if other, ok := x.contested[key]; !ok || name.Name < other.Name {
				x.contested[key] = name
			}
			return
		}
		if other := x.owned[key]; other == nil || preferred(claim, other) {
			x.owned[key] = claim
		}
	}
	for _, claim := range x.snapshot.Claims {
		consider(claim)
	}
	for _, claim := range x.snapshot.Assumed {
		consider(claim)
	}
}

// preferred reports whether a is the better one of two claims for the same entry: one that
// stays before one that is being deleted, then by name. There should be only one; upstream
// takes any.
func preferred(a, b *resourcev1.ResourceClaim) bool {
	if aStays, bStays := a.DeletionTimestamp == nil, b.DeletionTimestamp == nil; aStays != bStays {
		return aStays
	}
	return cmp.Compare(a.Name, b.Name) < 0
}
