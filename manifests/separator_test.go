package manifests

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// nodesOf are the names of the nodes.
func nodesOf(set *Set) []string {
	var names []string
	for _, n := range set.Nodes {
		names = append(names, n.Name)
	}
	return names
}

// Two objects in one file are both read, however they are separated.
func TestDocumentsAreSeparated(t *testing.T) {
	a, b := named(nodeWithout, "a"), named(nodeWithout, "b")
	const mark = "\ufeff"
	for _, tc := range []struct {
		name, reason, input string
		document, line      int // of b
	}{
		{"a tab and a comment behind the dashes", "white space of any kind is allowed there", a + "---\t# second\n" + b, 2, 6},
		{"a comment behind the dashes", "kubectl takes it without a space", a + "---# second\n" + b, 2, 6},
		{"an object behind the dashes and a tab", "it is content", a + "---\t" + oneNode("b") + "\n", 2, 5},
		{"an object behind the dashes of the last line", "the line has no end", a + "--- " + oneNode("b"), 2, 5},
		{"dots", "they end a document", a + "...\n" + b, 2, 6},
		{"dots and a comment", "the same", a + "... # end\n" + b, 2, 6},
		{"dots and dashes", "between them there is no document", a + "...\n# between\n---\n" + b, 2, 8},
		{"a byte order mark", "it is no part of the text", mark + a + "---\n" + b, 2, 6},
		{"a byte order mark before JSON", "the values are JSON all the same", mark + oneNode("a") + "\n" + oneNode("b"), 2, 2},
		{"files with marks, joined", "each begins with one", mark + a + mark + "---\n" + b, 2, 6},
		{"documents with marks, joined", "the second one begins with a mark", mark + a + "---\n" + mark + b, 2, 6},
	} {
		bothWays(t, tc.name, func(t *testing.T) {
			set, err := of(tc.input)
			require.NoError(t, err, tc.reason)
			require.True(t, set.Complete)
			require.Equal(t, []string{"a", "b"}, nodesOf(set), tc.reason)
			at := set.Refs(KeyOf(set.Nodes[1]))[0]
			require.Equal(t, []int{tc.document, tc.line}, []int{at.Document, at.Line})
		})
	}
}

// What stands behind the end of a document, and nothing separates from it, is an error and never left out.
func TestNothingBehindADocumentIsLeftOut(t *testing.T) {
	a, b := oneNode("a"), oneNode("b")
	const goesOn = "standard input:%: not YAML: text after the end of the document: put a line --- between two documents"
	for _, tc := range []struct{ name, reason, input, place string }{
		{"a comment and JSON values", "a comment makes YAML of the file", "# dump\n" + a + "\n" + b + "\n", "2: document 1"},
		{"a comment and JSON lists", "the second one may have the budgets", "# dump\n" + list(a) + "\n" + list(b) + "\n", "2: document 1"},
		{"dashes and JSON values", "the same", "---\n" + a + "\n" + b, "2: document 2"},
		{"text behind an object", "it may be the rest of another one", "# dump\n" + a + " garbage\n", "2: document 1"},
		{"a bracket behind an object", "the same", "# dump\n" + a + "\n}\n", "2: document 1"},
		{"dashes that are indented", "they separate nothing", "# dump\n" + a + "\n ---\n" + b, "2: document 1"},
		{"lines that end in CR", "dashes between them are no line", strings.ReplaceAll(named(nodeWithout, "a")+"---\n"+named(nodeWithout, "b"), "\n", "\r"), "1: document 1"},
		{"keys that are indented less", "the map ends before them", "  apiVersion: v1\n  kind: Node\n  metadata: {name: a}\nspec: {unschedulable: true}\n", "1: document 1"},
		{"more than a comment behind dots", "the dots do not end the line", named(nodeWithout, "a") + "... kind: Node\n", "1: document 1"},
	} {
		bothWays(t, tc.name, func(t *testing.T) {
			set, err := of(tc.input)
			require.EqualError(t, err, strings.Replace(goesOn, "%", tc.place, 1), tc.reason)
			require.False(t, set.Complete)
			require.True(t, set.Hides(PodDisruptionBudget))
		})
	}
}

func list(items ...string) string {
	return `{"apiVersion":"v1","kind":"List","items":[` + strings.Join(items, ",") + `]}`
}

// UTF-16 has no separators that could be found.
func TestUTF16IsNotRead(t *testing.T) {
	for name, mark := range map[string]string{"little endian": "\xff\xfe", "big endian": "\xfe\xff"} {
		set, err := of(mark + "k\x00i\x00n\x00d\x00")
		require.EqualError(t, err, "standard input: is UTF-16: must be UTF-8, which PowerShell writes with Out-File -Encoding utf8", name)
		require.False(t, set.Complete)
	}
}
