package resourceclaim

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
)

// The apiVersions of lookups.
const (
	// Claims are asked for in the version in which they are written. The version of a PodGroup is in podgroup.go.
	podAPIVersion   = "v1"
	claimAPIVersion = "resource.k8s.io/v1"
)

// needOf is the lookup at the API server of a pod, of a claim that a status names (D-28), or of a PodGroup: of a pod
// (D-32), or as the consumer of a claim. A Need names the pod, and not the UID: the answer with another UID says that
// the pod was replaced.
func needOf(key purekube.Key) purekube.Need {
	version := podAPIVersion
	switch key.Kind {
	case claimKind:
		version = claimAPIVersion
	case podGroupKind:
		version = podGroupAPIVersion
	}
	return purekube.Need{APIVersion: version, Kind: key.Kind, Namespace: key.Namespace, Name: key.Name}
}

// sortNeeds sorts the Needs and drops repeated ones, in the slice itself. A claim may list two consumers of one name
// and different UIDs, and a pod two entries that name one claim: one lookup answers both.
func sortNeeds(needs []purekube.Need) []purekube.Need {
	slices.SortFunc(needs, func(a, b purekube.Need) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
	})
	return slices.Compact(needs)
}

// lookup is what is known about one Need. The zero value: nobody has asked.
//
//	asked   found   problem
//	false   nil     nil        no answer
//	false   nil     set        an answer that cannot be used: the plan still has the Need, and the error
//	true    nil     nil        the API server has no such object
//	true    set     nil        it has this object
type lookup struct {
	asked bool
	// found, if not nil, is what the API server has: a *corev1.Pod, a *resourcev1.ResourceClaim or a PodGroup.
	found any
	// problem says why an answer is none. Then asked is false.
	problem *purekube.ObjectError
}

// uid is the UID of the found pod or PodGroup. It is empty if nothing was found, or if the object has no UID; the
// callers tell these two apart. The UID of a claim is not asked for: the owner decides whose the claim is.
func (l lookup) uid() types.UID {
	switch o := l.found.(type) {
	case *corev1.Pod:
		return o.UID
	case PodGroup:
		return o.UID
	}
	return ""
}
