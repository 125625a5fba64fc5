package resourceclaim

import (
	"errors"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
)

// uidOfNone replaces the UID of a pod that has no UID yet. No object has this UID, since it is invalid. With an empty
// UID the plan would be an error (errNoUID), and the UID of another pod would find that pod's claims.
const uidOfNone types.UID = "\x00"

// Materialize predicts the claims of a pod that does not exist yet, for simulations of the scheduler. It returns the
// claims that Plan would create for the pod, with names, and a copy of the pod whose status names them.
//
// The Index has the templates and the existing claims. Materialize does not read its pods. If a claim was
// already generated for the pod's UID, Materialize uses that claim.
//
// name returns the name of the claim for the entry podClaim of the pod's spec.resourceClaims. If name is nil, the claim
// gets its generateName without the dash at the end. name must return different names for different claims of one
// namespace.
//
// A claim differs only in its name from the claim that Plan creates. In particular it has no UID and is neither
// allocated nor reserved. Its owner reference has the UID of the pod, which may be empty. Materialize first removes the
// status of entries with a template: a pod that does not exist has no claims, so such a status was copied from another
// pod.
//
// For a pod in a PodGroup of the Index, Materialize also returns the claims of the group, unless the Index has
// them: add the claims of one pod ([Index.With]) for the next pod. A group that does not exist yet needs a UID that
// you choose. A group that is neither in PodGroups nor in Answers is regarded as one that does not exist.
//
// The error is the error of Plan. Entries without an error are materialized. A pod that needs no claims, for example
// because it is done, has none. For a nil pod, Materialize returns nil.
func (x *Index) Materialize(
	pod *corev1.Pod, name func(podClaim string) string,
) (claims []*resourcev1.ResourceClaim, materialized *corev1.Pod, err error) {
	if err := x.options.err(); err != nil {
		return nil, nil, err
	}
	if pod == nil {
		return nil, nil, nil
	}
	materialized = pod.DeepCopy()
	materialized.Status.ResourceClaimStatuses = slices.DeleteFunc(materialized.Status.ResourceClaimStatuses,
		func(status corev1.PodResourceClaimStatus) bool {
			return slices.ContainsFunc(pod.Spec.ResourceClaims, func(e corev1.PodResourceClaim) bool {
				return e.Name == status.Name && generated(&e)
			})
		})
	if pod.UID == "" {
		materialized.UID = uidOfNone
	}
	// The group's claims come first: the pod's plan names them in the pod's status.
	shared, next, groupErr := x.materializeGroup(pod, name)
	c := podClaimant(materialized)
	created, statuses, err := next.materialize(&c, name)
	for _, claim := range created {
		for i := range claim.OwnerReferences {
			// Back from uidOfNone to what the caller has given, which may be empty.
			claim.OwnerReferences[i].UID = pod.UID
		}
	}
	if statuses != nil {
		materialized = statuses.Apply(materialized)
	}
	// Apply compares UIDs, so the pod keeps uidOfNone until here.
	materialized.UID = pod.UID
	return slices.Concat(shared, created), materialized, x.withProblems(errors.Join(groupErr, err))
}

// materialize plans a pod or PodGroup, and returns the claims to create, with names, and the write of its status, or
// nil.
func (x *Index) materialize(
	c *claimant, name func(podClaim string) string,
) (claims []*resourcev1.ResourceClaim, statuses *SetClaimStatuses, err error) {
	v, entries := x.decideClaimant(c, nil)
	names := map[string]string{} // by the entry
	for _, action := range x.claimantResult(c, v, entries).Actions {
		switch a := action.(type) {
		case CreateClaim:
			// The action belongs to this call alone, so its claim is changed in place.
			a.Claim.Name = strings.TrimSuffix(a.Claim.GenerateName, "-")
			if name != nil {
				a.Claim.Name = name(a.PodClaim)
			}
			names[a.PodClaim] = a.Claim.Name
			claims = append(claims, a.Claim)
		case SetClaimStatuses:
			a = a.withCreated(names)
			statuses = &a
		case Reserve, Release, RemoveFinalizer, DeleteClaim: // they are about claims that exist
		}
	}
	return claims, statuses, v.problems.Err()
}

// materializeGroup are the claims that the plan of the pod's PodGroup would create, with names, and the Index that has
// them, where the pod's plan finds them.
func (x *Index) materializeGroup(
	pod *corev1.Pod, name func(podClaim string) string,
) ([]*resourcev1.ResourceClaim, *Index, error) {
	next := *x
	// A simulation has no API server to ask. Without an answer the plan would have a Need and no claims.
	need := needOf(PodGroupKey(pod.Namespace, x.options.groupName(pod)))
	next.answers = map[purekube.Need]purekube.Answer{need: {}}
	maps.Copy(next.answers, x.answers)
	member := next.groupOf(pod)
	if member.group == nil {
		return nil, &next, nil // the plan of the pod says so
	}
	// The status may name claims that the snapshot does not have: a simulation has them all.
	group := *member.group
	group.statuses = slices.DeleteFunc(slices.Clone(group.statuses), func(status corev1.PodResourceClaimStatus) bool {
		if status.ResourceClaimName == nil {
			return false
		}
		claim, problem := x.claim(types.NamespacedName{Namespace: group.Namespace, Name: *status.ResourceClaimName})
		return claim == nil && problem == nil
	})
	c := groupClaimant(&group)
	claims, _, err := next.materialize(&c, name)
	after, _ := next.With(Snapshot{Claims: claims})
	return claims, after, err
}
