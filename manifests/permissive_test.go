package manifests

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube/internal/test/contract"
)

// TestNeverMorePermissive: input with an object that is null, has no name, is there twice or cannot be read, and input that ends early, is
// never a set that looks like the cluster: Load returns an error, or the set is not complete.
func TestNeverMorePermissive(t *testing.T) {
	type list struct {
		APIVersion string           `json:"apiVersion"`
		Kind       string           `json:"kind"`
		Items      []map[string]any `json:"items"`
	}
	load := func(text string) (*Set, error) { return Load(Options{Stdin: strings.NewReader(text)}, "-") }
	believed := func(text string) bool {
		set, err := load(text)
		return err == nil && set.Complete
	}
	seed := `{"apiVersion":"v1","kind":"List","items":[` + oneNode("a") + `,` + oneNode("b") + `,{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"db"},"spec":{"maxUnavailable":1,"selector":{}}}]}`
	require.True(t, believed(seed))
	whole := 0
	draw := func(*rand.Rand) (d list) {
		require.NoError(t, json.Unmarshal([]byte(seed), &d))
		return d
	}
	contract.Random(t, draw, []string{"", "v1", "Node", "Pod", "db", "a", "policy/v1", "List", "50%"}, func(t *testing.T, d list) {
		text := encoded(t, d)
		if set, err := load(text); err != nil || !set.Complete || len(set.Ignored) > 0 || set.Len() == 0 {
			return // a list of another kind is one object that no package reads
		}
		whole++
		for cut := 1; cut < len(text); cut += 7 {
			require.False(t, believed(text[:cut]), "cut off after %d bytes: %s", cut, text[:cut])
		}
		for i := range d.Items {
			for how, instead := range map[string]any{
				"null": nil, "an empty object": map[string]any{}, "a text": "x", "a list": []any{}, "without a name": with(d.Items[i], "metadata", map[string]any{}),
				"metadata of another type": with(d.Items[i], "metadata", 1), "a field that nobody knows": with(d.Items[i], "sepc", map[string]any{}),
				"without a kind": with(d.Items[i], "kind", nil), "without a version": with(d.Items[i], "apiVersion", nil),
			} {
				items := make([]any, len(d.Items))
				for j := range d.Items {
					items[j] = d.Items[j]
				}
				items[i] = instead
				require.False(t, believed(encoded(t, map[string]any{"apiVersion": d.APIVersion, "kind": d.Kind, "items": items})), "item %d: %s", i, how)
			}
			require.False(t, believed(encoded(t, list{d.APIVersion, d.Kind, append(d.Items[:len(d.Items):len(d.Items)], d.Items[i])})), "item %d twice", i)
		}
	})
	require.NotZero(t, whole)
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}

// with is a copy of an object with another value of one field.
func with(object map[string]any, field string, value any) map[string]any {
	other := maps.Clone(object)
	other[field] = value
	return other
}
