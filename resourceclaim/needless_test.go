package resourceclaim

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
)

// hostileClaims are claims that a user with the rights of one namespace can make: their owner is a pod
// with another UID than the one that is there.
func hostileClaims(n int, options ...claimOption) []*resourcev1.ResourceClaim {
	var out []*resourcev1.ResourceClaim
	for i := range n {
		options := append([]claimOption{ownedBy("done", "uid-none"), annotated("gpu")}, options...)
		out = append(out, newClaim(fmt.Sprintf("c%d", i), options...))
	}
	return out
}

func countNeeds(outcomes []Outcome) (needs int) {
	for _, o := range outcomes {
		needs += len(o.Result.Needs)
	}
	return needs
}

// 3,000 claims that are being deleted and are held back by a foreign finalizer ask for nothing, and
// events of the pod that they name as their owner affect none of them.
func TestUnusedClaimsBeingDeletedAskForNothing(t *testing.T) {
	const n = 3000
	done := newPod("done", onNode, phase(corev1.PodSucceeded))
	labeled := done.DeepCopy()
	labeled.Labels, labeled.ResourceVersion = map[string]string{"a": "b"}, "101"
	running := newPod("done", onNode, phase(corev1.PodRunning))
	foreign := finalizers("example.com/other")
	for _, tc := range []struct {
		name, reason string
		claims       []*resourcev1.ResourceClaim
		actions      int // of all plans together
		needs        int
	}{
		{"held back by a foreign finalizer", "there is nothing to do", hostileClaims(n, claimDeleting, foreign), 0, 0},
		{"with our finalizer", "it goes at once, as upstream's does", hostileClaims(n, claimDeleting, protected), n, 0},
		{"allocated", "it is deallocated at once, as upstream's is", hostileClaims(n, claimDeleting, allocated), 2 * n, 0},
		{"not being deleted", "whether it is to be deleted is what the answer decides", hostileClaims(n), 0, n},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := Snapshot{Pods: pods(done), Claims: tc.claims}
			outcomes, err := PlanAll(s, Options{})
			require.NoError(t, err)
			x := NewIndex(s, Options{})
			ofIndex, err := x.PlanAll()
			require.NoError(t, err)
			require.Empty(t, outcomesEqual(outcomes, ofIndex))
			actions := 0
			for _, o := range outcomes {
				actions += len(o.Result.Actions)
			}
			require.Equal(t, tc.needs, countNeeds(outcomes), tc.reason)
			require.Equal(t, tc.actions, actions, tc.reason)

			_, affected := x.With(Snapshot{Pods: pods(labeled)})
			require.Empty(t, affected, "a label of a pod that is done changes nothing")
			if tc.needs > 0 {
				return
			}
			for name, e := range map[string]struct{ oldPod, newPod *corev1.Pod }{"done": {running, done}, "deleted": {done, nil}, "created": {nil, done}} {
				before := Snapshot{Claims: tc.claims}
				if e.oldPod != nil {
					before.Pods = pods(e.oldPod)
				}
				after := Snapshot{Claims: tc.claims}
				if e.newPod != nil {
					after.Pods = pods(e.newPod)
				}
				x := NewIndex(before, Options{})
				_, affected := x.With(Snapshot{Pods: after.Pods})
				if e.newPod == nil {
					_, affected = x.Without(Snapshot{Pods: before.Pods})
				}
				require.Empty(t, affected, name)
			}
			_, affected = x.With(Snapshot{Answers: asked("done")})
			require.Empty(t, affected, "nor does an answer about their owner")
		})
	}
	for _, release := range []purekube.Upstream{purekube.V1_36, purekube.V1_37} {
		s := Snapshot{Pods: pods(done), Claims: hostileClaims(1, claimDeleting, allocated)}
		r, err := Plan(s, claimKey("c0"), Options{MatchUpstream: release})
		require.NoError(t, err)
		require.Equal(t, []string{"Release ml/c0: deallocate", "RemoveFinalizer ml/c0", "DeleteClaim ml/c0"}, lines(r.Actions), "upstream deletes it on each pass (D-17)")
		_, affected := NewIndex(Snapshot{Pods: pods(running), Claims: s.Claims}, Options{MatchUpstream: release}).With(Snapshot{Pods: pods(done)})
		require.Contains(t, affected, claimKey("c0"), "so that there the owner matters")
	}
}

// A pod's PodGroup is asked for only if it decides.
func TestPodGroupThatDecidesNothingIsNotAskedFor(t *testing.T) {
	gpu := templates(newTemplate("gpu"))
	member := func(options ...podOption) []*corev1.Pod {
		return pods(newPod("p", append([]podOption{inGroup("g")}, options...)...))
	}
	for _, tc := range []struct {
		name, reason string
		s            Snapshot
		asks         bool
	}{
		{"user's claim, not scheduled", "reserving is up to the scheduler", Snapshot{Pods: member(uses("a", "s")), Claims: claims(newClaim("s", allocated))}, false},
		{"user's claim, not allocated", "there is nothing to reserve", Snapshot{Pods: member(onNode, uses("a", "s")), Claims: claims(newClaim("s"))}, false},
		{"user's claim that is reserved for a group of the name, not scheduled", "reserving is up to the scheduler", Snapshot{Pods: member(uses("a", "s")), Claims: claims(newClaim("s", allocated, forGroup("g", "uid-g")))}, false},
		{"user's claim that is reserved for a group of the name, not allocated", "there is nothing to reserve", Snapshot{Pods: member(onNode, uses("a", "s")), Claims: claims(newClaim("s", forGroup("g", "uid-g")))}, false},
		{"user's claim that is missing", "its user makes it", Snapshot{Pods: member(onNode, uses("a", "s"))}, false},
		{"the pod's own claim, reserved", "it is the pod's whatever the group is", Snapshot{Pods: member(onNode, has("a", "gpu", "c")), Claims: claims(newClaim("c", madeFor("p", "a"), allocated, reservedFor("p"))), Templates: gpu}, false},
		{"the pod's own claim, not scheduled", "it is the pod's whatever the group is", Snapshot{Pods: member(has("a", "gpu", "c")), Claims: claims(newClaim("c", madeFor("p", "a"))), Templates: gpu}, false},
		{"user's claim that takes no consumer", "it is refused for both", Snapshot{Pods: member(onNode, uses("a", "s")), Claims: claims(newClaim("s", allocated, claimDeleting))}, false},
		{"not needed", "says the status", Snapshot{Pods: member(onNode, wants("a", "gpu"), notNeeded("a")), Templates: gpu}, false},
		{"entry without a claim", "it may be the group's", Snapshot{Pods: member(wants("a", "gpu")), Templates: gpu}, true},
		{"user's claim to reserve", "it may be reserved for the group", Snapshot{Pods: member(onNode, uses("a", "s")), Claims: claims(newClaim("s", allocated))}, true},
		{"claim of a group of the name", "it may be its predecessor's", Snapshot{Pods: member(has("a", "gpu", "c")), Claims: claims(newClaim("c", ofGroup("g", "uid-g", "a"))), Templates: gpu}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, _ := Plan(tc.s, podKey("p"), grouped)
			require.Empty(t, r.Actions)
			var want []purekube.Need
			if tc.asks {
				want = []purekube.Need{{APIVersion: "scheduling.k8s.io/v1beta1", Kind: "PodGroup", Namespace: ns, Name: "g"}}
			}
			require.Equal(t, want, r.Needs, tc.reason)
			explained, _ := NewIndex(tc.s, grouped).Explain(podKey("p"))
			require.Equal(t, tc.asks, explained.Reasons[0].Code == ReasonPodGroupUnknown)
		})
	}
}

// possible are the answers that there can be to a Need of the plan for a key: one for each way in
// which the API server's object can relate to those of the snapshot.
func possible(s Snapshot, need purekube.Need) (answers []func(*Snapshot)) {
	name := types.NamespacedName{Namespace: need.Namespace, Name: need.Name}
	uids := []types.UID{"uid-nobody's"}
	add := func(uid types.UID) {
		if uid != "" && !slices.Contains(uids, uid) {
			uids = append(uids, uid)
		}
	}
	for _, c := range slices.Concat(s.Claims, s.Assumed) {
		for _, r := range c.Status.ReservedFor {
			add(r.UID)
		}
		for _, o := range c.OwnerReferences {
			add(o.UID)
		}
	}
	for _, p := range s.Pods {
		add(p.UID)
	}
	for _, g := range s.PodGroups {
		add(g.UID)
	}
	switch need.Kind {
	case "Pod":
		answers = append(answers, func(s *Snapshot) { maps.Copy(s.Answers, asked(name.Name)) })
		for _, uid := range uids {
			answers = append(answers, func(s *Snapshot) { maps.Copy(s.Answers, asked(newPod(name.Name, podUID(uid)))) })
		}
	case "PodGroup":
		answers = append(answers, func(s *Snapshot) { maps.Copy(s.Answers, askedGroups(name.Name)) })
		var entries []corev1.PodResourceClaim
		for _, p := range s.Pods {
			if groupOfLabel(p) == name.Name {
				entries = append(entries, p.Spec.ResourceClaims...)
			}
		}
		for _, uid := range uids {
			none, every := newGroup(name.Name).uid(uid), newGroup(name.Name, entries...).uid(uid)
			answers = append(answers, func(s *Snapshot) { maps.Copy(s.Answers, askedGroups(none)) }, func(s *Snapshot) { maps.Copy(s.Answers, askedGroups(every)) })
		}
	case "ResourceClaim":
		answers = append(answers, func(s *Snapshot) { maps.Copy(s.Answers, askedClaims(name.Name)) })
		for _, p := range s.Pods {
			answers = append(answers, func(s *Snapshot) {
				maps.Copy(s.Answers, askedClaims(newClaim(name.Name, ownedBy(p.Name, p.UID), allocated)))
			})
		}
		for _, g := range s.PodGroups {
			answers = append(answers, func(s *Snapshot) {
				maps.Copy(s.Answers, askedClaims(newClaim(name.Name, ofGroup(g.Name, g.UID, "e0"), allocated)))
			})
		}
	}
	return answers
}

// decides reports whether the answer to this Need makes a difference to what is done in the end, for one of the
// API servers that there can be.
func decides(s Snapshot, key purekube.Key, o Options, this purekube.Need, r *rand.Rand) bool {
	for range 200 {
		server := map[purekube.Need]int{} // the answer to each Need
		found := map[string]bool{}
		for i := range possible(s, this) {
			server[this] = i
			answered := s
			answered.Answers = maps.Clone(s.Answers)
			result, err := Plan(answered, key, o)
			for len(result.Needs) > 0 {
				for _, n := range result.Needs {
					answers := possible(s, n)
					if _, known := server[n]; !known {
						server[n] = r.IntN(len(answers))
					}
					answers[server[n]](&answered)
				}
				result, err = Plan(answered, key, o)
			}
			found[fmt.Sprint(lines(result.Actions), result.Events, errorText(err))] = true
		}
		if len(found) > 1 {
			return true
		}
	}
	return false
}

// inWords is what a pod's plan is about.
func inWords(s Snapshot, key purekube.Key) (text []string) {
	for _, p := range s.Pods {
		if KeyOf(p) == key {
			text = append(text, fmt.Sprintf("node %q group %q entries %v statuses %v", p.Spec.NodeName, groupOfLabel(p), p.Spec.ResourceClaims, p.Status.ResourceClaimStatuses))
		}
	}
	for _, g := range s.PodGroups {
		text = append(text, fmt.Sprintf("%s %s %v", g.Name, g.UID, g.ResourceClaims))
	}
	return text
}

// Nothing is asked for that decides nothing.
func TestEveryNeedDecides(t *testing.T) {
	needs := map[string]int{}
	seeded(t, 300, func(t *testing.T, r *rand.Rand) {
		s := generator{r, true}.snapshot()
		o := Options{}
		if r.IntN(2) == 0 {
			s, o = generator{r, true}.withGroups(s), grouped
		}
		s.Answers = replies{}
		outcomes, _ := PlanAll(s, o)
		for _, outcome := range outcomes {
			for _, n := range outcome.Result.Needs {
				require.True(t, decides(s, outcome.Key, o, n, r), "%s asks for %v, on account of %v", outcome.Key, n, inWords(s, outcome.Key))
				needs[outcome.Key.Kind+" "+n.Kind]++
			}
		}
	})
	for _, kind := range []string{"ResourceClaim Pod", "ResourceClaim PodGroup", "Pod Pod", "Pod PodGroup", "Pod ResourceClaim", "PodGroup ResourceClaim"} {
		require.NotZero(t, needs[kind], kind)
	}
}
