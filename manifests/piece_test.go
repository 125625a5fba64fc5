package manifests

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// bothWays runs a test with documents read as a whole, and again with every document read like a dump of a
// large cluster, item by item.
func bothWays(t *testing.T, name string, test func(t *testing.T)) {
	t.Run(name, test)
	t.Run(name+", item by item", func(t *testing.T) {
		before := wholeDocument
		defer func() { wholeDocument = before }()
		wholeDocument = 0
		test(t)
	})
}

// Lists as tools print them, each with the text that is handed on. Around stands last.
func TestItemsOfALargeDocument(t *testing.T) {
	before := wholeDocument
	defer func() { wholeDocument = before }()
	wholeDocument = 0
	for _, tc := range []struct {
		name, reason, input string
		want                []string
	}{
		{"kubectl", "the items are not indented, and what kind of list it is stands behind them",
			"apiVersion: v1\nitems:\n- a: 1\n  b:\n  - x\n- a: 2\nkind: List\n",
			[]string{"  a: 1\n  b:\n  - x\n", "  a: 2\n", "apiVersion: v1\nitems: []\nkind: List\n"}},
		{"indented", "other tools indent them",
			"kind: List\nitems:\n  - a: 1\n    c: 2\n  - a: 2\n",
			[]string{"    a: 1\n    c: 2\n", "    a: 2\n", "kind: List\nitems: []\n"}},
		{"dash alone", "the item stands on the lines below", "items:\n-\n  a: 1\n", []string{" \n  a: 1\n", "items: []\n"}},
		{"text block", "a line of a text may look like an item, but is indented", "items:\n- a: |\n    items:\n    - no item\n", []string{"  a: |\n    items:\n    - no item\n", "items: []\n"}},
		{"comments and empty lines", "they belong to no item", "items:\n# one\n\n- a: 1\n\n# two\n- a: 2\n", []string{"# one\n\n  a: 1\n\n# two\n", "  a: 2\n", "items: []\n"}},
		{"flow style", "it is no list in block style, so it is read as a whole", "items: [{a: 1}]\nkind: List\n", []string{"items: [{a: 1}]\nkind: List\n"}},
		{"empty", "there is no item", "items: []\nkind: List\n", []string{"items: []\nkind: List\n"}},
		{"null", "there is no item", "items:\nkind: List\n", []string{"items:\nkind: List\n"}},
		{"no list", "a key items deeper down is not the list's", "spec:\n  items:\n  - a\n", []string{"spec:\n  items:\n  - a\n"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			pieces("in", newBounded(strings.NewReader(tc.input), DefaultMaxUnzipped, false), func(p piece) bool {
				got = append(got, string(p.text))
				return true
			})
			require.Equal(t, tc.want, got, tc.reason)
		})
	}
}
