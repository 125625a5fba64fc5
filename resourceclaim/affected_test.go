package resourceclaim

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
)

func texts(keys []Key) []string {
	out := []string{}
	for _, k := range keys {
		out = append(out, k.String())
	}
	return out
}

func TestAffectedByPod(t *testing.T) {
	over := phase(corev1.PodSucceeded)
	for _, tc := range []struct {
		name, reason string
		pod          *corev1.Pod
		deleted      bool
		claims       []*resourcev1.ResourceClaim
		want         []string
	}{
		{name: "nil", reason: "nothing", want: none},
		{name: "no claims", reason: "it has nothing to do with claims", pod: newPod("p", over), want: none},
		{name: "not created", reason: "a claim has to be made", pod: newPod("p", wants("a", "t")), want: []string{"pod:ml/p"}},
		{name: "unsupported", reason: "the pod's plan reports it", pod: newPod("p", unsupported("a")), want: []string{"pod:ml/p"}},
		{name: "not needed", reason: "nothing to do", pod: newPod("p", wants("a", "t"), notNeeded("a")), want: none},
		{name: "generated claim gone", reason: "it has to be made again", pod: newPod("p", has("a", "t", "c")), want: []string{"pod:ml/p"}},
		{name: "named claim missing", reason: "its user has to create it", pod: newPod("p", onNode, uses("a", "c")), want: none},
		{name: "another pod's claim", reason: "a new one is generated (upstream waits)", pod: newPod("p", has("a", "t", "c")), claims: claims(newClaim("c", madeFor("q", "a"))), want: []string{"pod:ml/p"}},
		{name: "all there", reason: "nothing to do", pod: newPod("p", onNode, has("a", "t", "c")), claims: claims(newClaim("c", madeFor("p", "a"), allocated, reservedFor("p"))), want: none},
		{name: "to be reserved", reason: "it is allocated and the pod has a node", pod: newPod("p", onNode, uses("a", "c")), claims: claims(newClaim("c", allocated)), want: []string{"pod:ml/p"}},
		{name: "no node", reason: "the scheduler reserves", pod: newPod("p", uses("a", "c")), claims: claims(newClaim("c", allocated)), want: none},
		{name: "two claims of the name", reason: "the pod's plan reports it", pod: newPod("p", uses("a", "c")), claims: claims(newClaim("c"), newClaim("c")), want: []string{"pod:ml/p"}},
		{name: "done", reason: "its claims are released", pod: newPod("p", onNode, over, uses("a", "c"), has("b", "t", "d")), claims: claims(newClaim("c", allocated, reservedFor("p")), newClaim("d", madeFor("p", "b"))), want: []string{"claim:ml/c", "claim:ml/d"}},
		{name: "extended resource", reason: "its claim is in the status only", pod: newPod("p", onNode, over, extended("x")), want: []string{"claim:ml/x"}},
		{name: "extended resource, running", reason: "it is in use", pod: newPod("p", onNode, phase(corev1.PodRunning), extended("x")), want: none},
		{name: "deleted", reason: "whatever its phase was", pod: newPod("p", onNode, podDeleting, uses("a", "c"), extended("x")), deleted: true, want: []string{"claim:ml/c", "claim:ml/x"}},
		{name: "deleted by force", reason: "upstream queues the pod as well", pod: newPod("p", wants("a", "t")), deleted: true, want: []string{"pod:ml/p"}},
		{name: "deleting without node", reason: "it will not run", pod: newPod("p", podDeleting, uses("a", "c")), want: []string{"claim:ml/c"}},
		{name: "deleting with node", reason: "it may still run", pod: newPod("p", podDeleting, onNode, uses("a", "c")), want: none},
		{name: "done, claim not in the status", reason: "it was generated and the status could not be written", pod: newPod("p", over, wants("a", "t"), podDeleting), claims: claims(nil, newClaim("d", madeFor("p", "a"))), want: []string{"claim:ml/d"}},
		{name: "done, reserved by hand", reason: "it holds the claim", pod: newPod("p", over, podDeleting, uses("a", "c")), claims: claims(newClaim("e", allocated, reservedFor("p"))), want: []string{"claim:ml/c", "claim:ml/e"}},
		{name: "extended resource without name", reason: "no name, no key", pod: newPod("p", onNode, over, extended("")), want: none},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, texts(AffectedByPod(tc.pod, tc.deleted, Snapshot{Claims: tc.claims})), tc.reason)
		})
	}
}

func TestAffectedByClaim(t *testing.T) {
	over := phase(corev1.PodFailed)
	s := Snapshot{
		Pods: pods(nil, newPod("named", onNode, uses("a", "c")), newPod("made", has("a", "t", "c")), newPod("other", onNode, uses("a", "d")),
			newPod("waits", wants("a", "t")), newPod("done", podDeleting, over, uses("a", "c"), uses("b", "e")), newPod("settled", uses("a", "c"))),
		Claims: claims(newClaim("c", madeFor("made", "a"), allocated)),
	}
	for _, tc := range []struct {
		name, reason string
		old, new     *resourcev1.ResourceClaim
		want         []string
	}{
		{"nothing", "nothing", nil, nil, none},
		{"added", "the claim, the pod that may reserve it, and what the done pod uses", nil, newClaim("c", allocated), []string{"claim:ml/c", "claim:ml/e", "pod:ml/named"}},
		{"changed", "as added", newClaim("c"), newClaim("c", allocated), []string{"claim:ml/c", "claim:ml/e", "pod:ml/named"}},
		{"unused", "only itself", nil, newClaim("z"), []string{"claim:ml/z"}},
		{"generated, not in the status", "the pod has to take it up", nil, newClaim("w", madeFor("waits", "a")), []string{"claim:ml/w", "pod:ml/waits"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, texts(AffectedByClaim(tc.old, tc.new, s)), tc.reason)
		})
	}
	s.Claims = nil
	require.Equal(t, []string{"claim:ml/c", "claim:ml/e", "pod:ml/made"}, texts(AffectedByClaim(newClaim("c"), nil, s)),
		"deleted: the pod it was made for needs another, the one that named it waits for its user; the done pod's event names what that uses")
}

func TestAffectedByTemplate(t *testing.T) {
	s := Snapshot{
		Pods:   pods(nil, newPod("waits", wants("a", "t")), newPod("other", wants("a", "u")), newPod("has", has("a", "t", "c"))),
		Claims: claims(newClaim("c", madeFor("has", "a"))),
	}
	require.Equal(t, []string{"pod:ml/waits"}, texts(AffectedByTemplate(newTemplate("t"), s)))
	require.Empty(t, AffectedByTemplate(newTemplate("z"), s))
	require.Empty(t, AffectedByTemplate(nil, s))
}

// Whatever a plan would do shows in the affected keys of some event of the objects it is about.
func TestAffectedNamesAllThatHasWork(t *testing.T) {
	seeded(t, 300, func(t *testing.T, r *rand.Rand) {
		s := generator{r, true}.snapshot()
		s.Assumed = nil
		named := map[Key]bool{}
		for _, p := range s.Pods {
			for _, k := range AffectedByPod(p, false, s) {
				named[k] = true
			}
		}
		for _, c := range s.Claims {
			for _, k := range AffectedByClaim(nil, c, s) {
				named[k] = true
			}
		}
		for _, o := range PlanAll(s, Options{}) {
			if len(o.Result.Actions) > 0 {
				require.True(t, named[o.Key], "%s: %v", o.Key, lines(o.Result.Actions))
			}
		}
	})
}
