package resourceclaim

import (
	"maps"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// claimSet is the claims by name. A name is in at most one of its maps' claims and ambiguous.
type claimSet struct {
	byName map[types.NamespacedName]*resourcev1.ResourceClaim
	// ambiguous are the names that more than one claim has.
	ambiguous map[types.NamespacedName]bool
	// versions are the problems with resourceVersions that do not compare.
	versions map[types.NamespacedName][]*purekube.ObjectError
}

// with lays the assumed claims over the listed ones: the newer version of each name counts
// (BR-30-04). A version that cannot be compared loses against the listed claim, and is a
// problem. The receiver is not changed.
func (c claimSet) with(assumed []*resourcev1.ResourceClaim) claimSet {
	if len(assumed) == 0 {
		return c
	}
	out := claimSet{
		byName:    maps.Clone(c.byName),
		ambiguous: maps.Clone(c.ambiguous),
		versions:  map[types.NamespacedName][]*purekube.ObjectError{},
	}
	byName := map[types.NamespacedName][]*resourcev1.ResourceClaim{}
	for _, claim := range assumed {
		key := snapshot.KeyOf(claim)
		byName[key] = append(byName[key], claim)
	}
	for key, versions := range byName {
		if out.ambiguous[key] {
			continue
		}
		listed := c.byName[key]
		newest, known, problems := newestOf(listed, versions)
		out.versions[key] = problems
		if known {
			out.byName[key] = newest
			continue
		}
		delete(out.byName, key)
		if out.ambiguous == nil {
			out.ambiguous = map[types.NamespacedName]bool{}
		}
		out.ambiguous[key] = true
	}
	return out
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
