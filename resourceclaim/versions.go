package resourceclaim

import (
	"cmp"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// claim returns the claim of that name that counts, or nil. ambiguous: it is not known which one does.
func (x *Index) claim(name types.NamespacedName) (claim *resourcev1.ResourceClaim, ambiguous bool) {
	if x.options.upstream() {
		// Upstream asks its cache of own writes only when it looks for a claim to adopt.
		claim = x.claims.Find(name)
		return claim, claim == nil && x.claims.Ambiguous(name)
	}
	claim, ambiguous, _ = x.newest(name)
	return claim, ambiguous
}

// versionProblems are those with resourceVersions of that claim that do not compare.
func (x *Index) versionProblems(name types.NamespacedName) []*purekube.ObjectError {
	if x.options.upstream() || x.assumed.Len() == 0 {
		return nil
	}
	_, _, problems := x.newest(name)
	return problems
}

// newest is the claim that counts among the listed one of that name and the assumed ones (BR-30-04).
func (x *Index) newest(name types.NamespacedName) (claim *resourcev1.ResourceClaim, ambiguous bool, problems []*purekube.ObjectError) {
	listed := x.claims.Find(name)
	if listed == nil && x.claims.Ambiguous(name) {
		return nil, true, nil
	}
	if x.assumed.Len() == 0 {
		return listed, false, nil
	}
	assumed := x.assumed.Versions(name)
	if len(assumed) == 0 {
		return listed, false, nil
	}
	claim, known, problems := newestOf(listed, assumed)
	if !known {
		return nil, true, problems
	}
	return claim, false, problems
}

// generatedClaim is the claim that was generated for the entry of the pod or PodGroup with that
// UID, whether or not its status says so. Nil: there is none. ambiguous is the name of one of
// which it is not known which version counts, so that it can neither be used nor be taken for
// missing.
func (x *Index) generatedClaim(key generatedFor) (claim *resourcev1.ResourceClaim, ambiguous *types.NamespacedName) {
	for c := range x.claimsWith(x.terms.Term(namesUID, string(key.owner))) {
		name := snapshot.KeyOf(c)
		newest, unknown, _ := x.newest(name)
		if unknown {
			newest = c
		}
		if of, ok := owningEntry(newest); !ok || of != key {
			continue
		}
		switch {
		case unknown && (ambiguous == nil || name.Name < ambiguous.Name):
			ambiguous = &name
		case !unknown && (claim == nil || preferred(newest, claim)):
			claim = newest
		}
	}
	if ambiguous != nil {
		return nil, ambiguous
	}
	return claim, nil
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

// newestOf picks the version that counts among the listed claim, nil if there is none, and the
// assumed ones of the same name, of which there is at least one. It is not known when two
// assumed ones differ and their versions do not say which is newer.
func newestOf(listed *resourcev1.ResourceClaim, assumed []*resourcev1.ResourceClaim) (newest *resourcev1.ResourceClaim, known bool, problems []*purekube.ObjectError) {
	if listed == nil && len(assumed) == 1 {
		return assumed[0], true, nil
	}
	for _, a := range assumed {
		// Compared with itself a version is either equal or malformed.
		if _, err := resourceversion.CompareResourceVersion(a.ResourceVersion, a.ResourceVersion); err != nil {
			problems = append(problems, versionError(a, err))
			continue
		}
		if newest == nil {
			newest, known = a, true
			continue
		}
		switch order, _ := resourceversion.CompareResourceVersion(a.ResourceVersion, newest.ResourceVersion); {
		case order > 0:
			newest, known = a, true
		case order == 0 && !equality.Semantic.DeepEqual(a, newest):
			known = false
		}
	}
	if listed == nil {
		return newest, known, problems
	}
	if newest == nil {
		return listed, true, problems
	}
	order, err := resourceversion.CompareResourceVersion(newest.ResourceVersion, listed.ResourceVersion)
	switch {
	case err != nil:
		return listed, true, append(problems, versionError(listed, err))
	case order > 0:
		return newest, known, problems
	default:
		return listed, true, problems
	}
}

func versionError(claim *resourcev1.ResourceClaim, err error) *purekube.ObjectError {
	return claimError(claim, "metadata.resourceVersion", err)
}

func claimError(claim *resourcev1.ResourceClaim, field string, err error) *purekube.ObjectError {
	return &purekube.ObjectError{Kind: "ResourceClaim", Namespace: claim.Namespace, Name: claim.Name, Field: field, Err: err}
}
