package manifests

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// zippedTimes is text so many times, zipped: a small file.
func zippedTimes(t *testing.T, begin, text string, times int) string {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	require.NoError(t, err)
	_, err = io.WriteString(w, begin)
	require.NoError(t, err)
	for range times {
		_, err := io.WriteString(w, text)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.String()
}

// A small file does not become gigabytes: neither as one object, nor as many, nor as many errors, nor by aliases.
func TestInputIsBounded(t *testing.T) {
	const MiB = 1 << 20
	const tooMuch = "more than 1 MiB when unzipped, objects below 2 KiB counted as that much"
	line := strings.Repeat(" ", 1023) + "\n"
	aliases := "a: &a \"" + strings.Repeat("x", 1<<15) + "\"\nb: [" + strings.Repeat("*a,", 600) + "]\n"
	nested := "a0: &a0 [\"" + strings.Repeat("x", 1000) + "\"]\n"
	for i := range 5 {
		nested += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d,", i), 9))
	}
	for _, tc := range []struct{ name, reason, input, want string }{
		{"gzip of nothing", "white space is read as well", zippedTimes(t, "", line, 2048), "document 1: " + tooMuch},
		{"gzip of a list", "the items are kept", zippedTimes(t, `{"kind":"List","items":[`, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}},`, 600), "document 1: not JSON: " + tooMuch},
		{"gzip of documents", "each is an object", zippedTimes(t, "", "kind: ConfigMap\napiVersion: v1\n---\n", 6000), tooMuch},
		{"items of a list", "each takes memory until the kind of the list is known", `{"items":[` + strings.Repeat("{},", 60_000) + `{}],"kind":"ConfigMapList"}`, "document 1: not JSON: more small objects than fit into 1 MiB when each counts 2 KiB"},
		{"one JSON object", "a value is read as a whole", `{"kind":"` + strings.Repeat("x", 17*MiB) + `"}`, "not JSON: an object of more than 16 MiB"},
		{"one YAML line", "so is a line", "a: " + strings.Repeat("x", 17*MiB), "an object of more than 16 MiB"},
		{"one item of a list", "so is an item", `{"items":[{"kind":"` + strings.Repeat("x", 17*MiB) + `"}]}`, "not JSON: an object of more than 16 MiB"},
		{"what stands around the items", "it is read as a whole", "a:\n" + strings.Repeat("- "+strings.Repeat("x", 1000)+"\n", 17*1024), "an object of more than 16 MiB"},
		{"errors", "each is a line", "[" + strings.Repeat("\n---\n[", 1100), "more than 1000 errors: the rest was not read"},
		{"errors in a list", "the same", `{"kind":"List","apiVersion":"v1","items":[` + strings.Repeat("1,", 3000) + `1]}`, "more than 1000 errors: the rest was not read"},
		{"aliases", "600 of 32 KiB", aliases, "document 1: not YAML: with its aliases replaced, it is larger than 16 MiB"},
		{"aliases of aliases", "9⁵ of 1 KB", nested, "document 1: not YAML: with its aliases replaced, it is larger than 16 MiB"},
		{"an anchor in itself", "it has no end", "a: &a [*a]\n", "document 1: not YAML: "},
		{"depth in JSON", "each level is a call", strings.Repeat(`{"a":`, 20000), "document 1: not JSON: "},
		{"depth in YAML", "the same", strings.Repeat("[", 20000), "document 1: not YAML: "},
	} {
		bothWays(t, tc.name, func(t *testing.T) {
			max := int64(MiB)
			if strings.HasPrefix(tc.name, "errors") {
				max = 0 // errors are small, and more than one MiB of small ones are not read
			}
			set, err := Load(Options{Stdin: strings.NewReader(tc.input), MaxUnzipped: max}, "-")
			require.ErrorContains(t, err, tc.want, tc.reason)
			require.False(t, set.Complete)
			require.LessOrEqual(t, len(Errors(err)), maxErrors+1)
		})
	}
}

// What people write is not beyond a bound: a dump of 2 MiB, an alias, an object of 5 MiB, more than the default allows.
func TestBoundsLeaveRoom(t *testing.T) {
	node := `{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"}}`
	for _, tc := range []struct {
		name, reason, input string
		max                 int64
	}{
		{"an alias", "of a name", "apiVersion: v1\nkind: Node\nmetadata: {name: &a a, labels: {x: *a}}\n", 0},
		{"a large object", "5 MiB", strings.Replace(node, `"name":"a"`, `"name":"a","annotations":{"x":"`+strings.Repeat("x", 5<<20)+`"}`, 1), 0},
		{"text with stars and ampersands", "no aliases", "apiVersion: v1\nkind: Node\nmetadata:\n  name: a\n  annotations:\n    x: |\n      a *b* & &c\n", 0},
		{"told to allow more", "3 MiB", zippedTimes(t, node, strings.Repeat(" ", 1024), 2048), 3 << 20},
		{"not zipped", "the bound is for gzip", node + strings.Repeat(" ", 3<<20), 1 << 20},
	} {
		bothWays(t, tc.name, func(t *testing.T) {
			set, err := Load(Options{Stdin: strings.NewReader(tc.input), MaxUnzipped: tc.max}, "-")
			require.NoError(t, err, tc.reason)
			require.Len(t, set.Nodes, 1)
			require.True(t, set.Complete)
		})
	}
}

// BenchmarkSmallItems reports the memory that the loader takes for a list of empty objects, the most for its size.
func BenchmarkSmallItems(b *testing.B) {
	for _, items := range []int{10_000, 40_000, 160_000, 640_000} {
		text := `{"items":[` + strings.Repeat("{},", items-1) + `{}],"kind":"ConfigMapList","apiVersion":"v1"}`
		b.Run(fmt.Sprint("items=", items), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = Load(Options{Stdin: strings.NewReader(text)}, "-")
			}
		})
	}
}
