package parity

import (
	"os"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// TestMain silences what the controllers log past the logger in their context. The logger
// has to be there before the first bubble, since klog starts goroutines for its files.
func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	os.Exit(m.Run())
}
