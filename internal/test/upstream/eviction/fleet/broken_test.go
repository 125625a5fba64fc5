package fleet

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/purekube/purekube/internal/test/upstream/parity"
)

// mistakes are made in disruption/drain where mistaken says so: the text old becomes new.
var mistakes = []struct{ name, file, old, new string }{
	{"OrderedReady is ignored", "owner.go", "if o.parallel = wants.Parallel; !o.parallel {", "if o.parallel = wants.Parallel || mistaken(0); !o.parallel {"},
	{"ordinals begin at 0", "owner.go", "o.first = int64(wants.FirstOrdinal)\n",
		"o.first = int64(wants.FirstOrdinal)\nif mistaken(1) { o.first = 0 }\n"},
	{"pods that were not ready are recreated ready", "return.go", "if runs(gone) {", "if runs(gone) || mistaken(2) {"},
	{"stuck pods end", "filter.go", "return now.IsZero() || now.After(",
		"if mistaken(3) { return false }\nreturn now.IsZero() || now.After("},
	{"Jobs recreate their pods forever", "owner.go", "wants := x.WorkloadOf(by.namespace, &by.ref)\n",
		"if by.ref.Kind == \"Job\" && mistaken(4) { o.all = true; return o }\nwants := x.WorkloadOf(by.namespace, &by.ref)\n"},
	{"the DaemonSets of all groups are skipped", "filter.go", "&& ref.APIVersion == appsv1.SchemeGroupVersion.String()",
		"&& (mistaken(5) || ref.APIVersion == appsv1.SchemeGroupVersion.String())"},
	{"a budget does not see the evictions before in the round", "round.go", "if slices.ContainsFunc(covering, ",
		"if !mistaken(6) && slices.ContainsFunc(covering, "},
	{"pods that ended are recreated before active ones", "owner.go", "case !active(pod):\n",
		"case !active(pod) && mistaken(7): return -1\ncase !active(pod):\n"},
	{"mirror pods are evicted", "filter.go", "case ofFile(pod):", "case ofFile(pod) && !mistaken(8):"},
	{"nodes do not take turns", "round.go", "\treturn turns\n", "\tif mistaken(9) { slices.SortStableFunc(turns, " +
		"func(a, b turn) int { return slices.Index(nodes, a.node) - slices.Index(nodes, b.node) }) }\nreturn turns\n"},
	{"recreated pods take no room", "placement.go", "left.take(shape.requests, shape.ports)\n",
		"if !mistaken(10) { left.take(shape.requests, shape.ports) }\n"},
	{"a pod without a node is healthy", "return.go",
		"pod.Status.Phase, pod.Status.Conditions[0].Status = corev1.PodPending, corev1.ConditionFalse\n",
		"if !mistaken(11) { pod.Status.Phase, pod.Status.Conditions[0].Status = corev1.PodPending, corev1.ConditionFalse }\n"},
	{"a StatefulSet does not wait for a pod without a node", "owner.go", "o.last = min(o.last, n)\n",
		"if !mistaken(12) { o.last = min(o.last, n) }\n"},
	{"taints are ignored", "inventory.go", "t.Effect == corev1.TaintEffectNoExecute) && !s.tolerates(t)",
		"t.Effect == corev1.TaintEffectNoExecute) && !s.tolerates(t) && !mistaken(13)"},
}

const mistaken = `package drain

import (
	"fmt"
	"os"
)

var mistake = os.Getenv("PARITY_MISTAKE")

func mistaken(n int) bool { return mistake == fmt.Sprint(n) }
`

var firstCase = regexp.MustCompile(`PARITY_CASE=(\d+) .*\^(TestDrains\w*)\$/\^(\w+)`)

// TestFindsMistakes breaks disruption/drain on purpose: each of the mistakes has to be found. It builds the tests once more,
// which takes a while: only with PARITY_BROKEN set.
func TestFindsMistakes(t *testing.T) {
	folder, err := filepath.Abs("../../../../../disruption/drain")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"mistaken.go": mistaken}
	for _, m := range mistakes {
		if files[m.file] == "" {
			text, err := os.ReadFile(filepath.Join(folder, m.file))
			if err != nil {
				t.Fatal(err)
			}
			files[m.file] = string(text)
		}
		if n := strings.Count(files[m.file], m.old); n != 1 {
			t.Fatalf("%q is %d times in %s", m.old, n, m.file)
		}
		files[m.file] = strings.Replace(files[m.file], m.old, m.new, 1)
	}
	if os.Getenv("PARITY_BROKEN") == "" {
		t.Skip("PARITY_BROKEN is not set: the mistakes can be made, and that they are found takes a while")
	}
	scratch := t.TempDir()
	replace := map[string]string{}
	for name, text := range files {
		replace[filepath.Join(folder, name)] = filepath.Join(scratch, name)
		if err := os.WriteFile(filepath.Join(scratch, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(scratch, "overlay.json"), overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(scratch, "fleet.test")
	build := exec.Command("go", append([]string{"test", "-c", "-vet=off", "-overlay", filepath.Join(scratch, "overlay.json"), "-o", program},
		append(strings.Fields(parity.TestFlags), "./eviction/fleet")...)...)
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for i, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			run := exec.Command(program, "-test.run", "^TestDrains", "-test.failfast")
			run.Env = append(os.Environ(), "PARITY_CASES=1000", fmt.Sprint("PARITY_MISTAKE=", i))
			out, err := run.CombinedOutput()
			if found := firstCase.FindSubmatch(out); found != nil {
				t.Logf("found in case %s of %s/%s", found[1], found[2], found[3])
			} else {
				t.Errorf("not found: %v\n%s", err, out)
			}
		})
	}
}
