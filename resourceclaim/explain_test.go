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
			newClaim("lent", madeFor("run", "gpu"), reservedFor("away")), newClaim("mine", madeFor("run", "gpu")), newClaim("orphan", madeFor("away", "gpu")), newClaim("who", madeFor("other", "gpu")),
			newClaim("last", allocated, madeFor("other", "gpu"), reservedFor("x"))),
		Deleted: deletedUIDs("uid-gone"),
		Answers: asked("dead", "gone", newPod("back")),
	}
	for _, tc := range []struct {
		claim string
		want  []string
	}{
		{"stuck", []string{
			"status.reservedFor[0]: reserved for pod ml/x: it is done and no longer needs the claim",
			"status.allocation: cleared: no consumer is left",
			"metadata.finalizers: removed: the claim is no longer allocated",
			"metadata.ownerReferences: generated for pod ml/x, which is done or gone: the claim is deleted",
		}},
		{"mixed", []string{
			"status.reservedFor[0]: reserved for pod ml/run: it may run, so the reservation is kept",
			"status.reservedFor[1]: reserved for pod ml/x: it is done and no longer needs the claim",
			"status.reservedFor[2]: reserved for pod ml/away: it must be looked up at the API server first",
			"status.reservedFor[3]: reserved for pod ml/gone: it was deleted and no longer needs the claim",
			"status.reservedFor[4]: reserved for pod ml/other: it must be looked up at the API server first",
			"status.reservedFor[5]: reserved for pod ml/dead: there is no pod of that name, so it no longer needs the claim",
			"status.reservedFor[6]: reserved for pod ml/back: the API server has it, so the reservation is kept",
			"status.reservedFor[7]: reserved for podgroups.scheduling.k8s.io ml/g: it is not a pod, so the reservation is kept",
			"status.allocation: kept: lookups at the API server must be answered first",
		}},
		{"used", []string{
			"status.reservedFor[0]: reserved for pod ml/run: it may run, so the reservation is kept",
			"status.allocation: kept: the claim has consumers",
		}},
		{"idle", []string{"status.allocation: kept: no consumer was released, and the claim is not being deleted"}},
		{"bare", []string{
			"status.reservedFor[0]: reserved for pod ml/x: it is done and no longer needs the claim",
			"status.allocation: kept: the claim does not have the finalizer resource.kubernetes.io/delete-protection",
		}},
		{"half", []string{
			"status.reservedFor[0]: reserved for services ml/s: it is not a pod, so the reservation is kept",
			"status.reservedFor[1]: reserved for pod ml/run: it may run, so the reservation is kept",
			"status.reservedFor[2]: reserved for pod ml/x: it is done and no longer needs the claim",
			"status.allocation: kept: the claim has consumers",
		}},
		{"lent", []string{"status.reservedFor[0]: reserved for pod ml/away: it must be looked up at the API server first"}},
		{"mine", []string{"metadata.ownerReferences: generated for pod ml/run, which may need it"}},
		{"orphan", []string{"metadata.ownerReferences: generated for pod ml/away, which is not in the snapshot: the garbage collector will delete it"}},
		{"who", []string{"metadata.ownerReferences: generated for pod ml/other, which must be looked up at the API server first"}},
		{"last", []string{
			"status.reservedFor[0]: reserved for pod ml/x: it is done and no longer needs the claim",
			"status.allocation: kept: lookups at the API server must be answered first",
			"metadata.ownerReferences: generated for pod ml/other, which must be looked up at the API server first",
		}},
	} {
		t.Run(tc.claim, func(t *testing.T) {
			explanation, err := NewIndex(s, Options{}).Explain(claimKey(tc.claim))
			require.NoError(t, err)
			var got []string
			for _, r := range explanation.Reasons {
				got = append(got, r.String())
			}
			require.Equal(t, tc.want, got)
		})
	}
	explanation, err := NewIndex(s, Options{}).Explain(claimKey("stuck"))
	require.NoError(t, err)
	require.Equal(t, claimKey("stuck"), explanation.Key)
	require.Empty(t, cmp.Diff(Reason{Field: "status.reservedFor[0]", Code: ReasonConsumerDone, Object: podKey("x"), Message: "reserved for pod ml/x: it is done and no longer needs the claim"}, explanation.Reasons[0]))

	explanation, err = NewIndex(s, Options{}).Explain(claimKey("mixed"))
	require.NoError(t, err)
	require.Equal(t, purekube.Key{Kind: "podgroups.scheduling.k8s.io", Namespace: ns, Name: "g"}, explanation.Reasons[7].Object, "its kind is not known, and its resource is")

	s.Pods = append(s.Pods, newPod("x"))
	explanation, err = NewIndex(s, Options{}).Explain(claimKey("stuck"))
	require.ErrorIs(t, err, purekube.ErrDuplicate)
	require.Equal(t, "status.reservedFor[0]: reserved for pod ml/x: the snapshot has conflicting information about it, so the reservation is kept", explanation.Reasons[0].String())
	explanation, err = NewIndex(s, Options{MatchUpstream: purekube.V1_36}).Explain(claimKey("mixed"))
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
		{"two pods", "which one is real cannot be known", podKey("twice"), ReasonDuplicate, "several objects in the snapshot have this name: nothing is planned for this name", purekube.ErrDuplicate},
		{"two claims", "which one is real cannot be known", claimKey("twice"), ReasonDuplicate, "several objects in the snapshot have this name: nothing is planned for this name", purekube.ErrDuplicate},
		{"version", "neither version counts", claimKey("old"), ReasonVersionMalformed, "metadata.resourceVersion: resource version is not well formed: x: nothing is planned for this name", nil},
		{"no UID", "its claims would have no owner", podKey("nameless"), ReasonPodWithoutUID, "metadata.uid: pod ml/nameless has no UID: nothing is created or reserved for it", errNoUID},
		{"seen to be deleted", "D-37", podKey("seen-to-go"), ReasonPodUnknown, "metadata.uid: pod ml/seen-to-go was seen to be deleted: it must be looked up at the API server first", nil},
		{"known to be deleted", "D-21", podKey("deleted"), ReasonPodDeleted, "metadata.uid: pod ml/deleted was deleted: nothing is created or reserved for it", nil},
		{"owner", "one of the two may need it", claimKey("owned"), ReasonOwnerIndeterminate, "metadata.ownerReferences: generated for pod ml/twice, which has conflicting information in the snapshot: the claim stays", purekube.ErrDuplicate},
	} {
		t.Run(tc.name, func(t *testing.T) {
			explanation, err := NewIndex(s, Options{}).Explain(tc.key)
			if tc.err != nil {
				require.ErrorIs(t, err, tc.err)
			}
			require.Equal(t, tc.code, explanation.Reasons[0].Code, tc.reason)
			require.Equal(t, tc.text, explanation.Reasons[0].String())
			all, err := NewIndex(s, Options{}).ExplainAll()
			require.NoError(t, err)
			require.Contains(t, all, explanation)
		})
	}
	for key, kind := range map[purekube.Key]string{podKey("nobody"): "Pod", claimKey("nothing"): "ResourceClaim", groupKey("none"): "PodGroup", {Kind: "Job", Namespace: ns, Name: "x"}: "Job", {}: ""} {
		explanation, err := NewIndex(s, Options{}).Explain(key)
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
			"spec.resourceClaims[1]: claim ml/free is allocated and will be reserved for the pod",
			"spec.resourceClaims[2]: claim ml/waits waits for the scheduler to allocate it",
			"spec.resourceClaims[3]: waits for claim ml/missing, which you must create",
			"spec.resourceClaims[4]: claim ml/adopt was created for the entry; its name is written to the pod's status",
			"spec.resourceClaims[5]: a claim is created from template ml/t",
			"spec.resourceClaims[6]: Pod ml/p: spec.resourceClaims[6].resourceClaimTemplateName: template not found: no-such",
			"spec.resourceClaims[7]: the pod's status says that no claim is needed",
			"spec.resourceClaims[8]: Pod ml/p: spec.resourceClaims[8]: none of the supported fields are set",
			"spec.resourceClaims[9]: ResourceClaim ml/dying: metadata.deletionTimestamp: being deleted: no consumer can be added",
		}},
		{"unscheduled", []string{"spec.resourceClaims[0]: the scheduler reserves claim ml/free when the pod gets a node"}},
		{"done", []string{"status.phase: pod ml/done is done: nothing is created or reserved for it"}},
		{"leaving", []string{"metadata.deletionTimestamp: pod ml/leaving is being deleted: nothing is created or reserved for it"}},
	} {
		t.Run(tc.pod, func(t *testing.T) {
			explanation, err := NewIndex(s, Options{}).Explain(podKey(tc.pod))
			if tc.pod == "p" {
				require.ErrorIs(t, err, errTemplateNotFound)
				require.Zero(t, explanation.Reasons[6].Object, "there is no claim to look at")
				require.Equal(t, claimKey("dying"), explanation.Reasons[9].Object, "the claim says why")
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

	all, err := NewIndex(Snapshot{Pods: pods(newPod("without entries", onNode))}, Options{}).ExplainAll()
	require.NoError(t, err)
	require.Empty(t, all, "nothing is decided about it")
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
		"late": "spec.resourceClaims[0]: claim ml/dying is allocated and will be reserved for the pod",
	} {
		e, err := NewIndex(s, Options{MatchUpstream: purekube.V1_36}).Explain(podKey(pod))
		require.NoError(t, err)
		require.Len(t, e.Reasons, 1)
		require.Equal(t, want, e.Reasons[0].String())
	}
}

// D-8: what upstream makes of an entry depends on the entries before it, and Explain says what the plan does.
func TestD8_ExplainHeldBack(t *testing.T) {
	s := Snapshot{
		Templates: templates(newTemplate("t")),
		Claims:    claims(newClaim("c", allocated), newClaim("mine", allocated, reservedFor("fails")), newClaim("d", allocated)),
		Pods: pods(
			newPod("fails", onNode, uses("mine", "mine"), uses("a", "c"), wants("b", "none"), wants("e", "t"), uses("d", "d")),
			newPod("waits", onNode, uses("a", "c"), uses("b", "missing"), uses("d", "d")),
			newPod("still waits", onNode, uses("b", "missing"), wants("e", "t"), notNeeded("e"), uses("d", "d"))),
	}
	for _, tc := range []struct {
		pod              string
		upstream, wanted []Code
	}{
		{"fails",
			[]Code{ReasonClaimReserved, ReasonClaimHeldBack, ReasonClaimFailed, ReasonClaimHeldBack, ReasonClaimHeldBack},
			[]Code{ReasonClaimReserved, ReasonClaimToBeReserved, ReasonClaimFailed, ReasonClaimCreated, ReasonClaimToBeReserved}},
		{"waits",
			[]Code{ReasonClaimToBeReserved, ReasonClaimMissing, ReasonClaimHeldBack},
			[]Code{ReasonClaimToBeReserved, ReasonClaimMissing, ReasonClaimToBeReserved}},
		{"still waits",
			[]Code{ReasonClaimMissing, ReasonClaimNotNeeded, ReasonClaimHeldBack},
			[]Code{ReasonClaimMissing, ReasonClaimNotNeeded, ReasonClaimToBeReserved}},
	} {
		for release, want := range map[purekube.Upstream][]Code{purekube.NoUpstream: tc.wanted, purekube.V1_36: tc.upstream, purekube.V1_37: tc.upstream} {
			x := NewIndex(s, Options{MatchUpstream: release})
			e, err := x.Explain(podKey(tc.pod))
			var got []Code
			reserved := 0
			for _, r := range e.Reasons {
				if got = append(got, r.Code); r.Code == ReasonClaimToBeReserved {
					reserved++
				}
			}
			require.Equal(t, want, got, "%s %s", tc.pod, release)
			r, planErr := x.Plan(podKey(tc.pod))
			require.Equal(t, errorText(planErr), errorText(err))
			for _, a := range r.Actions {
				if _, ok := a.(Reserve); ok {
					reserved--
				}
			}
			require.Zero(t, reserved, "%s %s: the plan reserves what Explain says", tc.pod, release)
		}
	}
}
