package resourceclaim

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
)

// noUID stands for the UID of a pod that has none yet. No object has it: it is not valid.
const noUID types.UID = "\x00"

// Materialize returns a pod that does not exist yet as it will be once its claims exist, for
// simulations of the scheduler: the claims that [Plan] would create for it, with names, and a
// copy of the pod whose status names them.
//
// The snapshot has the templates, and the claims that exist already. Its pods are not read. A claim
// that was generated for the pod's UID is used and not made again.
//
// name gives the name of the claim that is made for the entry podClaim of the pod's
// spec.resourceClaims. Nil: the claim's generateName without the dash at its end. Two claims of
// one namespace need two names: the caller has to see to that.
//
// A claim differs from what Plan creates in its name alone. In particular it has no UID and is
// neither allocated nor reserved. Its owner reference has the UID of the pod, which may be empty.
// What the pod's status says of entries with a template is dropped before: a pod that does not exist
// has no claims, and the status was copied from another one.
//
// The error is that of Plan. The entries that it is not about are materialized all the same. A
// pod that needs no claims, because it is done for example, gives none. A nil pod gives nil.
func Materialize(s Snapshot, pod *corev1.Pod, name func(podClaim string) string, o Options) (claims []*resourcev1.ResourceClaim, materialized *corev1.Pod, err error) {
	if pod == nil {
		return nil, nil, nil
	}
	materialized = pod.DeepCopy()
	materialized.Status.ResourceClaimStatuses = slices.DeleteFunc(materialized.Status.ResourceClaimStatuses, func(status corev1.PodResourceClaimStatus) bool {
		return slices.ContainsFunc(pod.Spec.ResourceClaims, func(e corev1.PodResourceClaim) bool { return e.Name == status.Name && generated(&e) })
	})
	if pod.UID == "" {
		materialized.UID = noUID
	}
	s.Pods = []*corev1.Pod{materialized}

	result, err := Plan(s, KeyOfPod(materialized), o)
	var statuses *SetClaimStatuses
	created := map[string]string{} // the name by the entry
	for _, action := range result.Actions {
		switch a := action.(type) {
		case CreateClaim:
			claim := a.Claim // the plan is ours alone
			claim.Name = strings.TrimSuffix(claim.GenerateName, "-")
			if name != nil {
				claim.Name = name(a.PodClaim)
			}
			for i := range claim.OwnerReferences {
				claim.OwnerReferences[i].UID = pod.UID
			}
			created[a.PodClaim] = claim.Name
			claims = append(claims, claim)
		case SetClaimStatuses:
			statuses = &a
		}
	}
	if statuses != nil {
		materialized = statuses.withCreated(created).Apply(materialized)
	}
	materialized.UID = pod.UID
	return claims, materialized, err
}
