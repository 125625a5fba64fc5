package resourceclaim

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
)

func TestBR3001_CreatedClaim(t *testing.T) {
	template := newTemplate("gpu", prioritizedList, func(t *resourcev1.ResourceClaimTemplate) {
		t.Spec.Labels = map[string]string{"team": "ml"}
		t.Spec.Annotations = map[string]string{"note": "mine", PodClaimAnnotation: "overridden"}
	})
	untouched := template.DeepCopy()
	for _, mode := range modes {
		r, err := Plan(Snapshot{Pods: pods(newPod("p", wants("gpu", "gpu"))), Templates: templates(template)}, podKey("p"), mode.options)
		require.NoError(t, err)
		want := CreateClaim{Owner: podKey("p"), PodClaim: "gpu", TemplateName: "gpu", TemplateUID: template.UID, ContinueOnError: !mode.options.matchUpstream(), Claim: &resourcev1.ResourceClaim{
			ObjectMeta: metav1.ObjectMeta{
				Namespace:    ns,
				GenerateName: "p-gpu-",
				Labels:       map[string]string{"team": "ml"},
				Annotations:  map[string]string{"note": "mine", "resource.kubernetes.io/pod-claim-name": "gpu"},
				// BR-30-02: the pod controls the claim, and does not block its own deletion.
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "uid-p", Controller: ptr.To(true)}},
			},
			Spec: *template.Spec.Spec.DeepCopy(),
		}}
		require.Empty(t, cmp.Diff(want, r.Actions[0]), "BR-30-01, BR-30-02")
		require.Empty(t, cmp.Diff(untouched, template), "D-6: the template is the cache's")
	}
}

func TestD5_StatusesAreComplete(t *testing.T) {
	p := newPod("p", wants("new", "gpu"), has("old", "gpu", "c1"), uses("named", "c3"), got("named", "c9"),
		wants("skip", "gpu"), notNeeded("skip"), has("gone", "gpu", "c4"), wants("adopted", "gpu"), has("broken", "no-such", "c5"), got("stray", "c8"))
	s := Snapshot{Pods: pods(p), Templates: templates(newTemplate("gpu")), Claims: claims(newClaim("c1", madeFor("p", "old")), newClaim("c2", madeFor("p", "adopted"))),
		Answers: askedClaims("c4", "c5")}

	r, err := Plan(s, podKey("p"), Options{})
	require.ErrorIs(t, err, errTemplateNotFound)
	require.Equal(t, []string{
		"CreateClaim ml/p new: p-new-*",
		"CreateClaim ml/p gone: p-gone-*",
		"SetClaimStatuses ml/p: adopted=c2, broken=c5, old=c1, skip not needed, gone pending, new pending",
	}, lines(r.Actions), "D-5: all entries that have a template and a status, and nothing of others")

	s.Pods = pods(newPod("p", wants("new", "gpu"), has("old", "gpu", "c1")))
	r, err = Plan(s, podKey("p"), Options{MatchUpstream: purekube.V1_36})
	require.NoError(t, err)
	require.Equal(t, []string{"CreateClaim ml/p new: p-new-*", "SetClaimStatuses ml/p: new pending"}, lines(r.Actions),
		"upstream applies the new ones only, and the server takes the old ones away")
}

func TestD10_Preconditions(t *testing.T) {
	over := newPod("over", phase(corev1.PodFailed))
	for _, tc := range []struct {
		name, reason string
		claim        *resourcev1.ResourceClaim
		options      Options
		want         DeleteClaim
	}{
		{"only action", "the claim is as it was read", newClaim("c", madeFor("over", "gpu")), Options{},
			DeleteClaim{Namespace: ns, Name: "c", UID: "uid-c", ResourceVersion: "200"}},
		{"after a write", "the write changes the version", newClaim("c", madeFor("over", "gpu"), allocated, reservedFor("over")), Options{},
			DeleteClaim{Namespace: ns, Name: "c", UID: "uid-c"}},
		{"upstream", "no preconditions", newClaim("c", madeFor("over", "gpu")), Options{MatchUpstream: purekube.V1_36},
			DeleteClaim{Namespace: ns, Name: "c"}},
	} {
		t.Run("D-10 "+tc.name, func(t *testing.T) {
			r, err := Plan(Snapshot{Pods: pods(over), Claims: claims(tc.claim)}, claimKey("c"), tc.options)
			require.NoError(t, err)
			require.Equal(t, tc.want, r.Actions[len(r.Actions)-1], tc.reason)
		})
	}
}

func TestWritesCarryTheWholeClaim(t *testing.T) {
	over, p := newPod("over", phase(corev1.PodFailed)), newPod("p", onNode, uses("x", "c"))
	claim := newClaim("c", allocated, reservedFor("over"), func(c *resourcev1.ResourceClaim) {
		c.Labels = map[string]string{"a": "b"}
		c.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m"}}
		c.Status.Devices = []resourcev1.AllocatedDeviceStatus{{Driver: "gpu.example.com"}}
	})
	s := Snapshot{Pods: pods(over, p), Claims: claims(claim)}

	r, err := Plan(s, podKey("p"), Options{})
	require.NoError(t, err)
	want := claim.DeepCopy()
	want.Status.ReservedFor = append(want.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: "p", UID: "uid-p"})
	require.Empty(t, cmp.Diff([]Action{Reserve{Claim: want, Consumer: podKey("p"), ContinueOnError: true}}, r.Actions))

	r, err = Plan(s, claimKey("c"), Options{})
	require.NoError(t, err)
	want = claim.DeepCopy()
	want.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{}
	want.Status.Allocation = nil
	require.Empty(t, cmp.Diff([]Action{
		Release{Claim: want, Removed: []resourcev1.ResourceClaimConsumerReference{podRef("over")}, Deallocate: true},
		RemoveFinalizer{Claim: claim.DeepCopy()},
	}, r.Actions))
}

// A release leaves alone what it is not about.
func TestReleaseKeepsTheRest(t *testing.T) {
	s := Snapshot{Pods: pods(newPod("over", phase(corev1.PodFailed)), newPod("run", onNode)), Claims: claims(
		newClaim("shared", allocated, reservedFor("run", "over"), forGroup("g", "uid-g")), newClaim("going", allocated, claimDeleting))}

	r, err := Plan(s, claimKey("shared"), Options{})
	require.NoError(t, err)
	require.Empty(t, cmp.Diff([]Action{Release{
		Claim:   newClaim("shared", allocated, reservedFor("run"), forGroup("g", "uid-g")),
		Removed: []resourcev1.ResourceClaimConsumerReference{podRef("over")},
	}}, r.Actions), "the other consumers and the allocation")

	r, err = Plan(s, claimKey("going"), Options{})
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(Release{Claim: newClaim("going", protected, claimDeleting), Deallocate: true}, r.Actions[0]), "only the allocation goes")
}

func TestEventIsAboutThePod(t *testing.T) {
	r, err := Plan(Snapshot{Pods: pods(newPod("p", wants("gpu", "no-such")))}, podKey("p"), Options{})
	require.Equal(t, purekube.Event{
		Regarding: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: ns, Name: "p", UID: "uid-p", ResourceVersion: "100"},
		Type:      "Warning", Reason: "FailedResourceClaimCreation",
		Message: `PodResourceClaim gpu: resource claim template "no-such": resourceclaimtemplate.resource.k8s.io "no-such" not found`,
	}, r.Events[0])
	var objectError *purekube.ObjectError
	require.ErrorAs(t, err, &objectError)
	require.Equal(t, "spec.resourceClaims[0].resourceClaimTemplateName", objectError.Field)
	require.ErrorIs(t, objectError, errTemplateNotFound)
}
