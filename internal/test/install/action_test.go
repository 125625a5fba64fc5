package install

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/purekube/purekube/internal/test/seed"
)

const root = "../../.."

const blocked = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec: {replicas: 3, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: shop}
spec: {unhealthyPodEvictionPolicy: AlwaysAllow, minAvailable: 3, selector: {matchLabels: {app: web}}}
`

var allowing = strings.Replace(blocked, "minAvailable: 3", "minAvailable: 2", 1)

// action is what action.yml says.
type action struct {
	Inputs map[string]struct {
		Default  string
		Required bool
	}
	Runs struct {
		Using string
		Steps []struct {
			Name, Shell, Run string
			Env              map[string]string
		}
	}
}

func readYAML(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, into))
}

// program is the command: the program of an archive if PUREKUBE_PROGRAM names it, as .ci/archives does. Otherwise it is
// built once, as pre-commit builds it.
func program(t *testing.T) string {
	t.Helper()
	if released := os.Getenv("PUREKUBE_PROGRAM"); released != "" {
		return released
	}
	if seed.Short() {
		t.Skip("it builds the command")
	}
	if built == "" {
		folder, err := os.MkdirTemp("", "purekube-install-")
		require.NoError(t, err)
		install := exec.CommandContext(t.Context(), "go", "install", "./cmd/purekube")
		install.Dir = root
		for _, e := range os.Environ() {
			// pre-commit does not set it, and the command is found through go.work.
			if !strings.HasPrefix(e, "GOWORK=") {
				install.Env = append(install.Env, e)
			}
		}
		install.Env = append(install.Env, "GOBIN="+folder)
		out, err := install.CombinedOutput()
		require.NoError(t, err, string(out))
		built = filepath.Join(folder, "purekube")
	}
	return built
}

var built string

func TestMain(m *testing.M) {
	status := m.Run()
	if built != "" {
		_ = os.RemoveAll(filepath.Dir(built))
	}
	os.Exit(status)
}

// release makes the folder that the action downloads from, with the archive of this platform.
func release(t *testing.T, version string) string {
	t.Helper()
	content, err := os.ReadFile(program(t))
	require.NoError(t, err)
	var archive bytes.Buffer
	zipped := gzip.NewWriter(&archive)
	files := tar.NewWriter(zipped)
	require.NoError(t, files.WriteHeader(&tar.Header{Name: "purekube", Mode: 0o755, Size: int64(len(content))}))
	_, err = files.Write(content)
	require.NoError(t, err)
	require.NoError(t, files.Close())
	require.NoError(t, zipped.Close())
	folder := t.TempDir()
	name := fmt.Sprintf("purekube_%s_%s_%s.tar.gz", version, runtime.GOOS, runtime.GOARCH)
	require.NoError(t, os.Mkdir(filepath.Join(folder, version), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, version, name), archive.Bytes(), 0o644))
	list := fmt.Sprintf("%x  %s\n", sha256.Sum256(archive.Bytes()), name)
	require.NoError(t, os.WriteFile(filepath.Join(folder, version, "checksums.txt"), []byte(list), 0o644))
	return folder
}

// job runs the steps as GitHub does, until one fails. It returns what they printed and the status of the last one.
type job struct {
	folder, temp, releases, ref string
	inputs                      map[string]string
}

var expression = regexp.MustCompile(`\$\{\{ (inputs\.([\w-]+)|github\.action_ref) \}\}`)

func (j job) run(t *testing.T) (output string, status int) {
	t.Helper()
	var a action
	readYAML(t, "action.yml", &a)
	require.Equal(t, "composite", a.Runs.Using)
	value := func(of string) string {
		require.Regexp(t, expression, of)
		return expression.ReplaceAllStringFunc(of, func(found string) string {
			name := expression.FindStringSubmatch(found)[2]
			if name == "" {
				return j.ref
			}
			input, known := a.Inputs[name]
			require.True(t, known, "action.yml has no input %s", name)
			if given, ok := j.inputs[name]; ok {
				return given
			}
			require.False(t, input.Required, name)
			return input.Default
		})
	}
	paths := filepath.Join(j.temp, "path")
	require.NoError(t, os.WriteFile(paths, nil, 0o644))
	for _, step := range a.Runs.Steps {
		require.Equal(t, "bash", step.Shell, step.Name)
		script := filepath.Join(j.temp, "step.sh")
		require.NoError(t, os.WriteFile(script, []byte(step.Run), 0o644))
		added, err := os.ReadFile(paths)
		require.NoError(t, err)
		command := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", script)
		command.Dir = j.folder
		command.Env = []string{
			"HOME=" + j.temp, "RUNNER_TEMP=" + j.temp, "GITHUB_PATH=" + paths, "RUNNER_OS=Linux",
			"RELEASES=file://" + j.releases,
			"RUNNER_ARCH=" + map[string]string{"amd64": "X64", "arm64": "ARM64", "arm": "ARM"}[runtime.GOARCH],
			"PATH=" + strings.ReplaceAll(string(added), "\n", ":") + os.Getenv("PATH"),
		}
		for name, text := range step.Env {
			command.Env = append(command.Env, name+"="+value(text))
		}
		out, err := command.CombinedOutput()
		output += string(out)
		if err != nil {
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit)
			return output, exit.ExitCode()
		}
	}
	return output, 0
}

func TestAction(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it plays a runner with Linux")
	}
	releases := release(t, "v0.1.0")
	embedded, err := filepath.Abs(filepath.Join(root, "cmd", "purekube", "cluster"))
	require.NoError(t, err)
	const atFullHealth = "--at-full-health\n--nodes 3"
	for _, c := range []struct {
		name, reason, manifest string
		inputs                 map[string]string
		status                 int
		want                   string
	}{
		{"lint finds", "the pull request shows the finding at its line", blocked, nil, 5,
			`::error file=manifests/web.yaml,line=6,`},
		{"lint finds nothing", "the job goes on", allowing, nil, 0, "purekube "},
		{"lint with flags", "flags are words", blocked, map[string]string{"flags": "--fail-on none"}, 0, "::error file="},
		{"drain of manifests", "no node with these pods drains", blocked,
			map[string]string{"command": "drain", "flags": atFullHealth}, 4, "budget shop/web"},
		{"drain that works", "one pod may go at a time", allowing,
			map[string]string{"command": "drain", "flags": atFullHealth}, 0, "Drains: 3"},
		{"drain of a dump", "a node by its name", allowing,
			map[string]string{"command": "drain", "files": embedded, "flags": "--force", "nodes": "worker-2"}, 4, "worker-2"},
		{"a misspelt command", "nothing was checked", allowing, map[string]string{"command": "lnt"}, 1,
			"::error::purekube: the input command must be lint or drain: it is 'lnt'"},
		{"no files", "the command would read something else", allowing, map[string]string{"files": " "}, 1,
			"::error::purekube: the input files is empty"},
		{"a branch", "a branch has no archives", allowing, map[string]string{"version": "main"}, 1,
			"the input version must be a release, such as v0.1.0: it is 'main'"},
		{"an input with shell code", "an input is never run", allowing,
			map[string]string{"files": "$(touch${IFS}pwned) `touch${IFS}pwned` manifests"}, 1, "$(touch${IFS}pwned)"},
		{"a pattern", "a pattern is a name, here of no file", allowing,
			map[string]string{"files": "manifests/*"}, 1, "manifests/*"},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := job{t.TempDir(), t.TempDir(), releases, "v0.1.0", map[string]string{"files": "manifests"}}
			for name, input := range c.inputs {
				j.inputs[name] = input
			}
			require.NoError(t, os.Mkdir(filepath.Join(j.folder, "manifests"), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(j.folder, "manifests", "web.yaml"), []byte(c.manifest), 0o644))
			output, status := j.run(t)
			require.Equal(t, c.status, status, "%s\n%s", c.reason, output)
			require.Contains(t, output, c.want, c.reason)
			require.NoFileExists(t, filepath.Join(j.folder, "pwned"), c.reason)
		})
	}

	t.Run("output-file", func(t *testing.T) {
		j := job{t.TempDir(), t.TempDir(), releases, "v0.1.0", map[string]string{"files": "web.yaml", "output-file": "out"}}
		require.NoError(t, os.WriteFile(filepath.Join(j.folder, "web.yaml"), []byte(blocked), 0o644))
		_, status := j.run(t)
		require.Equal(t, 5, status)
		sarif, err := os.ReadFile(filepath.Join(j.folder, "out"))
		require.NoError(t, err)
		require.Contains(t, string(sarif), `"BudgetNeverAllows"`)
		j.inputs["command"], j.inputs["flags"] = "drain", atFullHealth
		_, status = j.run(t)
		require.Equal(t, 4, status)
		text, err := os.ReadFile(filepath.Join(j.folder, "out"))
		require.NoError(t, err)
		require.Contains(t, string(text), "budget shop/web")
	})

	// Everything else is in order, so that only the checksum can stop the job.
	for _, c := range []struct{ name, listed string }{
		{"another archive than the list says", "purekube_v0.1.0_linux_" + runtime.GOARCH + ".tar.gz"},
		{"a list without the archive", "purekube_v0.1.0_plan9_amd64.tar.gz"},
	} {
		t.Run(c.name, func(t *testing.T) {
			changed := release(t, "v0.1.0")
			list := strings.Repeat("0", 64) + "  " + c.listed + "\n"
			require.NoError(t, os.WriteFile(filepath.Join(changed, "v0.1.0", "checksums.txt"), []byte(list), 0o644))
			j := job{t.TempDir(), t.TempDir(), changed, "v0.1.0", map[string]string{"files": "web.yaml"}}
			require.NoError(t, os.WriteFile(filepath.Join(j.folder, "web.yaml"), []byte(allowing), 0o644))
			output, status := j.run(t)
			require.NotZero(t, status, output)
			require.NotContains(t, output, "kube-controller-manager", "the program ran")
		})
	}
}

// GitHub puts the value of an expression into a script before the shell reads it, so that a value could be code.
func TestActionScriptsHaveNoExpressions(t *testing.T) {
	var a action
	readYAML(t, "action.yml", &a)
	require.NotEmpty(t, a.Runs.Steps)
	for _, step := range a.Runs.Steps {
		require.NotContains(t, step.Run, "${{", step.Name)
	}
}
