package executor

import (
	"context"
	"log/slog"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/purekube/purekube"
)

// DryRun logs requests and sends none.
type DryRun struct{ Log *slog.Logger }

// Do logs the request. It answers with the object of a create or an update as it would be sent, so that the
// requests after it can be logged as well; a name that the API server would make up is not in it.
func (d DryRun) Do(_ context.Context, r purekube.Request) (runtime.Object, error) {
	d.Log.Info("Would send", "request", r.String(), "patchType", string(r.PatchType), "patch", string(r.Patch),
		"object", r.Object, "fieldManager", r.FieldManager, "force", r.Force, "preconditions", r.Preconditions)
	if r.Object == nil {
		return nil, nil
	}
	return r.Object.DeepCopyObject(), nil
}
