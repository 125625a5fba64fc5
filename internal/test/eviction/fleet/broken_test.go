package fleet

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// broken are mistakes in disruption/drain.
var broken = []struct{ name, file, old, new string }{
	{"OrderedReady is ignored", "owner.go", "if !wants.Parallel {", "if false && !wants.Parallel {"},
	{"ordinals begin at 0", "owner.go", "o.first = int64(wants.FirstOrdinal)", "o.first = 0"},
	{"pods that were not ready are recreated ready", "return.go", "if runs(gone) {", "if true {"},
	{"stuck pods end", "filter.go", "return now.IsZero() || now.After(", "return false && now.After("},
	{"Jobs make their pods again for ever", "owner.go", "wants := x.WorkloadOf(by.namespace, &by.ref)\n\to.need",
		"wants := x.WorkloadOf(by.namespace, &by.ref)\n\tif by.ref.Kind == \"Job\" {\n\t\to.all = true\n\t\treturn o\n\t}\n\to.need"},
	{"the DaemonSets of all groups are skipped", "filter.go", ` && ref.APIVersion == appsv1.SchemeGroupVersion.String()`,
		` && (true || ref.APIVersion == appsv1.SchemeGroupVersion.String())`},
	{"a budget does not see the evictions before in the round", "round.go",
		"if slices.ContainsFunc(covering, func(b types.NamespacedName) bool { return w.stale[b] }) {",
		"if false && slices.ContainsFunc(covering, func(b types.NamespacedName) bool { return w.stale[b] }) {"},
	{"pods that ended are recreated before active ones", "owner.go", "case !active(pod):\n\t\t\treturn 2", "case !active(pod):\n\t\t\treturn -1"},
	{"mirror pods are evicted", "filter.go", "case ofFile(pod):", "case false && ofFile(pod):"},
	{"nodes do not take turns", "round.go", "\treturn turns\n",
		"\tslices.SortStableFunc(turns, func(a, b turn) int { return slices.Index(nodes, a.node) - slices.Index(nodes, b.node) })\n\treturn turns\n"},
}

var firstCase = regexp.MustCompile(`PARITY_CASE=(\d+) .*TestDrains/(\w+)`)

// TestFindsMistakes breaks disruption/drain on purpose. It builds the tests once for each mistake, which takes minutes: only with
// PARITY_BROKEN set.
func TestFindsMistakes(t *testing.T) {
	if os.Getenv("PARITY_BROKEN") == "" {
		t.Skip("PARITY_BROKEN is not set")
	}
	folder, err := filepath.Abs("../../../../disruption/drain")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range broken {
		t.Run(b.name, func(t *testing.T) {
			scratch := t.TempDir()
			path := filepath.Join(folder, b.file)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(text), b.old); n != 1 {
				t.Fatalf("%q is %d times in %s", b.old, n, b.file)
			}
			mistaken, overlay := filepath.Join(scratch, b.file), filepath.Join(scratch, "overlay.json")
			replace, err := json.Marshal(map[string]any{"Replace": map[string]string{path: mistaken}})
			if err != nil {
				t.Fatal(err)
			}
			for name, content := range map[string]string{mistaken: strings.Replace(string(text), b.old, b.new, 1), overlay: string(replace)} {
				if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			program := filepath.Join(scratch, "fleet.test")
			build := exec.Command("go", append(strings.Fields("test -c -vet=off -overlay "+overlay+" -o "+program+" "+testFlags), ".")...)
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			out, err := exec.Command(program, "-test.run", "^TestDrains$", "-test.failfast").CombinedOutput()
			if found := firstCase.FindSubmatch(out); found != nil {
				t.Logf("found in case %s of nodes drained %s", found[1], found[2])
			} else {
				t.Errorf("not found: %v\n%s", err, out)
			}
		})
	}
}
