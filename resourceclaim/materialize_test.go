package resourceclaim

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/aliasing"
	"github.com/purekube/purekube/internal/test/contract"
	"github.com/purekube/purekube/internal/test/seed"
)

// withoutTemplateStatuses is the pod as Materialize looks at it.
func withoutTemplateStatuses(pod *corev1.Pod) *corev1.Pod {
	out := pod.DeepCopy()
	out.Status.ResourceClaimStatuses = slices.DeleteFunc(out.Status.ResourceClaimStatuses, func(st corev1.PodResourceClaimStatus) bool {
		return slices.ContainsFunc(pod.Spec.ResourceClaims, func(e corev1.PodResourceClaim) bool { return e.Name == st.Name && generated(&e) })
	})
	return out
}

// The claims are those that Plan creates for the pod, their name apart; the error is Plan's; and once
// they exist, Plan has nothing to create or to write into the status. Nothing that goes in is written
// to, and nothing that comes out is part of it.
func TestMaterializedClaimsArePlansClaims(t *testing.T) {
	made, failed := 0, 0
	rounds := few(500)
	for seed := range seed.Each(t, rounds) {
		r := rand.New(rand.NewPCG(seed, 7))
		g := generator{Rand: r, sane: seed%2 == 0}
		s := g.snapshot()
		pod := g.pod("p9")
		o := Options{}
		if seed%4 == 1 {
			o.MatchUpstream = purekube.V1_36
		}
		before, podBefore := contract.Copy(s), pod.DeepCopy()
		naming := func(entry string) string { return "materialized-" + entry }

		claims, materialized, err := NewIndex(s, o).Materialize(pod, naming)

		if diff := cmp.Diff(before, s); diff != "" || !cmp.Equal(podBefore, pod) {
			t.Fatalf("seed %d: the input is written to:\n%s", seed, diff)
		}
		require.Empty(t, aliasing.Shared([]any{s, pod}, []any{claims, materialized}), "seed %d", seed)

		planned := withoutTemplateStatuses(pod)
		with := s
		with.Pods = append(slices.DeleteFunc(slices.Clone(s.Pods), func(p *corev1.Pod) bool { return p != nil && p.Name == planned.Name }), planned)
		result, planErr := Plan(with, KeyOf(planned), o)
		if pod.UID != "" {
			require.Equal(t, errorText(planErr), errorText(err), "seed %d", seed)
			var want []*resourcev1.ResourceClaim
			for _, a := range result.Actions {
				if create, ok := a.(CreateClaim); ok {
					want = append(want, create.Claim)
				}
			}
			var got []*resourcev1.ResourceClaim
			for _, claim := range claims {
				c := claim.DeepCopy()
				require.NotEmpty(t, c.Name)
				c.Name = ""
				got = append(got, c)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d: other claims (- Plan, + Materialize):\n%s", seed, diff)
			}
		}

		again, againPod, againErr := NewIndex(contract.Shuffled(s, r), o).Materialize(pod, naming)
		if diff := cmp.Diff([]any{claims, materialized, errorText(err)}, []any{again, againPod, errorText(againErr)}); diff != "" {
			t.Fatalf("seed %d: the order of the snapshot shows:\n%s", seed, diff)
		}

		made += len(claims)
		if err != nil {
			failed++
		}
		if o.matchUpstream() || materialized.UID == "" {
			continue
		}
		with.Pods = []*corev1.Pod{materialized}
		with.Claims = slices.Concat(s.Claims, claims)
		result, _ = Plan(with, KeyOf(materialized), o)
		for _, a := range result.Actions {
			switch a.(type) {
			case CreateClaim, SetClaimStatuses:
				t.Fatalf("seed %d: not at rest: %s", seed, a)
			}
		}
	}
	t.Logf("%d claims made, %d snapshots with an error", made, failed)
	require.Greater(t, made, rounds/8)
	require.Greater(t, failed, rounds/8)
}

func TestMaterialize(t *testing.T) {
	template := newTemplate("t")
	for _, tc := range []struct {
		name, reason string
		pod          *corev1.Pod
		snapshot     Snapshot
		options      Options
		naming       func(string) string
		claims       []string // name, and UID of the owner
		statuses     []corev1.PodResourceClaimStatus
		err          error
	}{
		{name: "two entries", reason: "each gets a claim of its own", pod: newPod("p", wants("a", "t"), wants("b", "t")),
			naming: func(entry string) string { return "sim-" + entry },
			claims: []string{"sim-a for uid-p", "sim-b for uid-p"},
			statuses: []corev1.PodResourceClaimStatus{{Name: "a", ResourceClaimName: ptr.To("sim-a")},
				{Name: "b", ResourceClaimName: ptr.To("sim-b")}}},
		{name: "no UID", reason: "a pod that nobody has created yet has none", pod: newPod("p", podUID(""), wants("a", "t")),
			claims: []string{"p-a for "}, statuses: []corev1.PodResourceClaimStatus{{Name: "a", ResourceClaimName: ptr.To("p-a")}}},
		{name: "copied", reason: "the status is another pod's", pod: newPod("p", has("a", "t", "other-a-x4z9k")),
			claims: []string{"p-a for uid-p"}, statuses: []corev1.PodResourceClaimStatus{{Name: "a", ResourceClaimName: ptr.To("p-a")}}},
		{name: "there already", reason: "a claim that was made for the pod is not made twice", pod: newPod("p", wants("a", "t")),
			snapshot: Snapshot{Claims: []*resourcev1.ResourceClaim{newClaim("p-a-x4z9k", madeFor("p", "a"))}},
			statuses: []corev1.PodResourceClaimStatus{{Name: "a", ResourceClaimName: ptr.To("p-a-x4z9k")}}},
		{name: "named", reason: "the user's claim is no business of ours", pod: newPod("p", uses("a", "shared"))},
		{name: "no template", reason: "the other entry gets its claim", pod: newPod("p", wants("a", "missing"), wants("b", "t")),
			claims: []string{"p-b for uid-p"}, statuses: []corev1.PodResourceClaimStatus{{Name: "b", ResourceClaimName: ptr.To("p-b")}}, err: errTemplateNotFound},
		{name: "no claims", reason: "a pod without entries stays as it is", pod: newPod("p")},
		{name: "nil", reason: "there is nothing to materialize"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.snapshot.Templates = []*resourcev1.ResourceClaimTemplate{template}
			claims, pod, err := NewIndex(tc.snapshot, tc.options).Materialize(tc.pod, tc.naming)
			require.ErrorIs(t, err, tc.err)
			var got []string
			for _, c := range claims {
				got = append(got, fmt.Sprintf("%s for %s", c.Name, c.OwnerReferences[0].UID))
			}
			require.Equal(t, tc.claims, got, tc.reason)
			if tc.pod == nil {
				require.Nil(t, pod)
				return
			}
			require.Equal(t, tc.statuses, pod.Status.ResourceClaimStatuses, tc.reason)
			want := tc.pod.DeepCopy()
			want.Status.ResourceClaimStatuses = tc.statuses
			require.Equal(t, want, pod, "nothing but the statuses differs")
		})
	}
}

// Pods of a PodGroup share its claims: the first one brings them.
func TestMaterializePodsOfAGroup(t *testing.T) {
	g := newGroup("g", groupWants("gpu", "t")).got("gpu", "not-in-the-simulation")
	s := Snapshot{PodGroups: []PodGroup{g}, Templates: templates(newTemplate("t"))}
	pod := func(name string) *corev1.Pod {
		return newPod(name, podUID(""), inGroup("g"), wants("gpu", "t"), wants("nic", "t"))
	}
	var got []string
	for _, name := range []string{"p0", "p1"} {
		claims, materialized, err := NewIndex(s, grouped).Materialize(pod(name), nil)
		require.NoError(t, err)
		for _, c := range claims {
			got = append(got, c.Name)
		}
		require.Equal(t, []corev1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: ptr.To("g-gpu")}, {Name: "nic", ResourceClaimName: ptr.To(name + "-nic")}}, materialized.Status.ResourceClaimStatuses)
		s.Claims = append(s.Claims, claims...)
	}
	require.Equal(t, []string{"g-gpu", "p0-nic", "p1-nic"}, got)
	require.Len(t, s.PodGroups[0].ResourceClaimStatuses, 1, "the snapshot is as it was")
	require.Equal(t, types.UID("uid-g"), s.Claims[0].OwnerReferences[0].UID)
	result, err := Plan(Snapshot{PodGroups: []PodGroup{newGroup("g", groupWants("gpu", "t"))}, Templates: s.Templates}, groupKey("g"), grouped)
	require.NoError(t, err)
	want := result.Actions[0].(CreateClaim).Claim
	want.Name = "g-gpu"
	require.Equal(t, want, s.Claims[0], "the claim that the group's plan creates, its name apart")

	_, _, err = NewIndex(Snapshot{Templates: s.Templates}, grouped).Materialize(pod("p2"), nil)
	require.ErrorIs(t, err, errPodGroupNotFound)

	claims, _, err := NewIndex(Snapshot{Templates: s.Templates, Answers: askedGroups(g)}, grouped).Materialize(pod("p2"), nil)
	require.NoError(t, err)
	require.Len(t, claims, 2, "an answer serves as well as a group of the cache")
	nameless := g
	nameless.Namespace, nameless.Name = "", ""
	claims, _, err = NewIndex(Snapshot{Templates: s.Templates, Answers: replies{needOf(PodGroupKey(ns, "g")): {Object: nameless}}}, grouped).Materialize(pod("p2"), nil)
	require.NoError(t, err)
	require.Len(t, claims, 2, "it was asked for by that name")
	claims, _, err = NewIndex(Snapshot{PodGroups: []PodGroup{g}, Templates: s.Templates, Answers: askedGroups(g)}, grouped).Materialize(pod("p2"), nil)
	require.NoError(t, err)
	require.Len(t, claims, 2, "a group of the cache that was looked up is one group")
	notNeeded := newGroup("g", groupWants("gpu", "t"))
	notNeeded.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu"}}
	claims, _, err = NewIndex(Snapshot{PodGroups: []PodGroup{notNeeded}, Templates: s.Templates, Claims: []*resourcev1.ResourceClaim{newClaim("other")}}, grouped).Materialize(pod("p2"), nil)
	require.NoError(t, err)
	require.Len(t, claims, 1, "the group needs no claim, the pod its own")
	claims, _, err = NewIndex(Snapshot{PodGroups: []PodGroup{newGroup("g", groupWants("gpu", "t")).got("gpu", "twice")}, Templates: s.Templates, Claims: []*resourcev1.ResourceClaim{newClaim("twice"), newClaim("twice")}}, grouped).Materialize(pod("p2"), nil)
	require.ErrorIs(t, err, purekube.ErrDuplicate)
	require.Len(t, claims, 1, "one of the two may be the group's")
}

// D-37: the Index has the answer about a pod that was seen to be deleted.
func TestMaterializePodThatWasLookedUp(t *testing.T) {
	pod := newPod("p", wants("a", "t"))
	s := Snapshot{Templates: templates(newTemplate("t")), Deleted: deletedUIDs("uid-p")}
	for _, tc := range []struct {
		name    string
		answers replies
		claims  int
	}{{"there", asked(pod), 1}, {"gone", asked("p"), 0}} {
		s.Answers = tc.answers
		claims, _, err := NewIndex(s, grouped).Materialize(pod, nil)
		require.NoError(t, err)
		require.Len(t, claims, tc.claims, tc.name)
	}
}

// What Materialize gives is what a cluster comes to in which nothing else exists: the plans of the
// group and of the pod are carried out until they are at rest.
func TestMaterializeIsWhatPlansComeTo(t *testing.T) {
	seen := map[string]int{}
	for seed := range seed.Each(t, few(1000)) {
		r := rand.New(rand.NewPCG(seed, 8))
		g := generator{Rand: r, sane: true}
		s := g.withGroups(Snapshot{Templates: templates(newTemplate("t0"), newTemplate("t1")), Claims: g.snapshot().Claims})
		s.Answers = nil
		pod := g.pod("p9")
		pod.UID, pod.DeletionTimestamp, pod.Spec.NodeName = "uid-p9", nil, ""
		s.Pods = []*corev1.Pod{pod}
		s = g.joined(s)

		claims, materialized, err := NewIndex(s, grouped).Materialize(pod, nil)

		with := s
		with.Pods = []*corev1.Pod{withoutTemplateStatuses(pod)}
		with.PodGroups = contract.Copy(s.PodGroups)
		with.Answers = askedGroups("g0", "g1", "g2")
		var made []*resourcev1.ResourceClaim
		failed := map[purekube.Key]bool{}
		for _, key := range []purekube.Key{groupKey(groupOfLabel(pod)), groupKey(groupOfLabel(pod)), KeyOf(pod), KeyOf(pod)} {
			result, err := Plan(with, key, grouped)
			if len(result.Needs) > 0 { // nothing else exists
				for _, n := range result.Needs {
					maps.Copy(with.Answers, askedClaims(n.Name))
				}
				result, err = Plan(with, key, grouped)
				require.Empty(t, result.Needs, "seed %d", seed)
			}
			failed[key] = err != nil
			var done []runtime.Object
			for _, a := range result.Actions {
				switch a := a.(type) {
				case CreateClaim:
					claim := a.Claim
					claim.Name = strings.TrimSuffix(claim.GenerateName, "-")
					made, done = append(made, claim), append(done, claim)
					with.Claims = append(slices.Clone(with.Claims), claim)
					seen["made for a "+claim.OwnerReferences[0].Kind]++
				case SetClaimStatuses:
					for _, claim := range done {
						c := claim.(*resourcev1.ResourceClaim)
						a = a.withCreated(map[string]string{c.Annotations[PodClaimAnnotation]: c.Name})
					}
					if key.Kind == podKind {
						with.Pods = []*corev1.Pod{a.Apply(with.Pods[0])}
						continue
					}
					for i := range with.PodGroups {
						if KeyOf(&with.PodGroups[i]) == key {
							with.PodGroups[i] = a.ApplyToPodGroup(with.PodGroups[i])
						}
					}
				}
			}
		}
		if diff := cmp.Diff(made, claims); diff != "" {
			t.Fatalf("seed %d: other claims (- Plan, + Materialize):\n%s", seed, diff)
		}
		if diff := cmp.Diff(with.Pods[0], materialized); diff != "" {
			t.Fatalf("seed %d: another pod (- Plan, + Materialize):\n%s", seed, diff)
		}
		require.Equal(t, failed[groupKey(groupOfLabel(pod))] || failed[KeyOf(pod)], err != nil, "seed %d: %v", seed, err)
		if err != nil {
			seen["error"]++
		}
		for _, st := range materialized.Status.ResourceClaimStatuses {
			claim := claimNamed(with.Claims, ptr.Deref(st.ResourceClaimName, ""))
			if _, _, ok := owningPodGroup(claim); ok {
				seen["the pod has its group's"]++
			}
		}
	}
	t.Log(seen)
	require.Len(t, seen, 4, "each of these has to occur: %v", seen)
}

// claimNamed is the claim of that name, or an empty one.
func claimNamed(claims []*resourcev1.ResourceClaim, name string) *resourcev1.ResourceClaim {
	for _, c := range claims {
		if c != nil && c.Name == name {
			return c
		}
	}
	return &resourcev1.ResourceClaim{}
}
