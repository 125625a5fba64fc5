package docs

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube/internal/test/seed"
)

// The first task of CONTRIBUTING.md breaks a rule, and one file fails, as the page shows it. The broken file is laid over
// the real one.
func TestFirstTask(t *testing.T) {
	if seed.Short() {
		t.Skip("it compiles a package and what imports it")
	}
	page, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	require.NoError(t, err)
	task := regexp.MustCompile("(?s)```sh\nsed -i 's/(.*?)/(.*?)/' (\\S+)\n(go test [^\n]*)\n```.*?```text\n(.*?)```").FindStringSubmatch(string(page))
	require.NotNil(t, task)
	before, after, path, command, want := task[1], task[2], task[3], task[4], task[5]

	full, err := filepath.Abs(filepath.Join(root, path))
	require.NoError(t, err)
	source, err := os.ReadFile(full)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(source), before))
	folder := t.TempDir()
	broken, overlay := filepath.Join(folder, "broken.go"), filepath.Join(folder, "overlay.json")
	require.NoError(t, os.WriteFile(broken, []byte(strings.Replace(string(source), before, after, 1)), 0o600))
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{full: broken}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, text, 0o600))

	words := strings.Fields(command)
	run := exec.CommandContext(t.Context(), words[0], append([]string{words[1], "-overlay", overlay}, words[2:]...)...)
	run.Dir = root
	out, err := run.CombinedOutput()
	require.Error(t, err)
	shown := regexp.MustCompile(` \([\d.]+s\)`).ReplaceAllString(string(out), "")
	require.Contains(t, shown, want)
	require.Equal(t, 2, strings.Count(shown, "--- FAIL"), shown)
}
