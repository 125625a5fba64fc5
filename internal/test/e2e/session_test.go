package e2e

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/purekube/purekube/internal/test/e2e/cluster"
)

var update = flag.Bool("update", false, "write what the commands print into docs/command.md")

// The commands of docs/command.md print what is there, on a real API server.
func TestSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.load(t, filepath.Join("testdata", "shop.yaml"))
	kubeconfig, err := w.Kubeconfig(cluster.Admin, w.Endpoint())
	require.NoError(t, err)
	program := w.buildCommand(t)
	path := filepath.Join("..", "..", "..", "docs", "command.md")
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	commands := 0
	block := regexp.MustCompile("(?s)```console\n\\$ kubectl purekube ([^\n]*)\n.*?```")
	got := block.ReplaceAllFunc(page, func(b []byte) []byte {
		commands++
		line := string(block.FindSubmatch(b)[1])
		cmd := exec.CommandContext(t.Context(), program, strings.Fields(line)...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
		cmd.Dir = w.folder
		run := runs
		if strings.Contains(line, "--watch") {
			run = w.watches
		}
		return fmt.Appendf(nil, "```console\n$ kubectl purekube %s\n%s```", line, anonymous(run(t, cmd)))
	})
	require.Equal(t, 10, commands)
	if *update {
		require.NoError(t, os.WriteFile(path, got, 0o644)) //nolint:gosec // a page is for everybody
		return
	}
	require.Equal(t, string(page), string(got))
}

// runs returns what the command prints.
func runs(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out)
}

// watches returns what the command prints while the budget web is changed so that one pod may go.
func (w *world) watches(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer func() { _ = cmd.Wait() }() // it is killed
	defer func() { require.NoError(t, cmd.Process.Kill()) }()
	lines := bufio.NewScanner(stdout)
	var text strings.Builder
	until := func(prefix string) {
		for lines.Scan() {
			fmt.Fprintln(&text, lines.Text())
			if strings.HasPrefix(lines.Text(), prefix) {
				return
			}
		}
		t.Fatalf("no line begins with %q:\n%s", prefix, text.String())
	}
	until("worker-3")
	_, err = w.PolicyV1().PodDisruptionBudgets("shop").Patch(t.Context(), "web", types.MergePatchType,
		[]byte(`{"spec":{"minAvailable":2}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	until("+ worker-3")
	until("+     round 1")
	return text.String()
}

// anonymous replaces what differs from run to run and from release to release: the address of the API server, times, and how many
// ClusterRoles it begins with.
func anonymous(text string) string {
	text = regexp.MustCompile(`Lint: \d+ objects`).ReplaceAllString(text, "Lint: 93 objects")
	text = regexp.MustCompile(`context e2e, at https://[\d.:]+`).ReplaceAllString(text, "context production, at https://production.example:6443")
	return regexp.MustCompile(`(?m)^20\d\d-\S+Z$`).ReplaceAllString(text, "2026-11-27T12:00:07Z")
}

// buildCommand builds the command under the name that makes it a plugin of kubectl.
func (w *world) buildCommand(t *testing.T) string {
	t.Helper()
	program := filepath.Join(w.folder, "kubectl-purekube")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Dir = filepath.Join("..", "..", "..", "cmd", "purekube")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// load creates the objects of the file, with their statuses. The API server gives them other UIDs, and owners are named by these.
func (w *world) load(t *testing.T, file string) {
	t.Helper()
	_, err := w.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	uids := []string{`""`, `""`}
	for document := range strings.SplitSeq(string(content), "\n---\n") {
		text, err := yaml.YAMLToJSON([]byte(document))
		require.NoError(t, err)
		text = []byte(strings.NewReplacer(uids...).Replace(string(text)))
		var o struct {
			metav1.PartialObjectMetadata
			Status json.RawMessage `json:"status,omitempty"`
		}
		require.NoError(t, json.Unmarshal(text, &o))
		resource, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
		path := []string{"/api/v1", resource.Resource}
		if resource.Group != "" {
			path[0] = "/apis/" + resource.GroupVersion().String()
		}
		if o.Namespace != "" {
			path = slices.Insert(path, 1, "namespaces", o.Namespace)
		}
		made, err := w.RESTClient().Post().AbsPath(path...).Body(text).Do(t.Context()).Raw()
		require.NoError(t, err, document)
		var is metav1.PartialObjectMetadata
		require.NoError(t, json.Unmarshal(made, &is))
		if o.UID != "" {
			uids = append(uids, fmt.Sprintf("%q", o.UID), fmt.Sprintf("%q", is.UID))
		}
		patch := func(path []string, patch string) {
			require.NoError(t, w.RESTClient().Patch(types.MergePatchType).AbsPath(path...).Body([]byte(patch)).Do(t.Context()).Error(), document)
		}
		path = append(path, o.Name)
		if len(o.Status) > 0 {
			patch(append(path, "status"), fmt.Sprintf(`{"status":%s}`, o.Status))
		}
		if o.Kind == "Node" { // one that has just come is tainted
			patch(path, `{"spec":{"taints":null}}`)
		}
	}
}
