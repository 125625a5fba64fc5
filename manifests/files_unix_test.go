//go:build unix

package manifests

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A named pipe is opened once: its writer sees it closed only when all is read.
func TestNamedPipe(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(name, 0o600))
	written := make(chan error, 1)
	go func() {
		pipe, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err == nil {
			_, err = pipe.WriteString("apiVersion: v1\nkind: Node\nmetadata: {name: a}\n")
			pipe.Close()
		}
		written <- err
	}()
	set, err := Load(Options{}, name)
	require.NoError(t, err)
	require.Len(t, set.Nodes, 1)
	require.NoError(t, <-written)
}
