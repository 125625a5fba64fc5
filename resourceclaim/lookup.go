package resourceclaim

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
)

// ErrAnswerType: the Object of an answer does not have the type that [Snapshot].Answers names for its Need, or is a nil
// pointer of that type.
// An answer of a dynamic client is such an object: decode it first.
var ErrAnswerType = errors.New("the object is not of the kind that the Need asks for")

// The apiVersions of lookups.
const (
	// Claims are asked for in the version in which they are written. The version of a PodGroup is in podgroup.go.
	podAPIVersion   = "v1"
	claimAPIVersion = "resource.k8s.io/v1"
)

// needOf is the lookup at the API server of a pod, of a claim that a status names (D-28), or of a PodGroup: of a pod
// (D-32), or as the consumer of a claim. A Need names the pod, and not the UID: the answer with another UID says that the
// pod was replaced.
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

// lookUp reads the answer to a Need. An answer counts only if it is certain: an answer with an error, or with an object
// of another kind, must not be regarded as "no such object", or a timeout would release a reservation.
func (x *Index) lookUp(need purekube.Need) lookup {
	answer, asked := x.answers[need]
	if !asked {
		return lookup{}
	}
	err := answer.Err
	if err == nil {
		fits := false
		switch o := answer.Object.(type) {
		// The zero Answer says that the API server has no such object (404).
		case nil:
			return lookup{asked: true}
		// A nil pointer of the right type comes from a client that returns it together with an error. It is no answer
		// either.
		case *corev1.Pod:
			fits = o != nil && need.Kind == podKind
		case *resourcev1.ResourceClaim:
			fits = o != nil && need.Kind == claimKind
		case PodGroup:
			fits = need.Kind == podGroupKind
		}
		// The name of the object is not compared: the answer is filed under the Need that it was asked with.
		if fits {
			return lookup{asked: true, found: answer.Object}
		}
		err = fmt.Errorf("%w: %T", ErrAnswerType, answer.Object)
	}
	return lookup{problem: &purekube.ObjectError{Kind: need.Kind, Namespace: need.Namespace, Name: need.Name, Err: err}}
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
