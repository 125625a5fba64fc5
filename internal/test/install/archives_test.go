package install

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"text/template"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// archives are the names of a release's archives, by platform, as .goreleaser.yaml has them.
func archives(t *testing.T, version string) map[string]string {
	t.Helper()
	var config struct {
		Builds   []struct{ Targets []string }
		Archives []struct {
			Name      string `json:"name_template"`
			Formats   []string
			Overrides []struct {
				Goos    string
				Formats []string
			} `json:"format_overrides"`
		}
	}
	readYAML(t, ".goreleaser.yaml", &config)
	require.Len(t, config.Builds, 1)
	require.Len(t, config.Archives, 1)
	named := template.Must(template.New("").Option("missingkey=error").Parse(config.Archives[0].Name))
	all := map[string]string{}
	for _, target := range config.Builds[0].Targets {
		part := strings.Split(target, "_")
		var name bytes.Buffer
		require.NoError(t, named.Execute(&name, map[string]string{"Tag": version, "Os": part[0], "Arch": part[1]}))
		formats := config.Archives[0].Formats
		for _, o := range config.Archives[0].Overrides {
			if o.Goos == part[0] {
				formats = o.Formats
			}
		}
		require.Len(t, formats, 1)
		all[part[0]+" "+part[1]] = name.String() + "." + formats[0]
	}
	return all
}

// The manifest for krew names archives that a release has, one for each platform that krew knows.
func TestKrewDownloadsWhatAReleaseHas(t *testing.T) {
	const version = "v0.1.0"
	text, err := os.ReadFile(filepath.Join(root, ".krew.yaml"))
	require.NoError(t, err)
	data := map[string]string{"TagName": version}
	parsed, err := template.New("").Funcs(template.FuncMap{"addURIAndSha": func(uri, tag string) string {
		var b bytes.Buffer
		require.NoError(t, template.Must(template.New("").Parse(uri)).Execute(&b, map[string]string{"TagName": tag}))
		return fmt.Sprintf("uri: %s\n    sha256: %064d", &b, 0)
	}}).Parse(string(text))
	require.NoError(t, err)
	var manifest bytes.Buffer
	require.NoError(t, parsed.Execute(&manifest, data))

	var plugin struct {
		Metadata struct{ Name string }
		Spec     struct {
			Version, ShortDescription string
			Platforms                 []struct {
				Selector struct{ MatchLabels struct{ OS, Arch string } }
				URI, Bin string
			}
		}
	}
	require.NoError(t, yaml.Unmarshal(manifest.Bytes(), &plugin))
	require.Equal(t, "purekube", plugin.Metadata.Name)
	require.Equal(t, version, plugin.Spec.Version)
	require.LessOrEqual(t, len(plugin.Spec.ShortDescription), 60, "kubectl krew search cuts it off")

	want := archives(t, version)
	for _, unknown := range []string{"linux ppc64le", "linux s390x"} {
		require.Contains(t, want, unknown)
		delete(want, unknown)
	}
	got := map[string]string{}
	for _, p := range plugin.Spec.Platforms {
		platform := p.Selector.MatchLabels
		folder, name := path.Split(p.URI)
		require.Equal(t, "https://github.com/purekube/purekube/releases/download/"+version+"/", folder)
		require.Equal(t, platform.OS == "windows", strings.HasSuffix(p.Bin, ".exe"), p.URI)
		got[platform.OS+" "+platform.Arch] = name
	}
	require.Equal(t, want, got)
}

// The hook finds what is wrong in the folder that its user names.
func TestPreCommitHook(t *testing.T) {
	var hooks []struct {
		ID, Entry, Language, Files string
		PassFilenames              *bool    `json:"pass_filenames"`
		Dependencies               []string `json:"additional_dependencies"`
	}
	readYAML(t, ".pre-commit-hooks.yaml", &hooks)
	require.Len(t, hooks, 1)
	hook := hooks[0]
	require.Equal(t, "purekube-lint", hook.ID)
	require.Equal(t, "golang", hook.Language)
	require.Equal(t, []string{"./cmd/purekube"}, hook.Dependencies, "program builds the same")
	require.False(t, *hook.PassFilenames, "a budget is judged with workloads of other files")
	require.Regexp(t, regexp.MustCompile(hook.Files), "chart/web.yaml")

	words := strings.Fields(hook.Entry)
	require.Equal(t, "purekube", words[0])
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "web.yaml"), []byte(blocked), 0o644))
	out, err := exec.CommandContext(t.Context(), program(t), append(words[1:], folder)...).CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 5, exit.ExitCode(), string(out))
	require.Contains(t, string(out), "BudgetNeverAllows")

	// args are the user's to set. Without any the hook fails, and does not read a cluster.
	out, err = exec.CommandContext(t.Context(), program(t), words[1:]...).CombinedOutput()
	require.ErrorAs(t, err, &exit, string(out))
	require.Equal(t, 1, exit.ExitCode(), string(out))
}
