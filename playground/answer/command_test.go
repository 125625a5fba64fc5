package answer_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/purekube/purekube/playground/answer"
)

var question = answer.Question{IgnoreDaemonSets: true, DeleteEmptyDirData: true}

// object is one object of a sample.
type object = map[string]any

// objects are the objects of a sample.
func objects(t *testing.T, name string) []object {
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	var all []object
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		var o object
		require.NoError(t, yaml.Unmarshal([]byte(document), &o))
		if o["kind"] != "List" {
			all = append(all, o)
			continue
		}
		for _, item := range o["items"].([]any) {
			all = append(all, item.(object))
		}
	}
	require.NotEmpty(t, all)
	return all
}

// write writes objects as kubectl does.
func write(t *testing.T, all []object) string {
	text, err := json.Marshal(object{"apiVersion": "v1", "kind": "List", "items": all})
	require.NoError(t, err)
	return string(text)
}

// inputs are the samples, and what is left of each if something is missing or cannot be read.
func inputs(t *testing.T) map[string]string {
	all := map[string]string{}
	files, err := filepath.Glob("../samples/*")
	require.NoError(t, err)
	require.Len(t, files, 5)
	for _, file := range files {
		name := strings.TrimPrefix(file, "../samples/")
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		all[name] = string(text)
		all[name+", cut off"] = string(text[:len(text)*2/3])
		whole := objects(t, file)
		kinds := map[string]bool{}
		for _, o := range whole {
			kinds[o["kind"].(string)] = true
		}
		for kind := range kinds {
			var without, broken []object
			for _, o := range whole {
				if o["kind"] != kind {
					without = append(without, o)
					broken = append(broken, o)
					continue
				}
				spoiled := object{"spec": "not a spec"}
				for key, value := range o {
					if key != "spec" {
						spoiled[key] = value
					}
				}
				broken = append(broken, spoiled)
			}
			all[name+", without "+kind] = write(t, without)
			all[name+", unreadable "+kind] = write(t, broken)
		}
		all[name+", something of no kind"] = write(t, append(whole, object{"apiVersion": "v1", "metadata": object{"name": "x"}}))
	}
	all["pods of one name"] = write(t, append(objects(t, "../samples/1-cluster.yaml"), objects(t, "../samples/1-cluster.yaml")[6]))
	all["no YAML"] = "\tx: {"
	return all
}

// The page answers and refuses what the command answers and refuses, with the same outcome for each node.
func TestAsTheCommand(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the command")
	}
	command := filepath.Join(t.TempDir(), "purekube")
	build := exec.Command("go", "build", "-o", command, "./cmd/purekube")
	build.Dir = "../.."
	build.Env = append(os.Environ(), "GOWORK=") // the command is a module of go.work
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)

	compared, refused := 0, 0
	for name, text := range inputs(t) {
		got := answer.Ask([]byte(text), question, time.Now())
		args := []string{"drain", "all", "--ignore-daemonsets", "--delete-emptydir-data", "-o", "json"}
		if got.AtFullHealth {
			args = append(args, "--at-full-health", "--nodes", "3")
			if got.MadeNodes == 0 {
				args = args[:len(args)-2]
			}
		}
		run := exec.Command(command, append(args, "-f", "-")...)
		run.Stdin = strings.NewReader(text)
		var stderr bytes.Buffer
		run.Stderr = &stderr
		out, err := run.Output()
		if exit := (*exec.ExitError)(nil); err != nil {
			require.ErrorAs(t, err, &exit, name)
		}
		var want struct {
			Drains []struct{ Node, Outcome string }
			Errors []struct{ Message string }
		}
		require.NoError(t, json.Unmarshal(out, &want), "%s: %s", name, stderr.Bytes())

		outcomes := map[string]string{}
		for _, d := range want.Drains {
			outcomes[d.Node] = d.Outcome
		}
		if got.Drains != nil {
			compared++
			require.Len(t, outcomes, len(got.Drains.Nodes)+got.Drains.Empty, "%s: %s", name, stderr.Bytes())
			for _, n := range got.Drains.Nodes {
				require.Equal(t, outcomes[n.Name], n.Outcome, "%s: %s", name, n.Name)
			}
		} else {
			require.Empty(t, outcomes, name)
		}
		why := ""
		for _, e := range want.Errors {
			why += e.Message + "\n"
		}
		drains := 0
		for _, r := range got.Refusals {
			if r.Question == "drain" {
				drains++
			}
		}
		if got.Objects > 0 {
			require.Equal(t, strings.Contains(why, "drain: not answered"), drains > 0, "%s: %s", name, why)
		}
		refused += drains
		if len(want.Errors) > 0 {
			require.NotEmpty(t, append(got.Problems, whys(got)...), "%s: %s", name, why)
		}
	}
	require.Greater(t, compared, 15)
	require.Greater(t, refused, 15)
}

func whys(a answer.Answer) (all []string) {
	for _, r := range a.Refusals {
		all = append(all, r.Why)
	}
	return all
}
