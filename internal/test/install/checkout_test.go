package install

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube/internal/test/seed"
)

// TestModuleBesideACheckout runs the commands with which docs/install.md has a module take the library from a checkout. The
// module is not compiled: internal/test/consumers has programs that are.
func TestModuleBesideACheckout(t *testing.T) {
	if seed.Short() {
		t.Skip("it downloads modules")
	}
	page, err := os.ReadFile(filepath.Join(root, "docs/install.md"))
	require.NoError(t, err)
	var commands []string
	for line := range strings.Lines(string(page)) {
		if command, indented := strings.CutPrefix(line, "    go mod "); indented {
			commands = append(commands, "go mod "+command)
		}
	}
	require.Len(t, commands, 4)

	checkout, err := filepath.Abs(root)
	require.NoError(t, err)
	folder := t.TempDir()
	require.NoError(t, os.Symlink(checkout, filepath.Join(folder, "purekube")))
	mine := filepath.Join(folder, "mine")
	require.NoError(t, os.Mkdir(mine, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(mine, "main.go"), []byte(`package main

import (
	_ "github.com/purekube/purekube/clientgo"
	_ "github.com/purekube/purekube/controllerruntime"
)

func main() {}
`), 0o600))
	script := "set -e\ngo mod init example.com/mine\n" + strings.Join(commands, "") + "go list -deps -f '{{.ImportPath}} in {{.Dir}}' .\n"
	run := exec.CommandContext(t.Context(), "bash", "-c", script)
	run.Dir = mine
	run.Env = append(os.Environ(), "GOWORK=off")
	out, err := run.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, of := range []string{"clientgo", "controllerruntime", "disruption"} {
		require.Contains(t, string(out), "github.com/purekube/purekube/"+of+" in "+filepath.Join(folder, "purekube", of)+"\n")
	}
}
