package resourceclaim

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/purekube/purekube"
)

func TestExplainClaim(t *testing.T) {
	s := Snapshot{
		Pods: pods(newPod("x", phase(corev1.PodSucceeded)), newPod("run", onNode), newPod("other", podUID("u"))),
		Claims: claims(newClaim("stuck", allocated, madeFor("x", "gpu"), reservedFor("x")),
			newClaim("mixed", allocated, reservedFor("run", "x", "away", "gone", "other", "dead", "back"), consumer(resourcev1.ResourceClaimConsumerReference{APIGroup: "scheduling.k8s.io", Resource: "podgroups", Name: "g", UID: "g"})),
			newClaim("used", allocated, reservedFor("run")), newClaim("idle", allocated), newClaim("bare", unprotectedAllocation, reservedFor("x")),
			newClaim("half", allocated, madeFor("x", "gpu"), consumer(resourcev1.ResourceClaimConsumerReference{Resource: "services", Name: "s", UID: "s"}), reservedFor("run", "x")),
			newClaim("lent", madeFor("run", "gpu"), reservedFor("away")), newClaim("mine", madeFor("run", "gpu")), newClaim("orphan", madeFor("away", "gpu")), newClaim("who", madeFor("other", "gpu"))),
		Deleted: deletedUIDs("uid-gone"),
		Answers: asked("dead", "gone", newPod("back")),
	}
	for _, tc := range []struct {
		claim string
		want  []string
	}{
		{"stuck", []string{
			"status.reservedFor[0]: held by pod ml/x, which is done",
			"status.allocation: cleared, nobody needs it any more",
			"metadata.finalizers: not protected from deletion any more, since it is not allocated",
			"metadata.ownerReferences: generated for pod ml/x, which is done or gone: the claim is deleted",
		}},
		{"mixed", []string{
			"status.reservedFor[0]: held by pod ml/run, which may run",
			"status.reservedFor[1]: held by pod ml/x, which is done",
			"status.reservedFor[2]: held by pod ml/away, which the API server has to be asked for",
			"status.reservedFor[3]: held by pod ml/gone, which is deleted",
			"status.reservedFor[4]: held by pod ml/other, which the API server has to be asked for",
			"status.reservedFor[5]: held by pod ml/dead, which is gone: there is no pod of that name",
			"status.reservedFor[6]: held by pod ml/back, which the API server has",
			"status.reservedFor[7]: held by podgroups.scheduling.k8s.io ml/g, which is not a pod and is never taken away",
			"status.allocation: kept, nothing is decided before the API server is asked",
		}},
		{"used", []string{
			"status.reservedFor[0]: held by pod ml/run, which may run",
			"status.allocation: kept, it has consumers",
		}},
		{"idle", []string{"status.allocation: kept, nobody has released it and it is not being deleted"}},
		{"bare", []string{
			"status.reservedFor[0]: held by pod ml/x, which is done",
			"status.allocation: kept, it does not have the finalizer resource.kubernetes.io/delete-protection",
		}},
		{"half", []string{
			"status.reservedFor[0]: held by services ml/s, which is not a pod and is never taken away",
			"status.reservedFor[1]: held by pod ml/run, which may run",
			"status.reservedFor[2]: held by pod ml/x, which is done",
			"status.allocation: kept, it has consumers",
		}},
		{"lent", []string{"status.reservedFor[0]: held by pod ml/away, which the API server has to be asked for"}},
		{"mine", []string{"metadata.ownerReferences: generated for pod ml/run, which may need it"}},
		{"orphan", []string{"metadata.ownerReferences: generated for pod ml/away, which the snapshot does not hold: the garbage collector sees to it"}},
		{"who", []string{"metadata.ownerReferences: generated for pod ml/other, which the API server has to be asked for"}},
	} {
		t.Run(tc.claim, func(t *testing.T) {
			explanation, err := Explain(s, claimKey(tc.claim), Options{})
			require.NoError(t, err)
			var got []string
			for _, r := range explanation.Reasons {
				got = append(got, r.String())
			}
			require.Equal(t, tc.want, got)
		})
	}
	explanation, err := Explain(s, claimKey("stuck"), Options{})
	require.NoError(t, err)
	require.Equal(t, claimKey("stuck"), explanation.Key)
	require.Empty(t, cmp.Diff(Reason{Field: "status.reservedFor[0]", Code: ReasonConsumerDone, Object: podKey("x"), Message: "held by pod ml/x, which is done"}, explanation.Reasons[0]))

	s.Pods = append(s.Pods, newPod("x"))
	explanation, err = Explain(s, claimKey("stuck"), Options{})
	require.ErrorIs(t, err, purekube.ErrDuplicate)
	require.Equal(t, "status.reservedFor[0]: held by pod ml/x, which the snapshot cannot tell", explanation.Reasons[0].String())
	explanation, err = Explain(s, claimKey("mixed"), Options{MatchUpstream: purekube.V1_36})
	require.ErrorIs(t, err, purekube.ErrDuplicate)
	require.Equal(t, ReasonConsumerReplaced, explanation.Reasons[4].Code, "D-21: upstream goes by its cache")
}

// What is wrong with an object itself is a reason, and an object that is not there an error.
func TestExplainWhatIsWrong(t *testing.T) {
	s := Snapshot{
		Pods:    pods(newPod("twice"), newPod("twice"), newPod("nameless", podUID(""), wants("a", "t")), newPod("seen-to-go", wants("a", "t")), newPod("deleted", wants("a", "t"))),
		Claims:  claims(newClaim("twice"), newClaim("twice"), newClaim("old", version("7")), newClaim("owned", madeFor("twice", "a"))),
		Assumed: claims(newClaim("old", version("x"))),
		Deleted: deletedUIDs("uid-seen-to-go", "uid-deleted"), Answers: asked("deleted"),
	}
	for _, tc := range []struct {
		name, reason string
		key          purekube.Key
		code         Code
		text         string
		err          error
	}{
		{"two pods", "which one is real cannot be known", podKey("twice"), ReasonDuplicate, "more than one object of this name in the snapshot: nothing is planned for it", purekube.ErrDuplicate},
		{"two claims", "which one is real cannot be known", claimKey("twice"), ReasonDuplicate, "more than one object of this name in the snapshot: nothing is planned for it", purekube.ErrDuplicate},
		{"version", "the listed claim counts", claimKey("old"), ReasonVersionMalformed, "metadata.resourceVersion: resource version is not well formed: x", nil},
		{"no UID", "its claims would have no owner", podKey("nameless"), ReasonPodWithoutUID, "metadata.uid: pod ml/nameless has no UID and gets nothing", ErrNoUID},
		{"seen to be deleted", "D-37", podKey("seen-to-go"), ReasonPodUnknown, "metadata.uid: pod ml/seen-to-go was seen to be deleted: the API server has to be asked for it", nil},
		{"known to be deleted", "D-21", podKey("deleted"), ReasonPodDeleted, "metadata.uid: pod ml/deleted is known to be deleted and gets nothing", nil},
		{"owner", "one of the two may need it", claimKey("owned"), ReasonOwnerIndeterminate, "metadata.ownerReferences: generated for pod ml/twice, which the snapshot cannot tell: the claim stays", purekube.ErrDuplicate},
	} {
		t.Run(tc.name, func(t *testing.T) {
			explanation, err := Explain(s, tc.key, Options{})
			if tc.err != nil {
				require.ErrorIs(t, err, tc.err)
			}
			require.Equal(t, tc.code, explanation.Reasons[0].Code, tc.reason)
			require.Equal(t, tc.text, explanation.Reasons[0].String())
			all, err := ExplainAll(s, Options{})
			require.NoError(t, err)
			require.Contains(t, all, explanation)
		})
	}
	for key, kind := range map[purekube.Key]string{podKey("nobody"): "Pod", claimKey("nothing"): "ResourceClaim", groupKey("none"): "PodGroup", {Kind: "Job", Namespace: ns, Name: "x"}: "Job", {}: ""} {
		explanation, err := Explain(s, key, Options{})
		require.ErrorIs(t, err, purekube.ErrNotFound)
		require.Empty(t, explanation.Reasons)
		var objectError *purekube.ObjectError
		require.ErrorAs(t, err, &objectError)
		require.Equal(t, purekube.ObjectError{Kind: kind, Namespace: key.Namespace, Name: key.Name, Err: purekube.ErrNotFound}, *objectError)
		r, err := Plan(s, key, Options{})
		require.NoError(t, err, "a plan for what is gone is empty")
		require.True(t, r.Empty())
	}
}

func TestExplainPod(t *testing.T) {
	s := Snapshot{
		Templates: templates(newTemplate("t")),
		Claims: claims(newClaim("reserved", allocated, reservedFor("p")), newClaim("free", allocated), newClaim("waits"),
			newClaim("adopt", madeFor("p", "e")), newClaim("dying", allocated, claimDeleting)),
		Pods: pods(newPod("p", onNode, uses("a", "reserved"), uses("b", "free"), uses("c", "waits"), uses("d", "missing"), wants("e", "t"), wants("f", "t"),
			wants("g", "no-such"), wants("h", "t"), notNeeded("h"), unsupported("i"), uses("j", "dying")),
			newPod("unscheduled", uses("a", "free")), newPod("done", phase(corev1.PodFailed), wants("a", "t")), newPod("leaving", podDeleting, wants("a", "t"))),
	}
	for _, tc := range []struct {
		pod  string
		want []string
	}{
		{"p", []string{
			"spec.resourceClaims[0]: claim ml/reserved is reserved for the pod",
			"spec.resourceClaims[1]: claim ml/free is allocated, not reserved for the pod, and gets reserved",
			"spec.resourceClaims[2]: claim ml/waits waits for the scheduler to allocate it",
			"spec.resourceClaims[3]: waits for claim ml/missing, which its user has to create",
			"spec.resourceClaims[4]: claim ml/adopt was created for it and is put into the pod's status",
			"spec.resourceClaims[5]: a claim is created from template ml/t",
			"spec.resourceClaims[6]: Pod ml/p: spec.resourceClaims[6].resourceClaimTemplateName: template not found: no-such",
			"spec.resourceClaims[7]: no claim is needed, says the pod's status",
			"spec.resourceClaims[8]: Pod ml/p: spec.resourceClaims[8]: none of the supported fields are set",
			"spec.resourceClaims[9]: ResourceClaim ml/dying: metadata.deletionTimestamp: being deleted, takes no new consumer",
		}},
		{"unscheduled", []string{"spec.resourceClaims[0]: claim ml/free is reserved by the scheduler once the pod gets a node"}},
		{"done", []string{"status.phase: pod ml/done is done and gets nothing"}},
		{"leaving", []string{"metadata.deletionTimestamp: pod ml/leaving is being deleted and gets nothing"}},
	} {
		t.Run(tc.pod, func(t *testing.T) {
			explanation, err := Explain(s, podKey(tc.pod), Options{})
			if tc.pod == "p" {
				require.ErrorIs(t, err, ErrTemplateNotFound)
			} else {
				require.NoError(t, err)
			}
			var got []string
			for _, r := range explanation.Reasons {
				got = append(got, r.String())
			}
			require.Equal(t, tc.want, got)
		})
	}
}

// Upstream makes a claim for a pod that is done (D-7), and tries to reserve one that is being deleted (D-8).
func TestExplainPodUnderUpstream(t *testing.T) {
	s := Snapshot{
		Templates: templates(newTemplate("t")),
		Claims:    claims(newClaim("dying", allocated, claimDeleting)),
		Pods:      pods(newPod("done", phase(corev1.PodFailed), wants("a", "t")), newPod("late", onNode, uses("a", "dying"))),
	}
	for pod, want := range map[string]string{
		"done": "spec.resourceClaims[0]: a claim is created from template ml/t",
		"late": "spec.resourceClaims[0]: claim ml/dying is allocated, not reserved for the pod, and gets reserved",
	} {
		e, err := Explain(s, podKey(pod), Options{MatchUpstream: purekube.V1_36})
		require.NoError(t, err)
		require.Len(t, e.Reasons, 1)
		require.Equal(t, want, e.Reasons[0].String())
	}
}
