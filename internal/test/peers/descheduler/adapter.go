package descheduler

import (
	"errors"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/disruption/drain"
)

// Refuse is a reaction for the fake client that descheduler evicts from in a dry run: put it before the reaction that
// deletes the pod. It answers evictions that the API server refuses, and leaves the others to the next reaction.
func Refuse(index *disruption.Index) clienttesting.ReactionFunc {
	return func(action clienttesting.Action) (handled bool, _ runtime.Object, err error) {
		pod, is := evicted(action)
		if !is {
			return false, nil, nil
		}
		evictions, next, err := drain.Pods(index, []types.NamespacedName{pod}, drain.Options{})
		if !evictions[0].Verdict.Allowed() {
			return true, nil, refusal(evictions[0], err)
		}
		index = next // the pod is being deleted when the next eviction is decided
		return false, nil, nil
	}
}

// evicted is the pod that an eviction is about.
func evicted(action clienttesting.Action) (pod types.NamespacedName, is bool) {
	create, _ := action.(clienttesting.CreateAction)
	if create == nil {
		return pod, false
	}
	eviction, is := create.GetObject().(*policyv1.Eviction)
	if !is {
		return pod, false
	}
	return types.NamespacedName{Namespace: action.GetNamespace(), Name: eviction.Name}, true
}

// refusal is the API server's answer, or what is wrong with a pod that the Index has not, or has twice.
func refusal(e disruption.Eviction, err error) error {
	if e.Verdict == disruption.RefusedNow {
		return apierrors.NewTooManyRequests(e.Reason, 10)
	}
	return apierrors.NewInternalError(errors.Join(errors.New("not evicted: "+e.Reason), err))
}
