package resourceclaim

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

func (g generator) groupName() string { return g.one("g0", "g1") }

func (g generator) groupUID(name string) types.UID {
	if g.never() {
		return ""
	}
	return types.UID("uid-" + name + g.one("", "", "", "-old"))
}

func (g generator) group(name string) PodGroup {
	out := newGroup(name).uid(g.groupUID(name))
	out.Deleting = g.seldom()
	if g.never() {
		out.APIVersion = g.one("", "v1", "example.com/v1", "a/b/c")
	}
	for i := range g.IntN(3) {
		entry := fmt.Sprintf("e%d", i)
		switch g.IntN(8) {
		case 0, 1:
			out.ResourceClaims = append(out.ResourceClaims, groupUses(entry, g.claimName()))
		case 2:
			out.ResourceClaims = append(out.ResourceClaims, corev1.PodResourceClaim{Name: entry})
		default:
			out.ResourceClaims = append(out.ResourceClaims, groupWants(entry, g.one("t0", "t1", "t0x")))
			if g.often() {
				out = out.got(entry, g.claimName())
			}
		}
	}
	for g.never() {
		out.ResourceClaims = append(out.ResourceClaims, groupWants(g.one("e0", "e5", "e6", "e7"), "t0"))
	}
	return out
}

// withGroups puts PodGroups, their pods and their claims into a snapshot that nobody else has.
func (g generator) withGroups(s Snapshot) Snapshot {
	for _, name := range []string{"g0", "g1"} {
		if g.often() {
			s.PodGroups = append(s.PodGroups, g.group(name))
		}
		if g.never() {
			s.PodGroups = append(s.PodGroups, g.group(name), g.group(""))
		}
	}
	s.Answers = maps.Clone(s.Answers)
	if s.Answers == nil {
		s.Answers = replies{}
	}
	for _, name := range []string{"g0", "g1", "g2"} {
		switch g.IntN(4) {
		case 0:
			maps.Copy(s.Answers, askedGroups(name))
		case 1:
			maps.Copy(s.Answers, askedGroups(g.group(name)))
		}
	}
	return g.joined(s)
}

// joined puts pods of the snapshot into groups, and makes some of its claims theirs.
func (g generator) joined(s Snapshot) Snapshot {
	for _, p := range s.Pods {
		if p == nil || g.seldom() {
			continue
		}
		name := g.one("g0", "g0", "g1", "g2")
		inGroup(name)(p)
		for i := range s.PodGroups {
			if s.PodGroups[i].Name != name || g.seldom() {
				continue
			}
			for j, e := range s.PodGroups[i].ResourceClaims {
				if j < len(p.Spec.ResourceClaims) && p.Spec.ResourceClaims[j].Name == e.Name && g.often() {
					p.Spec.ResourceClaims[j] = *e.DeepCopy()
				}
			}
		}
	}
	for _, c := range slices.Concat(s.Claims, s.Assumed) {
		if c == nil {
			continue
		}
		if g.IntN(2) == 0 {
			name := g.groupName()
			ofGroup(name, g.groupUID(name), g.one("e0", "e1"))(c)
		}
		for i := range c.Status.ReservedFor {
			if g.IntN(3) == 0 {
				name := g.one("g0", "g1", "g2")
				forGroup(name, g.groupUID(name))(c)
				c.Status.ReservedFor[i] = c.Status.ReservedFor[len(c.Status.ReservedFor)-1]
				c.Status.ReservedFor = c.Status.ReservedFor[:len(c.Status.ReservedFor)-1]
			}
		}
	}
	return s
}

// SAFETY: a pod's plan makes no claim for an entry of its group, and reserves no claim of the group's
// for the pod alone. LIVENESS: what a plan of a group names in its status is named in its pods' next.
func TestPodsOfAGroupShareItsClaims(t *testing.T) {
	entries := map[string]int{}
	property := func(t *testing.T, r *rand.Rand) {
		g := generator{r, true}
		s := g.withGroups(g.snapshot())
		o := grouped
		for _, p := range s.Pods {
			name := groupOfLabel(p)
			i := slices.IndexFunc(s.PodGroups, func(g PodGroup) bool { return g.Name == name && !s.Deleted.Has(g.UID) })
			if name == "" || i < 0 {
				continue
			}
			group := podGroupsOf(s.PodGroups[i : i+1])[0]
			result, _ := Plan(s, podKey(p.Name), o)
			for j := range p.Spec.ResourceClaims {
				e := &p.Spec.ResourceClaims[j]
				bound, _ := group.binds(e)
				for _, a := range result.Actions {
					switch a := a.(type) {
					case CreateClaim:
						if a.PodClaim == e.Name {
							require.False(t, bound, "%s makes a claim of its group's", p.Name)
							entries["made for the pod"]++
						}
					case Reserve:
						if claim, state := ClaimName(p, e); state == NameKnown && claim == a.Claim.Name && len(p.Spec.ResourceClaims) == 1 {
							require.Equal(t, bound, a.Consumer.Kind == podGroupKind)
							last := a.Claim.Status.ReservedFor[len(a.Claim.Status.ReservedFor)-1]
							require.Equal(t, bound, isPodGroup(&last))
							entries[fmt.Sprint("reserved for the group: ", bound)]++
						}
					case SetClaimStatuses:
						for _, status := range a.Statuses {
							if status.Name == e.Name && bound {
								entries["took the group's"]++
							}
						}
					}
				}
			}
		}
	}
	// Few snapshots have a group whose claim a pod of it reserves: more are drawn until each kind was seen.
	for round := 0; round == 0 || round < 20 && len(entries) < 4; round++ {
		seeded(t, 1500, property)
	}
	require.Len(t, entries, 4, "each of these has to occur: %v", entries)
}
