package resourceclaim

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/aliasing"
)

func status(entry, claim string) corev1.PodResourceClaimStatus {
	return corev1.PodResourceClaimStatus{Name: entry, ResourceClaimName: &claim}
}

func TestSetClaimStatusesWithCreated(t *testing.T) {
	a := SetClaimStatuses{Kind: podKind, Namespace: ns, Name: "p", UID: "uid-p", Statuses: []corev1.PodResourceClaimStatus{status("b", "c1")}, Pending: []string{"a", "c"}}
	before := SetClaimStatuses{Kind: podKind, Namespace: ns, Name: "p", UID: "uid-p", Statuses: []corev1.PodResourceClaimStatus{status("b", "c1")}, Pending: []string{"a", "c"}}

	one := a.withCreated(map[string]string{"a": "made"})
	require.Empty(t, cmp.Diff(SetClaimStatuses{Kind: podKind, Namespace: ns, Name: "p", UID: "uid-p",
		Statuses: []corev1.PodResourceClaimStatus{status("a", "made"), status("b", "c1")}, Pending: []string{"c"}}, one))
	require.Equal(t, "SetClaimStatuses ml/p: a=made, b=c1, c pending", one.String())
	both := one.withCreated(map[string]string{"c": "too"})
	require.Nil(t, both.Pending)
	require.Equal(t, "SetClaimStatuses ml/p: a=made, b=c1, c=too", both.String())

	require.Empty(t, cmp.Diff(a, a.withCreated(map[string]string{"b": "other"})), "b is not pending")
	require.Empty(t, cmp.Diff(a, a.withCreated(map[string]string{"x": "other"})), "x is not pending")
	require.Empty(t, cmp.Diff(before, a), "the receiver is as it was")
	none := SetClaimStatuses{Kind: podKind, Namespace: ns, Name: "p", Pending: []string{"a"}}
	require.Empty(t, cmp.Diff(none, none.withCreated(map[string]string{"x": "other"})), "no statuses stay none")
	require.Empty(t, aliasing.Shared(a, one))

	body := one.body()
	require.Equal(t, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","namespace":"ml","uid":"uid-p"},`+
		`"status":{"resourceClaimStatuses":[{"name":"a","resourceClaimName":"made"},{"name":"b","resourceClaimName":"c1"}]}}`, string(body),
		"what is pending is left out")
	body = SetClaimStatuses{Kind: podKind, Namespace: ns, Name: "p", Statuses: []corev1.PodResourceClaimStatus{{Name: "x"}}}.body()
	require.Equal(t, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","namespace":"ml"},"status":{"resourceClaimStatuses":[{"name":"x"}]}}`,
		string(body), "not needed has no claim name")
}

func TestSetClaimStatusesApply(t *testing.T) {
	a := SetClaimStatuses{Kind: podKind, Namespace: ns, Name: "p", UID: "uid-p", Statuses: []corev1.PodResourceClaimStatus{status("a", "new")}}
	p := newPod("p", has("a", "t", "old"), has("b", "t", "mine"), uses("d", "x"), got("d", "other-managers"))
	before := p.DeepCopy()

	got := a.Apply(p)
	require.Equal(t, []corev1.PodResourceClaimStatus{status("d", "other-managers"), status("a", "new")}, got.Status.ResourceClaimStatuses,
		"what this controller owned and does not apply any more is taken away")
	require.Empty(t, cmp.Diff(before, p))
	require.Empty(t, aliasing.Shared(p, got))
	require.Empty(t, aliasing.Shared(a, got))

	stray := newPod("p")
	addStatus(stray, "a", ptr.To("old"))
	require.Equal(t, []corev1.PodResourceClaimStatus{status("a", "new")}, a.Apply(stray).Status.ResourceClaimStatuses, "an entry that is applied is replaced, whatever the spec says of it")

	require.Nil(t, a.Apply(nil))
	other := newPod("p", podUID("x"), wants("a", "t"))
	require.Empty(t, cmp.Diff(other, a.Apply(other)), "a new pod of that name is not meant")
	a.UID = ""
	require.Len(t, a.Apply(other).Status.ResourceClaimStatuses, 1, "upstream does not say which pod it means")
}

func TestClaimActionsApply(t *testing.T) {
	reserve := Reserve{Claim: newClaim("c", allocated, reservedFor("q", "p")), Consumer: podKey("p")}
	release := Release{Claim: newClaim("c"), Removed: []resourcev1.ResourceClaimConsumerReference{podRef("p")}, Deallocate: true}
	keep := Release{Claim: newClaim("c"), Removed: []resourcev1.ResourceClaimConsumerReference{podRef("p")}}
	dealloc := Release{Claim: newClaim("c"), Deallocate: true}
	unprotect := RemoveFinalizer{Claim: newClaim("c")}
	otherUID := func(c *resourcev1.ResourceClaim) { c.UID = "x" }
	for _, tc := range []struct {
		name, reason string
		apply        func(*resourcev1.ResourceClaim) *resourcev1.ResourceClaim
		in, want     *resourcev1.ResourceClaim
	}{
		{"reserve", "added at the end", reserve.Apply, newClaim("c", allocated, reservedFor("z")), newClaim("c", allocated, reservedFor("z", "p"))},
		{"reserve first", "there was none before", Reserve{Claim: newClaim("c", allocated, reservedFor("p")), Consumer: podKey("p")}.Apply, newClaim("c", allocated), newClaim("c", allocated, reservedFor("p"))},
		{"reserve for nobody", "there is nothing to add", Reserve{Claim: newClaim("c", allocated)}.Apply, newClaim("c", allocated), newClaim("c", allocated)},
		{"reserve twice", "it is there", reserve.Apply, newClaim("c", allocated, reservedFor("p")), newClaim("c", allocated, reservedFor("p"))},
		{"reserve, not allocated any more", "the API does not allow it", reserve.Apply, newClaim("c"), newClaim("c")},
		{"reserve another", "it has another UID", reserve.Apply, newClaim("c", otherUID, allocated), newClaim("c", otherUID, allocated)},
		{"reserve nothing", "an empty action changes nothing", Reserve{}.Apply, newClaim("c", allocated), newClaim("c", allocated)},
		{"release", "the last consumer takes the allocation along", release.Apply, newClaim("c", allocated, reservedFor("p")), newClaim("c", protected)},
		{"release, another consumer came", "the allocation is in use", release.Apply, newClaim("c", allocated, reservedFor("p", "q")), newClaim("c", allocated, reservedFor("q"))},
		{"release without deallocating", "the allocation stays", keep.Apply, newClaim("c", allocated, reservedFor("p")), newClaim("c", allocated)},
		{"deallocate", "nobody uses it", dealloc.Apply, newClaim("c", allocated), newClaim("c", protected)},
		{"deallocate, a consumer came", "the allocation is in use", dealloc.Apply, newClaim("c", allocated, reservedFor("q")), newClaim("c", allocated, reservedFor("q"))},
		{"release another", "it has another UID", release.Apply, newClaim("c", otherUID, reservedFor("p")), newClaim("c", otherUID, reservedFor("p"))},
		{"release nothing", "an empty action changes nothing", Release{}.Apply, newClaim("c", allocated), newClaim("c", allocated)},
		{"finalizer", "only its own, each time it is there", unprotect.Apply,
			newClaim("c", finalizers("x", resourcev1.Finalizer, "y", resourcev1.Finalizer)), newClaim("c", finalizers("x", "y"))},
		{"finalizer, allocated again", "the allocation is protected", unprotect.Apply, newClaim("c", allocated), newClaim("c", allocated)},
		{"finalizer of nothing", "an empty action changes nothing", RemoveFinalizer{}.Apply, newClaim("c", protected), newClaim("c", protected)},
		{"finalizer of another", "it has another UID", unprotect.Apply, newClaim("c", otherUID, protected), newClaim("c", otherUID, protected)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := tc.in.DeepCopy()
			got := tc.apply(tc.in)
			empty := func(c *resourcev1.ResourceClaim) {
				if len(c.Finalizers) == 0 {
					c.Finalizers = nil
				}
				if len(c.Status.ReservedFor) == 0 {
					c.Status.ReservedFor = nil
				}
			}
			copied := got.DeepCopy()
			empty(copied)
			require.Empty(t, cmp.Diff(tc.want, copied), tc.reason)
			require.Empty(t, cmp.Diff(before, tc.in), "the input is as it was")
			require.Empty(t, aliasing.Shared(tc.in, got))
			require.Nil(t, tc.apply(nil))
		})
	}
}

func finalizers(names ...string) claimOption {
	return func(c *resourcev1.ResourceClaim) { c.Finalizers = names }
}

func TestDeleteClaimPreconditions(t *testing.T) {
	require.Nil(t, DeleteClaim{}.preconditions())
	require.Equal(t, &metav1.Preconditions{UID: ptr.To(types.UID("u"))}, DeleteClaim{UID: "u"}.preconditions())
	require.Equal(t, &metav1.Preconditions{ResourceVersion: ptr.To("7")}, DeleteClaim{ResourceVersion: "7"}.preconditions())
	require.Equal(t, &metav1.Preconditions{UID: ptr.To(types.UID("u")), ResourceVersion: ptr.To("7")}, DeleteClaim{UID: "u", ResourceVersion: "7"}.preconditions())
}

func TestString(t *testing.T) {
	for _, tc := range []struct {
		action Action
		want   string
	}{
		{CreateClaim{Owner: podKey("p"), PodClaim: "gpu", Claim: &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{GenerateName: "p-gpu-"}}}, "CreateClaim ml/p gpu: p-gpu-*"},
		{CreateClaim{}, "CreateClaim / : *"},
		{SetClaimStatuses{Kind: podKind, Namespace: ns, Name: "p", Statuses: []corev1.PodResourceClaimStatus{{Name: "x"}}, Pending: []string{"y"}}, "SetClaimStatuses ml/p: x not needed, y pending"},
		{Reserve{Claim: newClaim("c"), Consumer: podKey("p")}, "Reserve ml/c: for pod ml/p"},
		{Reserve{}, "Reserve no claim: for  /"},
		{Release{Claim: newClaim("c"), Removed: []resourcev1.ResourceClaimConsumerReference{podRef("p"), podRef("q")}, Deallocate: true}, "Release ml/c: p, q, deallocate"},
		{RemoveFinalizer{Claim: newClaim("c")}, "RemoveFinalizer ml/c"},
		{DeleteClaim{Namespace: ns, Name: "c"}, "DeleteClaim ml/c"},
	} {
		require.Equal(t, tc.want, tc.action.String())
		tc.action.isAction()
	}
}

// An action that a program makes itself has no claim, whose owner reference would say more.
func TestFailureEventWithoutAClaim(t *testing.T) {
	for key, apiVersion := range map[purekube.Key]string{podKey("p"): "v1", PodGroupKey(ns, "g"): "scheduling.k8s.io/v1beta1"} {
		event, ok := CreateClaim{Owner: key, PodClaim: "gpu"}.FailureEvent(errors.New("no quota"))
		require.True(t, ok)
		require.Equal(t, corev1.ObjectReference{APIVersion: apiVersion, Kind: key.Kind, Namespace: ns, Name: key.Name}, event.Regarding)
	}
}

// Creates has entries that are not pending any more where a program has changed the action.
func TestSetClaimStatusesOfAnEntryThatIsNotPending(t *testing.T) {
	a := SetClaimStatuses{Kind: podKind, Namespace: ns, Name: "p", Creates: []string{"gpu"}}
	require.NoError(t, a.Request([]runtime.Object{newClaim("")}).Err, "its name is not asked for")
	a.Pending = a.Creates
	require.ErrorIs(t, a.Request([]runtime.Object{newClaim("")}).Err, errNoClaimCreated)
}

// The version says which PodGroups are meant. Pods have one.
func TestSetClaimStatusesSaysTheVersionOfPodGroups(t *testing.T) {
	version := func(s Snapshot, key purekube.Key) string {
		r, err := Plan(s, key, grouped)
		require.NoError(t, err)
		return r.Actions[len(r.Actions)-1].(SetClaimStatuses).APIVersion
	}
	gpu := templates(newTemplate("gpu"))
	require.Empty(t, version(Snapshot{Pods: pods(newPod("p", wants("gpu", "gpu"))), Templates: gpu}, podKey("p")))
	require.Equal(t, "scheduling.k8s.io/v1beta1", version(Snapshot{PodGroups: []PodGroup{newGroup("g", groupWants("gpu", "gpu"))}, Templates: gpu}, groupKey("g")))
}
