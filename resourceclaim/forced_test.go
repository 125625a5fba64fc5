package resourceclaim

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/purekube/purekube"
)

// A PodGroup that was removed by force is no reason to take the devices from its running pods.
func TestD36_ClaimStaysWhilePodsOfTheGroupRun(t *testing.T) {
	released := []string{"Release ml/c: g, deallocate", "RemoveFinalizer ml/c"}
	run := func(options ...podOption) *corev1.Pod {
		return newPod("p", append([]podOption{inGroup("g"), onNode, phase(corev1.PodRunning), has("gpu", "gpu", "c")}, options...)...)
	}
	gone := askedGroups("g")
	for _, tc := range []struct {
		name, reason string
		s            Snapshot
		want         []string
		asks         bool
	}{
		{name: "a pod runs", reason: "the API server has no such group, and the devices are in use", s: Snapshot{Pods: pods(run()), Answers: gone}},
		{name: "a pod runs, the group is not looked up", reason: "no answer would change anything", s: Snapshot{Pods: pods(run())}},
		{name: "a pod runs, the group is known to be deleted", reason: "as above", s: Snapshot{Pods: pods(run()), Deleted: deletedUIDs("uid-g")}},
		{name: "a pod runs, the group was replaced", reason: "as above", s: Snapshot{Pods: pods(run()), Answers: askedGroups(newGroup("g").uid("new"))}},
		{name: "a pod runs, another group is cached", reason: "as above", s: Snapshot{Pods: pods(run()), PodGroups: []PodGroup{newGroup("g").uid("new")}}},
		{name: "a pod is not scheduled yet", reason: "it may run", s: Snapshot{Pods: pods(newPod("p", inGroup("g"), has("gpu", "gpu", "c"))), Answers: gone}},
		{name: "a pod terminates", reason: "its containers may still run", s: Snapshot{Pods: pods(run(podDeleting)), Answers: gone}},
		{name: "a pod names the claim in its spec", reason: "it uses the claim all the same", s: Snapshot{Pods: pods(newPod("p", inGroup("g"), onNode, uses("a", "c"))), Answers: gone}},
		{name: "two pods of one name", reason: "one of them may run", s: Snapshot{Pods: pods(run(), run(podUID("other"), phase(corev1.PodFailed))), Answers: gone}},
		{name: "one of two pods runs", reason: "the last one counts", s: Snapshot{Pods: pods(run(phase(corev1.PodFailed)), newPod("q", inGroup("g"), onNode, has("gpu", "gpu", "c"))), Answers: gone}},

		{name: "the pod is done", reason: "nobody uses the devices", s: Snapshot{Pods: pods(run(phase(corev1.PodSucceeded))), Answers: gone}, want: released},
		{name: "the pod was deleted without a node", reason: "it will not run", s: Snapshot{Pods: pods(newPod("p", inGroup("g"), podDeleting, has("gpu", "gpu", "c"))), Answers: gone}, want: released},
		{name: "there is no pod", reason: "nobody uses the devices", s: Snapshot{Answers: gone}, want: released},
		{name: "the pod is in another group", reason: "the claim is not reserved for that one", s: Snapshot{Pods: pods(run(inGroup("h"))), Answers: gone}, want: released},
		{name: "the pod is in no group", reason: "the claim is not reserved for it", s: Snapshot{Pods: pods(run(inGroup(""))), Answers: gone}, want: released},
		{name: "the pod's status names another claim", reason: "it does not use this one", s: Snapshot{Pods: pods(newPod("p", inGroup("g"), onNode, has("gpu", "gpu", "d"))), Answers: gone}, want: released},
		{name: "a pod of the name in another namespace", reason: "a claim serves its own", s: Snapshot{Pods: pods(run(func(p *corev1.Pod) { p.Namespace = "other" })), Answers: gone}, want: released},
		{name: "the pod is done, the group is not looked up", reason: "now the answer decides", s: Snapshot{Pods: pods(run(phase(corev1.PodSucceeded)))}, asks: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.s.Claims = claims(newClaim("c", ofGroup("g", "uid-g", "gpu"), allocated, forGroup("g", "uid-g")))
			r, err := Plan(tc.s, claimKey("c"), grouped)
			require.NoError(t, err)
			require.Equal(t, tc.want, lines(r.Actions), tc.reason)
			require.Equal(t, tc.asks, len(r.Needs) > 0, tc.reason)

			all, err := PlanAll(tc.s, grouped)
			if err == nil {
				ofIndex, err := NewIndex(tc.s, grouped).PlanAll()
				require.NoError(t, err)
				require.Empty(t, outcomesEqual(all, ofIndex))
			}
			ofIndex, err := NewIndex(tc.s, grouped).Plan(claimKey("c"))
			require.NoError(t, err)
			require.Equal(t, lines(r.Actions), lines(ofIndex.Actions))
			require.Equal(t, r.Needs, ofIndex.Needs)

			explained, err := NewIndex(tc.s, grouped).Explain(claimKey("c"))
			require.NoError(t, err)
			require.Equal(t, len(tc.want) == 0 && !tc.asks, explained.Reasons[0].Code == ReasonConsumerUsedByPods)

			tc.s.Answers, tc.s.PodGroups = gone, nil
			up, err := Plan(tc.s, claimKey("c"), Options{PodGroupOf: groupOfLabel, MatchUpstream: purekube.V1_37})
			require.NoError(t, err)
			require.Equal(t, released, lines(up.Actions), "upstream releases at once")
		})
	}
}

// The events of pods that end it, or begin it, affect the claim.
// A pod that cannot be named may be one of the group's: nothing is released until the snapshot has none.
func TestD36_PodsThatCannotBeNamed(t *testing.T) {
	claim := newClaim("c", ofGroup("g", "uid-g", "gpu"), allocated, forGroup("g", "uid-g"))
	for _, tc := range []struct {
		name, reason string
		pod          *corev1.Pod
		releases     bool
	}{
		{"a nil pod", "it may be of any namespace", nil, false},
		{"a pod without a name", "it may use the claim", newPod(""), false},
		{"a pod without a name elsewhere", "a claim serves its own namespace", newPod("", func(p *corev1.Pod) { p.Namespace = "other" }), true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := Snapshot{Claims: claims(claim), Answers: askedGroups("g")}
			before := NewIndex(s, grouped)
			r, err := before.Plan(claimKey("c"))
			require.NoError(t, err)
			require.NotEmpty(t, r.Actions, "without the pod")

			s.Pods = []*corev1.Pod{tc.pod}
			r, err = Plan(s, claimKey("c"), grouped)
			require.Error(t, err)
			require.Equal(t, tc.releases, len(r.Actions) > 0, tc.reason)
			require.Empty(t, r.Needs, "no lookup finds a pod without a name")
			r, err = Plan(Snapshot{Claims: s.Claims, Pods: s.Pods}, claimKey("c"), grouped)
			require.Error(t, err)
			require.Equal(t, tc.releases, len(r.Needs) > 0, "no answer about the group would release the claim")
			_, affected := before.With(Snapshot{Pods: s.Pods})
			require.Contains(t, affected, claimKey("c"))
		})
	}
}

func TestD36_EventsOfPodsAffectTheClaim(t *testing.T) {
	claim := newClaim("c", ofGroup("g", "uid-g", "gpu"), allocated, forGroup("g", "uid-g"))
	run := newPod("p", inGroup("g"), onNode, phase(corev1.PodRunning), has("gpu", "gpu", "c"))
	changed := func(options ...podOption) *corev1.Pod {
		p := run.DeepCopy()
		for _, o := range options {
			o(p)
		}
		return p
	}
	named := func(name string) podOption {
		return func(p *corev1.Pod) { p.Status.ResourceClaimStatuses[0].ResourceClaimName = &name }
	}
	for _, tc := range []struct {
		name           string
		oldPod, newPod *corev1.Pod
		differs        bool
	}{
		{"it is done", run, changed(phase(corev1.PodSucceeded)), true},
		{"it is gone", run, nil, true},
		{"it was replaced by one that uses nothing", run, newPod("p", podUID("next"), inGroup("g")), true},
		{"its status names another claim", run, changed(named("d")), true},
		{"its status named another claim", changed(named("d")), run, true},
		{"it leaves the group", run, changed(inGroup("h")), true},
		{"it comes", nil, run, true},
		{"an older list shows it running again", changed(phase(corev1.PodSucceeded)), run, true},
		{"its status names the claim for the first time", newPod("p", inGroup("g"), onNode, wants("gpu", "gpu")), run, true},
		{"a label changes", run, changed(func(p *corev1.Pod) { p.Annotations = map[string]string{"a": "b"} }), false},
		{"it begins to terminate", run, changed(podDeleting), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before, after := Snapshot{Claims: claims(claim), Answers: askedGroups("g")}, Snapshot{Claims: claims(claim), Answers: askedGroups("g")}
			if tc.oldPod != nil {
				before.Pods = pods(tc.oldPod)
			}
			if tc.newPod != nil {
				after.Pods = pods(tc.newPod)
			}
			x := NewIndex(before, grouped)
			was, err := x.Plan(claimKey("c"))
			require.NoError(t, err)
			next, affected := x.With(Snapshot{Pods: after.Pods})
			if tc.newPod == nil {
				next, affected = x.Without(Snapshot{Pods: before.Pods})
			}
			is, err := next.Plan(claimKey("c"))
			require.NoError(t, err)
			require.Equal(t, tc.differs, len(was.Actions) != len(is.Actions))
			require.Equal(t, tc.differs, slices.Contains(affected, claimKey("c")))
		})
	}
}

// A pod is no PodGroup, whatever its name is.
func TestD36_PodOfTheGroupsName(t *testing.T) {
	running := newPod("p", inGroup("g"), onNode, phase(corev1.PodRunning), uses("a", "c"))
	s := Snapshot{Pods: pods(running), Claims: claims(newClaim("c", allocated, reservedFor("g", "p"))), Answers: asked("g")}
	r, err := Plan(s, claimKey("c"), grouped)
	require.NoError(t, err)
	require.Equal(t, []string{"Release ml/c: g"}, lines(r.Actions))
}

// Two PodGroups of one name are an error of the claim's plan, also while pods of the group keep the reservation.
func TestD36_TwoGroupsOfTheName(t *testing.T) {
	s := Snapshot{
		Pods:      pods(newPod("p", inGroup("g"), onNode, phase(corev1.PodRunning), uses("a", "c"))),
		Claims:    claims(newClaim("c", allocated, forGroup("g", "uid-g"))),
		PodGroups: []PodGroup{newGroup("g"), newGroup("g").uid("other")},
	}
	r, err := Plan(s, claimKey("c"), grouped)
	require.ErrorIs(t, err, purekube.ErrDuplicate)
	require.True(t, r.Empty())
	explained, _ := NewIndex(s, grouped).Explain(claimKey("c"))
	require.Equal(t, ReasonConsumerIndeterminate, explained.Reasons[0].Code)
}

// A pod that is in no group is not in a group without a name.
func TestD36_GroupWithoutAName(t *testing.T) {
	s := Snapshot{
		Pods:    pods(newPod("p", onNode, phase(corev1.PodRunning), uses("a", "c"))),
		Claims:  claims(newClaim("c", allocated, reservedFor("p"), forGroup("", "uid-g"))),
		Answers: askedGroups(""),
	}
	r, err := Plan(s, claimKey("c"), grouped)
	require.NoError(t, err)
	require.Equal(t, []string{"Release ml/c: "}, lines(r.Actions))
	require.Len(t, r.Actions[0].(Release).Removed, 1)
}

// 256 consumers that are PodGroups, and as many pods, are looked at once.
func TestD36_ManyGroups(t *testing.T) {
	claim := newClaim("c", allocated)
	s := Snapshot{Claims: []*resourcev1.ResourceClaim{claim}, Answers: askedGroups()}
	for _, name := range manyPods(256) {
		forGroup(name, "uid-of-"+newPod(name).UID)(claim)
		maps.Copy(s.Answers, askedGroups(name))
		s.Pods = append(s.Pods, newPod(name, inGroup(name), onNode, uses("a", "c")))
	}
	r, err := Plan(s, claimKey("c"), grouped)
	require.NoError(t, err)
	require.True(t, r.Empty())
	phase(corev1.PodFailed)(s.Pods[7])
	r, err = Plan(s, claimKey("c"), grouped)
	require.NoError(t, err)
	require.Equal(t, []string{"Release ml/c: " + s.Pods[7].Name}, lines(r.Actions))
}
