package architecture

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A program that was built in the tree is not committed with it: `go build` in a folder of package main leaves one there.
func TestNoProgramsAreCommitted(t *testing.T) {
	list := exec.Command("git", "ls-files", "-z")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Skip("not a checkout: ", err)
	}
	files := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	require.Contains(t, files, "go.mod")
	for _, name := range files {
		file, err := os.Open(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // deleted, and not committed yet
		}
		require.NoError(t, err)
		start := make([]byte, 4)
		n, _ := file.Read(start)
		require.NoError(t, file.Close())
		for _, magic := range []string{"\x7fELF", "MZ", "\xcf\xfa\xed\xfe"} {
			require.False(t, bytes.HasPrefix(start[:n], []byte(magic)), "%s is a program", name)
		}
	}
}
