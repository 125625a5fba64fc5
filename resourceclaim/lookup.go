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
var ErrAnswerType = errors.New("the object is not of the kind that the Need asks for")

// The apiVersions of lookups.
const (
	podAPIVersion   = "v1"
	claimAPIVersion = "resource.k8s.io/v1"
)

// needPod is the lookup of a pod at the API server.
func needPod(namespace, name string) purekube.Need {
	return purekube.Need{APIVersion: podAPIVersion, Kind: podKind, Namespace: namespace, Name: name}
}

// needClaim is the lookup of a claim.
func needClaim(namespace, name string) purekube.Need {
	return purekube.Need{APIVersion: claimAPIVersion, Kind: claimKind, Namespace: namespace, Name: name}
}

// needPodGroup is the lookup of a PodGroup.
func needPodGroup(namespace, name string) purekube.Need {
	return purekube.Need{APIVersion: podGroupAPIVersion, Kind: podGroupKind, Namespace: namespace, Name: name}
}

func sortNeeds(needs []purekube.Need) []purekube.Need {
	slices.SortFunc(needs, func(a, b purekube.Need) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
	})
	return slices.Compact(needs)
}

// lookup is what is known about one Need. The zero value: nobody has asked.
type lookup struct {
	asked bool
	// found, if not nil, is what the API server has: a *corev1.Pod, a *resourcev1.ResourceClaim or a PodGroup.
	found any
	// problem says why an answer is none. Then asked is false.
	problem *purekube.ObjectError
}

// lookUp reads the answer to a Need.
func (x *Index) lookUp(need purekube.Need) lookup {
	answer, asked := x.answers[need]
	if !asked {
		return lookup{}
	}
	err := answer.Err
	if err == nil {
		fits := false
		switch o := answer.Object.(type) {
		case nil:
			return lookup{asked: true}
		case *corev1.Pod:
			fits = o != nil && need.Kind == podKind
		case *resourcev1.ResourceClaim:
			fits = o != nil && need.Kind == claimKind
		case PodGroup:
			fits = need.Kind == podGroupKind
		}
		if fits {
			return lookup{asked: true, found: answer.Object}
		}
		err = fmt.Errorf("%w: %T", ErrAnswerType, answer.Object)
	}
	return lookup{problem: &purekube.ObjectError{Kind: need.Kind, Namespace: need.Namespace, Name: need.Name, Err: err}}
}

// uid is the UID of what was found; empty: nothing was, or it has none.
func (l lookup) uid() types.UID {
	switch o := l.found.(type) {
	case *corev1.Pod:
		return o.UID
	case PodGroup:
		return o.UID
	}
	return ""
}
