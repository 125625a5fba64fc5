package resourceclaim

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

func texts(keys []purekube.Key) []string {
	out := []string{}
	for _, k := range keys {
		out = append(out, k.String())
	}
	return out
}

// changedTo makes the Index of a snapshot in which old was in the place of its object, and tells it of the event; s is the
// snapshot after it. Of old and now one may be nil.
func changedTo[T any, P snapshot.Object[T]](s Snapshot, of func(*Snapshot) *[]P, old, now P, o Options) []purekube.Key {
	before, event := s, Snapshot{}
	list := of(&before)
	*list = slices.DeleteFunc(slices.Clone(*list), func(object P) bool {
		return object != nil && (old != nil && snapshot.KeyOf(object) == snapshot.KeyOf(old) || now != nil && snapshot.KeyOf(object) == snapshot.KeyOf(now))
	})
	if old != nil {
		*list = append(*list, old)
	}
	x := NewIndex(before, o)
	if now == nil {
		*of(&event) = []P{old}
		_, affected := x.Without(event)
		return affected
	}
	*of(&event) = []P{now}
	_, affected := x.With(event)
	return affected
}

func affectedByPod(s Snapshot, old, now *corev1.Pod, o Options) []purekube.Key {
	return changedTo(s, func(s *Snapshot) *[]*corev1.Pod { return &s.Pods }, old, now, o)
}

func affectedByClaim(s Snapshot, old, now *resourcev1.ResourceClaim, o Options) []purekube.Key {
	return changedTo(s, func(s *Snapshot) *[]*resourcev1.ResourceClaim { return &s.Claims }, old, now, o)
}

func affectedByTemplate(s Snapshot, old, now *resourcev1.ResourceClaimTemplate, o Options) []purekube.Key {
	return changedTo(s, func(s *Snapshot) *[]*resourcev1.ResourceClaimTemplate { return &s.Templates }, old, now, o)
}

func TestAffectedByPod(t *testing.T) {
	over := phase(corev1.PodSucceeded)
	plain := func(options ...podOption) *corev1.Pod { return newPod("p", options...) }
	for _, tc := range []struct {
		name, reason   string
		oldPod, newPod *corev1.Pod
		claims         []*resourcev1.ResourceClaim
		want           []string
	}{
		{name: "nil", reason: "nothing happened", want: none},
		{name: "no claims", reason: "it has nothing to do with claims", newPod: plain(over), want: none},
		{name: "not created", reason: "a claim has to be made", newPod: plain(wants("a", "t")), want: []string{"Pod/ml/p"}},
		{name: "unsupported", reason: "the pod's plan reports it", newPod: plain(unsupported("a")), want: []string{"Pod/ml/p"}},
		{name: "no UID", reason: "the pod's plan reports it", newPod: plain(podUID(""), uses("a", "c")), want: []string{"Pod/ml/p"}},
		{name: "two entries of one name", reason: "the pod's plan reports it", newPod: plain(uses("a", "c"), uses("a", "c")), want: []string{"Pod/ml/p"}},
		{name: "not needed", reason: "nothing to do", newPod: plain(wants("a", "t"), notNeeded("a")), want: none},
		{name: "generated claim gone", reason: "it has to be made again", newPod: plain(has("a", "t", "c")), want: []string{"Pod/ml/p"}},
		{name: "named claim missing", reason: "its user has to create it", newPod: plain(onNode, uses("a", "c")), want: none},
		{name: "another pod's claim", reason: "a new one is generated (upstream waits)", newPod: plain(has("a", "t", "c")), claims: claims(newClaim("c", madeFor("q", "a"))), want: []string{"Pod/ml/p"}},
		{name: "all there", reason: "nothing to do", oldPod: plain(onNode, has("a", "t", "c")), newPod: plain(onNode, has("a", "t", "c")), claims: claims(newClaim("c", madeFor("p", "a"), allocated, reservedFor("p"))), want: none},
		{name: "had work", reason: "its plan is empty now", oldPod: plain(wants("a", "t")), newPod: plain(has("a", "t", "c")), claims: claims(newClaim("c", madeFor("p", "a"))), want: []string{"Pod/ml/p"}},
		{name: "came", reason: "the claim's consumer did not have to be there before", newPod: plain(onNode, uses("a", "c")), claims: claims(newClaim("c", allocated, reservedFor("p"))), want: []string{"ResourceClaim/ml/c"}},
		{name: "to be reserved", reason: "it is allocated and the pod has a node", newPod: plain(onNode, uses("a", "c")), claims: claims(newClaim("c", allocated)), want: []string{"Pod/ml/p"}},
		{name: "no node", reason: "the scheduler reserves", newPod: plain(uses("a", "c")), claims: claims(newClaim("c", allocated)), want: none},
		{name: "two claims of the name", reason: "the pod's plan reports it", newPod: plain(uses("a", "c")), claims: claims(newClaim("c"), newClaim("c")), want: []string{"Pod/ml/p"}},
		{name: "done", reason: "its claims are released", oldPod: plain(onNode, uses("a", "c"), has("b", "t", "d")), newPod: plain(onNode, over, uses("a", "c"), has("b", "t", "d")),
			claims: claims(newClaim("c", allocated, reservedFor("p")), newClaim("d", madeFor("p", "b"))), want: []string{"ResourceClaim/ml/c", "ResourceClaim/ml/d"}},
		{name: "done before and after", reason: "upstream queues them again on every event", oldPod: plain(onNode, over, uses("a", "c")), newPod: plain(onNode, over, uses("a", "c")), want: []string{"ResourceClaim/ml/c"}},
		{name: "extended resource", reason: "its claim is in the status only", newPod: plain(onNode, over, extended("x")), want: []string{"ResourceClaim/ml/x"}},
		{name: "extended resource, running", reason: "it is in use", newPod: plain(onNode, phase(corev1.PodRunning), extended("x")), want: none},
		{name: "deleted", reason: "whatever its phase was", oldPod: plain(onNode, podDeleting, uses("a", "c"), extended("x")), want: []string{"ResourceClaim/ml/c", "ResourceClaim/ml/x"}},
		{name: "deleted by force", reason: "its plan is empty now; upstream queues the pod as well", oldPod: plain(wants("a", "t")), want: []string{"Pod/ml/p"}},
		{name: "deleted, without an entry", reason: "the claim lists it all the same", oldPod: plain(onNode), claims: claims(newClaim("c", allocated, reservedFor("p", "q")), newClaim("d", allocated, reservedFor("q")), newClaim("e", allocated, reservedFor("p"))), want: []string{"ResourceClaim/ml/c", "ResourceClaim/ml/e"}},
		{name: "deleted, another pod's claim lists it", reason: "whoever owns the claim, the plan asks about each consumer", oldPod: plain(onNode), claims: claims(newClaim("c", madeFor("q", "a"), allocated, reservedFor("q", "p"))), want: []string{"ResourceClaim/ml/c"}},
		{name: "deleted, its claim is being deleted and lists it", reason: "the owner does not matter, and the consumer does (D-17)", oldPod: plain(onNode), claims: claims(newClaim("c", madeFor("p", "a"), allocated, claimDeleting, reservedFor("p")), newClaim("d", madeFor("p", "b"), claimDeleting)), want: []string{"ResourceClaim/ml/c"}},
		{name: "deleted, listed as something else", reason: "a consumer of another kind is always kept", oldPod: plain(onNode),
			claims: claims(newClaim("c", allocated, consumer(resourcev1.ResourceClaimConsumerReference{APIGroup: "scheduling.k8s.io", Resource: "podgroups", Name: "p", UID: "uid-p"}))), want: none},
		{name: "replaced", reason: "the one before is gone, with what it used", oldPod: plain(onNode, uses("a", "c")), newPod: plain(podUID("new"), uses("a", "d")), claims: claims(newClaim("e", allocated, reservedFor("p"))), want: []string{"ResourceClaim/ml/c", "ResourceClaim/ml/e"}},
		{name: "deleting without node", reason: "it will not run", newPod: plain(podDeleting, uses("a", "c")), want: []string{"ResourceClaim/ml/c"}},
		{name: "deleting with node", reason: "it may still run", newPod: plain(podDeleting, onNode, uses("a", "c")), want: none},
		{name: "done, claim not in the status", reason: "it was generated and the status could not be written", newPod: plain(over, wants("a", "t")), claims: claims(nil, newClaim("d", madeFor("p", "a"))), want: []string{"ResourceClaim/ml/d"}},
		{name: "done, reserved by hand", reason: "it holds the claim", newPod: plain(over, uses("a", "c")), claims: claims(newClaim("e", allocated, reservedFor("p"))), want: []string{"ResourceClaim/ml/c", "ResourceClaim/ml/e"}},
		{name: "deleted, beside another namespace's claim", reason: "a claim serves its own", oldPod: plain(onNode), claims: claims(newClaim("c", inNamespace("other"), allocated, reservedFor("p"))), want: none},
		{name: "deleted, without a name", reason: "a claim without owner is not its own", oldPod: newPod(""), claims: claims(newClaim("c")), want: none},
		{name: "becomes done, reserved by hand", reason: "it holds the claim no longer", oldPod: plain(onNode, uses("a", "c")), newPod: plain(onNode, over, uses("a", "c")), claims: claims(newClaim("e", allocated, reservedFor("p"))), want: []string{"ResourceClaim/ml/c", "ResourceClaim/ml/e"}},
		{name: "extended resource without name", reason: "no name, no key", newPod: plain(onNode, over, extended("")), want: none},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, texts(affectedByPod(Snapshot{Claims: tc.claims}, tc.oldPod, tc.newPod, Options{})), tc.reason)
		})
	}
	require.Equal(t, []string{"Pod/ml/p", "ResourceClaim/ml/c"},
		texts(affectedByPod(Snapshot{}, nil, plain(onNode, over, has("a", "t", "c")), Options{MatchUpstream: purekube.V1_36})), "D-7: upstream makes a claim for a pod that is done")
}

func TestAffectedByClaim(t *testing.T) {
	over := phase(corev1.PodFailed)
	s := Snapshot{
		Pods: pods(nil, newPod("named", onNode, uses("a", "c")), newPod("made", has("a", "t", "c")), newPod("other", onNode, uses("a", "d")),
			newPod("waits", wants("a", "t")), newPod("uidless", podUID(""), wants("a", "t")), newPod("done", over, uses("a", "c"), uses("b", "e")), newPod("settled", uses("a", "c"))),
		Claims: claims(newClaim("c", madeFor("made", "a"), allocated)),
	}
	for _, tc := range []struct {
		name, reason       string
		oldClaim, newClaim *resourcev1.ResourceClaim
		want               []string
	}{
		{"nothing", "nothing happened", nil, nil, none},
		{"added", "the claim, the pod that may reserve it, the one that need not make it any more, and what the done pod uses", nil, s.Claims[0], []string{"Pod/ml/made", "Pod/ml/named", "ResourceClaim/ml/c", "ResourceClaim/ml/e"}},
		{"changed", "its pod had it before", newClaim("c", madeFor("made", "a")), s.Claims[0], []string{"Pod/ml/named", "ResourceClaim/ml/c", "ResourceClaim/ml/e"}},
		{"unused", "only itself", nil, newClaim("z"), []string{"ResourceClaim/ml/z"}},
		{"not generated", "the scheduler's claim for extended resources is the pod's too", nil, newClaim("w", ownedBy("waits", "uid-waits")), []string{"ResourceClaim/ml/w"}},
		{"generated for nobody", "a pod without UID does not own what nobody owns", nil, newClaim("w", annotated("a")), []string{"ResourceClaim/ml/w"}},
		{"another namespace's", "a claim serves its own", nil, newClaim("w", madeFor("waits", "a"), inNamespace("other")), []string{"ResourceClaim/other/w"}},
		{"generated, not in the status", "the pod has to take it up", nil, newClaim("w", madeFor("waits", "a")), []string{"Pod/ml/waits", "ResourceClaim/ml/w"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, texts(affectedByClaim(s, tc.oldClaim, tc.newClaim, Options{})), tc.reason)
		})
	}
	s.Claims = nil
	require.Equal(t, []string{"Pod/ml/made", "ResourceClaim/ml/c", "ResourceClaim/ml/e"}, texts(affectedByClaim(s, newClaim("c", madeFor("made", "a")), nil, Options{})),
		"deleted: its own plan is empty now; the pod it was made for needs another, the one that named it waits for its user; the done pod's event names what that uses")
	waiting := Snapshot{Pods: pods(newPod("p", onNode, uses("a", "c")))}
	for _, mode := range modes {
		require.Equal(t, []string{"Pod/ml/p", "ResourceClaim/ml/c"}, texts(affectedByClaim(waiting, nil, newClaim("c", allocated), mode.options)), mode.name)
	}
}

// Which version of a claim counts may change with the event of another one, and with it whose the claim is.
func TestAffectedByClaimThatIsAssumed(t *testing.T) {
	s := Snapshot{Pods: pods(newPod("waits", wants("a", "t"))), Assumed: claims(nil, newClaim("w", version("300"), madeFor("waits", "a")), newClaim("other", madeFor("waits", "a")))}
	listed := newClaim("w")
	for _, e := range [][2]*resourcev1.ResourceClaim{{nil, listed}, {listed, listed}, {listed, nil}} {
		require.Equal(t, []string{"Pod/ml/waits", "ResourceClaim/ml/w"}, texts(affectedByClaim(s, e[0], e[1], Options{})))
		require.Equal(t, []string{"ResourceClaim/ml/z"}, texts(affectedByClaim(s, nil, newClaim("z"), Options{})), "another claim is another's")
	}
}

func TestAffectedByTemplate(t *testing.T) {
	s := Snapshot{
		Pods:   pods(nil, newPod("waits", wants("a", "t")), newPod("other", wants("a", "u")), newPod("has", has("a", "t", "c"))),
		Claims: claims(newClaim("c", madeFor("has", "a"))),
	}
	require.Equal(t, []string{"Pod/ml/waits"}, texts(affectedByTemplate(s, nil, newTemplate("t"), Options{})))
	require.Equal(t, []string{"Pod/ml/waits"}, texts(affectedByTemplate(s, newTemplate("t"), newTemplate("t"), Options{})))
	require.Equal(t, []string{"Pod/ml/waits"}, texts(affectedByTemplate(s, newTemplate("t"), nil, Options{})), "its plan is an error now")
	require.Empty(t, affectedByTemplate(s, nil, newTemplate("z"), Options{}))
	require.Empty(t, affectedByTemplate(s, nil, nil, Options{}))
}

// Two pods have the name of the claim's owner or consumer, and neither is that pod. Whether its UID was seen to be
// deleted decides whether the plan of the claim asks for it, so a change of Deleted names the claim.
func TestDeletedPodWhoseNameTwoPodsHaveNamesItsClaims(t *testing.T) {
	for _, tc := range []struct {
		name  string
		claim *resourcev1.ResourceClaim
	}{
		{"generated for an entry", newClaim("c", madeFor("p", "gpu"))},
		{"owned, and without an entry", newClaim("c", ownedBy("p", "uid-p"))},
		{"reserved", newClaim("c", allocated, reservedFor("p"))},
		{"reserved, and another pod's", newClaim("c", allocated, madeFor("q", "gpu"), reservedFor("p"))},
		{"reserved, owned, and being deleted", newClaim("c", allocated, ownedBy("p", "uid-p"), claimDeleting, reservedFor("p"))},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := Snapshot{Pods: pods(newPod("p", podUID("uid-1")), newPod("p", podUID("uid-2"))), Claims: claims(tc.claim)}
			x := NewIndex(s, Options{})
			seen := Snapshot{Deleted: deletedUIDs("uid-p")}
			next, affected := x.With(seen)
			was, err := x.Plan(claimKey("c"))
			require.Error(t, err)
			is, _ := next.Plan(claimKey("c"))
			require.NotEqual(t, was, is)
			require.Equal(t, []string{"ResourceClaim/ml/c"}, texts(affected), "With")
			_, affected = next.Without(seen)
			require.Equal(t, []string{"ResourceClaim/ml/c"}, texts(affected), "Without")
		})
	}
}
