package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube/internal/test/e2e/cluster"
)

// The commands in examples/manager/README.md do what is said there.
func TestManagersREADME(t *testing.T) {
	if cluster.Release() != "" {
		t.Skip("the commands build and run the release of bins/go.mod")
	}
	root := filepath.Join("..", "..", "..")
	content, err := os.ReadFile(filepath.Join(root, "examples", "manager", "README.md"))
	require.NoError(t, err)
	var commands strings.Builder
	for i, block := range strings.Split(string(content), "```sh\n") {
		if i > 0 {
			body, _, found := strings.Cut(block, "```")
			require.True(t, found)
			commands.WriteString(body)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	bash := exec.CommandContext(ctx, "bash", "-euxo", "pipefail", "-m", "-c", commands.String())
	bash.Dir = root
	bash.WaitDelay = 10 * time.Second
	out, err := bash.CombinedOutput()
	t.Log(string(out))
	require.NoError(t, err)
	for _, want := range []string{
		`msg="Would send" controller=servicecidr request="patch servicecidrs kubernetes"`,
		`msg="Would send" controller=rbacaggregate request="patch clusterroles admin"`,
		`purekube_actions_total{action="AddFinalizer",answer="OK",controller="servicecidr"} 1`,
		`purekube_actions_total{action="SetRules",answer="OK",controller="rbacaggregate"} 3`,
	} {
		require.Contains(t, string(out), want)
	}
}
