package manifests

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The keys of a merged map are defaults: the map's own keys count. A key of its own that is there twice is an error still.
func TestMergeKeys(t *testing.T) {
	const head = "apiVersion: v1\nkind: Node\nmetadata:\n  name: a\n  labels: &m {x: '1', z: '1'}\n"
	const standard = "standard input:1: document 1: not YAML: "
	for _, tc := range []struct {
		name, reason, input string
		want                map[string]string // the annotations
		err                 string
	}{
		{"no key of its own", "all keys are merged", "  annotations:\n    <<: *m\n", map[string]string{"x": "1", "z": "1"}, ""},
		{"overridden", "its own key counts", "  annotations:\n    <<: *m\n    x: '2'\n", map[string]string{"x": "2", "z": "1"}, ""},
		{"in flow style", "the same", "  annotations: {<<: *m, x: '2'}\n", map[string]string{"x": "2", "z": "1"}, ""},
		{"several maps", "of maps with the same key the first counts", "  annotations:\n    <<: [{x: '3'}, *m]\n    z: '2'\n", map[string]string{"x": "3", "z": "2"}, ""},
		{"text that looks like it", "it is no key", "  annotations:\n    <<: *m\n    x: '<<: <-'\n", map[string]string{"x": "<<: <-", "z": "1"}, ""},
		{"a key twice", "nobody can say which one counts", "  annotations:\n    <<: *m\n    x: '2'\n    x: '3'\n", nil,
			standard + `yaml: unmarshal errors: line 9: key "x" already set in map`},
		{"a key twice elsewhere", "the same", "  annotations:\n    <<: *m\n    x: '2'\nkind: Pod\n", nil,
			standard + `yaml: unmarshal errors: line 9: key "kind" already set in map`},
		{"two merge keys", "the same, if their maps have the same keys", "  annotations:\n    <<: *m\n    <<: {x: '2'}\n", nil,
			standard + `yaml: unmarshal errors: line 8: key "<<" already set in map`},
		{"overridden before", "the specification and kubectl differ", "  annotations:\n    x: '2'\n    <<: *m\n", nil,
			standard + `key "x" is before a merge key << that sets it too: must be after it`},
		{"overridden before, several maps", "the same", "  annotations:\n    z: '2'\n    <<: [{x: '3'}, *m]\n", nil,
			standard + `key "z" is before a merge key << that sets it too: must be after it`},
		{"overridden before, merged twice", "the same", "  annotations:\n    z: '2'\n    <<: {<<: *m, x: '2'}\n", nil,
			standard + `key "z" is before a merge key << that sets it too: must be after it`},
	} {
		bothWays(t, tc.name, func(t *testing.T) {
			set, err := of(head + tc.input)
			if tc.err != "" {
				require.EqualError(t, err, tc.err, tc.reason)
				require.False(t, set.Complete)
				return
			}
			require.NoError(t, err, tc.reason)
			require.Equal(t, tc.want, set.Nodes[0].Annotations, tc.reason)
		})
	}
}

// Keys that become one key in JSON are given twice.
func TestKeysThatAreOneInJSON(t *testing.T) {
	_, err := of("apiVersion: v1\nkind: Node\nmetadata:\n  name: a\n  annotations: {1: a, '1': b}\n")
	require.EqualError(t, err, `standard input:1: document 1: not YAML: key "1" already set in map`)
	_, err = of("apiVersion: v1\nkind: Node\nmetadata:\n  name: a\n  annotations: {null: a}\n")
	require.EqualError(t, err, "standard input:1: document 1: not YAML: a key is null: must be a text, a number or a bool")
}
