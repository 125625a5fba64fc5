package parity

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
