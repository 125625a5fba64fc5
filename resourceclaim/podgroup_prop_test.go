package resourceclaim

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
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

// joinedObjects make pods and claims for the snapshot, in its groups where PodGroups are on.
func (g generator) joinedObjects(s Snapshot, o Options) (pod func(name string) *corev1.Pod, claim func(name string) *resourcev1.ResourceClaim) {
	if o.PodGroupOf == nil {
		return g.pod, g.claim
	}
	pod = func(name string) *corev1.Pod {
		return g.joined(Snapshot{Pods: pods(g.pod(name)), PodGroups: s.PodGroups}).Pods[0]
	}
	claim = func(name string) *resourcev1.ResourceClaim {
		return g.joined(Snapshot{Claims: claims(g.claim(name)), PodGroups: s.PodGroups}).Claims[0]
	}
	return pod, claim
}

func everyGroupKey() []purekube.Key {
	return append(everyKey(), groupKey("g0"), groupKey("g1"), groupKey("g2"))
}

// What holds for any snapshot holds for those with PodGroups: nothing is written to and nothing
// shared, order does not show, Plan is PlanAll's share, and nothing panics.
func TestContractWithPodGroups(t *testing.T) {
	seeded(t, 150, func(t *testing.T, r *rand.Rand) {
		g := generator{r, r.IntN(2) == 0}
		s := g.withGroups(g.snapshot())
		checkContract(t, s, Options{PodGroupOf: groupOfLabel, MatchUpstream: purekube.Upstream(g.one("", "", string(purekube.V1_37)))}, r)
	})
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

// With and Without of one PodGroup name every key whose plan differs.
func TestIndexNamesEveryPlanThatAPodGroupChanges(t *testing.T) {
	seeded(t, 500, func(t *testing.T, r *rand.Rand) {
		g := generator{r, true}
		o := Options{PodGroupOf: groupOfLabel, MatchUpstream: purekube.Upstream(g.one("", "", string(purekube.V1_37)))}
		s := g.withGroups(g.snapshot())
		x := NewIndex(s, o)
		name := g.groupName()
		var oldGroup *PodGroup
		if i := slices.IndexFunc(s.PodGroups, func(g PodGroup) bool { return g.Name == name }); i >= 0 {
			oldGroup = &s.PodGroups[i]
		}
		after := s
		after.PodGroups = slices.DeleteFunc(slices.Clone(s.PodGroups), func(g PodGroup) bool { return g.Name == name })
		var next *Index
		var got []purekube.Key
		if r.IntN(3) == 0 && oldGroup != nil {
			next, got = x.Without(Snapshot{PodGroups: []PodGroup{*oldGroup}})
		} else {
			changed := g.group(name)
			after.PodGroups = append(after.PodGroups, changed)
			next, got = x.With(Snapshot{PodGroups: []PodGroup{changed}})
		}
		for _, key := range everyGroupKey() {
			was, wasErr := x.Plan(key)
			is, isErr := next.Plan(key)
			direct, directErr := Plan(after, key, o)
			require.Empty(t, cmp.Diff(direct, is))
			require.Equal(t, errorText(directErr), errorText(isErr))
			if !cmp.Equal(was, is) || errorText(wasErr) != errorText(isErr) {
				require.Contains(t, got, key, "%v, now %v", lines(was.Actions), lines(is.Actions))
			}
		}
	})
}
