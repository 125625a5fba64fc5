package parity

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// startResourceClaim builds the real controller with these features. A failed key is
// "pod:<namespace>/<name>" or "claim:<namespace>/<name>". Pods that the controller asks the
// server for are not found, unless Respond says otherwise.
func startResourceClaim(features resourceClaimFeatures) Start {
	return func(ctx context.Context, w *World) (func(context.Context), error) {
		w.FailedKey = func(f Failure) string { return f.Value("item") }
		answer := w.Respond
		w.Respond = func(r Request) (runtime.Object, error) {
			if answer != nil {
				if object, err := answer(r); object != nil || err != nil {
					return object, err
				}
			}
			if r.Verb == "get" && r.Resource == "pods" {
				return nil, apierrors.NewNotFound(corev1.Resource("pods"), r.Name)
			}
			return nil, nil
		}
		return runResourceClaim(ctx, w, features)
	}
}

// allFeatures are on by default in v1.36.
var allFeatures = resourceClaimFeatures{AdminAccess: true, PrioritizedList: true}

func TestResourceClaimStarts(t *testing.T) {
	template := "t"
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "uid-p"},
		Spec:       corev1.PodSpec{ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: &template}}},
	}
	claim := &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"},
		Status:     resourcev1.ResourceClaimStatus{ReservedFor: []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "gone", UID: "uid-gone"}}},
	}
	Run(t, []runtime.Object{pod, claim}, startResourceClaim(allFeatures), func(t *testing.T, w *World) {
		require.Equal(t, `get pods ns/gone
update resourceclaims/status ns/c: {"metadata":{"name":"c","namespace":"ns"},"spec":{"devices":{"requests":null}},"status":{}}
event Warning FailedResourceClaimCreation on Pod ns/p
error for pod:ns/p`, w.Settle().String())
		w.Add(&resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "t"}})
		require.Equal(t, `apply pods/status ns/p by ResourceClaimController with force: {"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"ns"},"status":{"resourceClaimStatuses":[{"name":"gpu","resourceClaimName":"p-gpu-00001"}]}}
create resourceclaims ns/: {"metadata":{"annotations":{"resource.kubernetes.io/pod-claim-name":"gpu"},"generateName":"p-gpu-","ownerReferences":[{"apiVersion":"v1","controller":true,"kind":"Pod","name":"p","uid":"uid-p"}]},"spec":{"devices":{"requests":null}},"status":{}}`,
			w.Settle().String())
	})
}
