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

// claim returns the claim of that name that counts, or nil. ambiguous: it is not known which version does. Then nothing
// may be decided: it is neither the claim of an entry nor a missing one.
//
// A name can have several versions: what the cache has, and the answers to the caller's own writes (BR-30-04). Two
// workers may have written it, so there may be several answers.
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
// Without assumed claims there is nothing to compare. Under MatchUpstream the plan of a claim does not read these.
func (x *Index) versionProblems(name types.NamespacedName) []*purekube.ObjectError {
	if x.options.upstream() || x.assumed.Len() == 0 {
		return nil
	}
	_, _, problems := x.newest(name)
	return problems
}

// newest is the claim that counts among the listed one of that name and the assumed ones (BR-30-04).
//
//	listed       assumed            result
//	none         none               nil
//	5            none               the listed one
//	5            7                  the assumed one: the cache lags
//	7            5 or 7             the listed one: the cache has caught up, or is ahead
//	5            "x"                the listed one, with an error
//	5, 5         any                ambiguous
//	none or 5    7, 7, different    ambiguous
//	9            7, 7, different    the listed one
func (x *Index) newest(name types.NamespacedName) (claim *resourcev1.ResourceClaim, ambiguous bool, problems []*purekube.ObjectError) {
	listed := x.claims.Find(name)
	if listed == nil && x.claims.Ambiguous(name) {
		return nil, true, nil
	}
	// The usual case costs one lookup.
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

// generatedClaim is the claim that was generated for the entry of the pod or PodGroup with that UID, whether or not its
// status says so. Nil: there is none. ambiguous is the name of a claim of which it is not known which version counts,
// so that it can neither be used nor be regarded as missing.
func (x *Index) generatedClaim(key generatedFor) (claim *resourcev1.ResourceClaim, ambiguous *types.NamespacedName) {
	for c := range x.claimsWith(x.terms.Term(namesUID, string(key.owner))) {
		name := snapshot.KeyOf(c)
		// The version that was found by its term may be an old one. The version that counts decides whose the claim is,
		// also under MatchUpstream: upstream's findPodResourceClaim asks the mutation cache.
		newest, unknown, _ := x.newest(name)
		if unknown {
			newest = c
		}
		if of, ok := owningEntry(newest); !ok || of != key {
			continue
		}
		switch {
		// The first by name, so that the error does not depend on the order of the hashes.
		case unknown && (ambiguous == nil || name.Name < ambiguous.Name):
			ambiguous = &name
		case !unknown && (claim == nil || preferred(newest, claim)):
			claim = newest
		}
	}
	// Even if another claim was found: the ambiguous one may be the better one.
	if ambiguous != nil {
		return nil, ambiguous
	}
	return claim, nil
}

// preferred reports whether a is the better one of two claims for the same entry: a claim that stays before a claim
// that is being deleted, then a claim that is reserved, then a claim that is allocated, then by name. There should be
// only one; upstream takes any. A pod may be bound with the reserved one. By name, because two plans of one snapshot
// must not differ.
func preferred(a, b *resourcev1.ResourceClaim) bool {
	for _, better := range []func(*resourcev1.ResourceClaim) bool{
		func(c *resourcev1.ResourceClaim) bool { return c.DeletionTimestamp == nil },
		func(c *resourcev1.ResourceClaim) bool { return len(c.Status.ReservedFor) > 0 },
		func(c *resourcev1.ResourceClaim) bool { return c.Status.Allocation != nil },
	} {
		if better(a) != better(b) {
			return better(a)
		}
	}
	return cmp.Compare(a.Name, b.Name) < 0
}

// newestOf picks the version that counts among the listed claim, nil if there is none, and the assumed ones of the same
// name. There is at least one assumed version. It is not known which counts when two assumed ones differ and their
// versions do not say which is newer.
//
// resourceVersions are compared as numbers (CompareResourceVersion of apimachinery), which the API allows for two
// versions of one object. A UID is not compared: a claim that was deleted and created again under its name has a newer
// resourceVersion.
func newestOf(listed *resourcev1.ResourceClaim, assumed []*resourcev1.ResourceClaim) (newest *resourcev1.ResourceClaim, known bool, problems []*purekube.ObjectError) {
	// There is nothing to compare, so a malformed resourceVersion does no harm.
	if listed == nil && len(assumed) == 1 {
		return assumed[0], true, nil
	}
	for _, a := range assumed {
		// Compared with itself a version is either equal or malformed.
		if _, err := resourceversion.CompareResourceVersion(a.ResourceVersion, a.ResourceVersion); err != nil {
			// Such a claim does not come from an API server. It is passed over, and the claim's plan says so.
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
			// Two different objects of one resourceVersion: one of them was not written by the API server. A newer
			// version that comes later in the list makes it known again.
			known = false
		}
	}
	// The newest answer to a write, which no cache shows yet.
	if listed == nil {
		return newest, known, problems
	}
	// All assumed versions were malformed.
	if newest == nil {
		return listed, true, problems
	}
	order, err := resourceversion.CompareResourceVersion(newest.ResourceVersion, listed.ResourceVersion)
	switch {
	case err != nil:
		// The cache counts where nothing can be compared: all other objects come from it too.
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
