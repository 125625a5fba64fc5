package clientgo

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"

	"github.com/purekube/purekube"
)

// DryRun is a [Client] that logs requests and sends none.
type DryRun struct{}

// Do logs the request with the logger of the context. It returns the object of a create or an update as it would be
// sent, so that the requests after it can be logged as well. A name that the API server would generate is not in it.
func (DryRun) Do(ctx context.Context, r purekube.Request) (runtime.Object, error) {
	if _, err := pathOf(r); err != nil {
		return nil, err
	}
	klog.FromContext(ctx).Info("Would send", "request", r.String(), "patchType", string(r.PatchType), "patch",
		string(r.Patch),
		"object", r.Object, "fieldManager", r.FieldManager, "force", r.Force, "preconditions", r.Preconditions)
	if r.Object == nil {
		return nil, nil
	}
	return r.Object.DeepCopyObject(), nil
}
