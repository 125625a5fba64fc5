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

// claimSet is the claims by name: those listed, and over them those that count in their place.
type claimSet struct {
	listed *snapshot.Table[resourcev1.ResourceClaim, *resourcev1.ResourceClaim]
	// assumed are the claims that are newer than the listed one of their name, or have none.
	assumed map[types.NamespacedName]*resourcev1.ResourceClaim
	// ambiguous are the names of which it is not known which claim counts. They are not found.
	ambiguous map[types.NamespacedName]bool
	// versions are the problems with resourceVersions that do not compare, none for most names. It has
	// every name for which assumed claims were looked at.
	versions map[types.NamespacedName][]*purekube.ObjectError
}

func listClaims(claims []*resourcev1.ResourceClaim) claimSet {
	c := claimSet{listed: snapshot.NewTable("ResourceClaim", claims), ambiguous: map[types.NamespacedName]bool{}}
	for _, twice := range c.listed.Duplicates() {
		c.ambiguous[types.NamespacedName{Namespace: twice.Namespace, Name: twice.Name}] = true
	}
	return c
}

// find returns the claim of that name that counts, or nil.
func (c *claimSet) find(name types.NamespacedName) *resourcev1.ResourceClaim {
	claim, _ := c.locate(name)
	return claim
}

// locate is find, with the claim's position among the listed ones; -1: it is not one of them.
func (c *claimSet) locate(name types.NamespacedName) (claim *resourcev1.ResourceClaim, position int) {
	if claim, ok := c.assumed[name]; ok {
		return claim, -1
	}
	if c.ambiguous[name] {
		return nil, -1
	}
	if position = c.listed.Position(name); position < 0 {
		return nil, -1
	}
	return c.listed.At(position), position
}

// special reports whether there is more to a name than one listed claim.
func (c *claimSet) special(name types.NamespacedName) bool {
	_, ok := c.versions[name]
	return ok || c.ambiguous[name]
}

// specials are the names for which special holds, each once.
func (c *claimSet) specials() map[types.NamespacedName]struct{} {
	out := map[types.NamespacedName]struct{}{}
	for name := range c.ambiguous {
		out[name] = struct{}{}
	}
	for name := range c.versions {
		out[name] = struct{}{}
	}
	return out
}

// with lays the assumed claims over the listed ones: the newer version of each name counts
// (BR-30-04). A version that cannot be compared loses against the listed claim, and is a
// problem. The receiver is not changed.
func (c claimSet) with(assumed []*resourcev1.ResourceClaim) claimSet {
	if len(assumed) == 0 {
		return c
	}
	c.ambiguous = maps.Clone(c.ambiguous)
	c.assumed = map[types.NamespacedName]*resourcev1.ResourceClaim{}
	c.versions = map[types.NamespacedName][]*purekube.ObjectError{}
	byName := map[types.NamespacedName][]*resourcev1.ResourceClaim{}
	for _, claim := range assumed {
		name := snapshot.KeyOf(claim)
		byName[name] = append(byName[name], claim)
	}
	for name, versions := range byName {
		if c.ambiguous[name] {
			continue
		}
		listed := c.listed.Find(name)
		newest, known, problems := newestOf(listed, versions)
		c.versions[name] = problems
		switch {
		case !known:
			c.ambiguous[name] = true
		case newest != listed:
			c.assumed[name] = newest
		}
	}
	return c
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
