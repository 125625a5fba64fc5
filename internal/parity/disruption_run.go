package parity

import (
	"context"

	"k8s.io/kubernetes/pkg/controller/disruption"
)

// RunDisruption is the Run of the real disruption controller, whatever the release calls for.
func RunDisruption(c *disruption.DisruptionController, w *World) func(context.Context) {
	return runDisruption(c, w)
}
