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

// noUID replaces the UID of a pod that has no UID yet. No object has this UID, since it is invalid. With an empty UID
// the plan would be an error (ErrNoUID), and the UID of another pod would find that pod's claims.
const noUID types.UID = "\x00"

// Materialize predicts the claims of a pod that does not exist yet, for simulations of the scheduler. It returns the
// claims that [Plan] would create for the pod, with names, and a copy of the pod whose status names them.
//
// The snapshot has the templates and the existing claims. Materialize does not read the snapshot's pods. If a claim was
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
// For a pod in a PodGroup of the snapshot, Materialize also returns the claims of the group, unless the snapshot has
// them: add the claims of one pod to the snapshot for the next pod. A group that does not exist yet needs a UID that
// you choose. A group that is neither in PodGroups nor in Answers is regarded as one that does not exist.
//
// The error is the error of Plan. Entries without an error are materialized. A pod that needs no claims, for example
// because it is done, has none. For a nil pod, Materialize returns nil.
func Materialize(s Snapshot, pod *corev1.Pod, name func(podClaim string) string, o Options) (claims []*resourcev1.ResourceClaim, materialized *corev1.Pod, err error) {
	if err := o.err(); err != nil {
		return nil, nil, err
	}
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
	// The pod is the only one: a pod of that name in the snapshot would make the name ambiguous.
	s.Pods = []*corev1.Pod{materialized}

	// The group's claims come first: the pod's plan names them in the pod's status.
	shared, err := materializeGroup(&s, pod, name, o)
	result, podErr := Plan(s, KeyOf(materialized), o)
	err = errors.Join(err, podErr)
	var statuses *SetClaimStatuses
	created := map[string]string{} // the name by the entry
	for _, action := range result.Actions {
		switch a := action.(type) {
		case CreateClaim:
			claim := namedClaim(a, name)
			for i := range claim.OwnerReferences {
				// Back from noUID to what the caller has given, which may be empty.
				claim.OwnerReferences[i].UID = pod.UID
			}
			created[a.PodClaim] = claim.Name
			claims = append(claims, claim)
		case SetClaimStatuses:
			statuses = &a
		case Reserve, Release, RemoveFinalizer, DeleteClaim: // they are about claims that exist
		}
	}
	if statuses != nil {
		materialized = statuses.withCreated(created).Apply(materialized)
	}
	// Apply compares UIDs, so the pod keeps noUID until here.
	materialized.UID = pod.UID
	return slices.Concat(shared, claims), materialized, err
}

// materializeGroup are the claims that the plan of the pod's PodGroup would create, with names. They are put into the
// snapshot that s points to, where the pod's plan finds them. The slices and maps of the caller stay as they are: each
// one is replaced before it is changed.
func materializeGroup(s *Snapshot, pod *corev1.Pod, name func(podClaim string) string, o Options) ([]*resourcev1.ResourceClaim, error) {
	if o.PodGroupOf == nil || o.PodGroupOf(pod) == "" {
		return nil, nil
	}
	key := PodGroupKey(pod.Namespace, o.PodGroupOf(pod))
	group := types.NamespacedName{Namespace: key.Namespace, Name: key.Name}
	need := needOf(PodGroupKey(group.Namespace, group.Name))
	answer, asked := s.Answers[need]
	// A simulation has no API server to ask. Without an answer the plan would have a Need and no claims.
	if !asked {
		s.Answers = maps.Clone(s.Answers)
		if s.Answers == nil {
			s.Answers = map[purekube.Need]purekube.Answer{}
		}
		s.Answers[need] = purekube.Answer{}
	}
	// The status may name claims that the snapshot does not have: a simulation has them all.
	s.PodGroups = slices.Clone(s.PodGroups)
	if g, ok := answer.Object.(PodGroup); ok && answer.Err == nil && !slices.ContainsFunc(s.PodGroups, func(g PodGroup) bool { return KeyOf(&g) == key }) {
		g.Namespace, g.Name = key.Namespace, key.Name
		s.PodGroups = append(s.PodGroups, g)
	}
	for i := range s.PodGroups {
		g := &s.PodGroups[i]
		g.ResourceClaimStatuses = slices.DeleteFunc(slices.Clone(g.ResourceClaimStatuses), func(status corev1.PodResourceClaimStatus) bool {
			return status.ResourceClaimName != nil && !slices.ContainsFunc(s.Claims, func(c *resourcev1.ResourceClaim) bool {
				return c != nil && c.Namespace == g.Namespace && c.Name == *status.ResourceClaimName
			})
		})
	}
	// The group itself may be in the snapshot or in an answer only. Now it is in PodGroups, where it has a plan.
	result, err := Plan(*s, key, o)
	var claims []*resourcev1.ResourceClaim
	for _, action := range result.Actions {
		if create, ok := action.(CreateClaim); ok {
			claims = append(claims, namedClaim(create, name))
		}
	}
	s.Claims = slices.Concat(s.Claims, claims)
	return claims, err
}

// namedClaim is the claim of an action, with a name. The action belongs to this call alone, so its claim is changed in
// place.
func namedClaim(a CreateClaim, name func(podClaim string) string) *resourcev1.ResourceClaim {
	a.Claim.Name = strings.TrimSuffix(a.Claim.GenerateName, "-")
	if name != nil {
		a.Claim.Name = name(a.PodClaim)
	}
	return a.Claim
}
