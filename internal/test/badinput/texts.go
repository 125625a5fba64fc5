package badinput

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/purekube/purekube/manifests"
)

// Text is input that a program reads.
type Text struct{ Name, Text string }

// Texts are malformed, huge, cyclic and hostile input as files: text that is no manifest, and each case of the corpus
// as kubectl would print it.
func Texts(t testing.TB) []Text {
	t.Helper()
	const pod = `{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"shop","name":"db-0"}}`
	texts := []Text{
		{"nothing", ""},
		{"null", "null"},
		{"no manifest", "just: a\nlist: [of, words]\n"},
		{"neither YAML nor JSON", "{{ .Values.x }}\n\x00\xff"},
		{"cut off", `{"apiVersion":"v1","kind":"List","items":[` + pod + `,{"apiVersion":"v1"`},
		{"20,000 levels", strings.Repeat("[", 20_000)},
		{"aliases that multiply",
			"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d " +
				"[*c,*c,*c,*c,*c,*c,*c,*c,*c]\n" +
				"e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]\nh: " +
				"[*g,*g,*g,*g,*g,*g,*g,*g,*g]\n"},
		{"an alias of itself", "apiVersion: v1\nkind: Pod\nmetadata: &m\n  name: x\n  labels: *m\n"},
		{"values of another type", strings.Replace(pod, `"db-0"`, `{"a":[1]}`, 1)},
		{"gzip of nothing", "\x1f\x8b"},
		{"JSON values behind a comment", "# dump\n" + pod + "\n" + pod + "\n"},
		{"text behind an object", "# dump\n" + pod + " }\n"},
		{"UTF-16", "\xff\xfe{\x00}\x00"},
	}
	for _, of := range Cases(t) {
		c := of()
		if c.Name == "empty" {
			continue
		}
		items := []any{}
		for _, kind := range manifests.Kinds() {
			items = append(items,
				map[string]any{"apiVersion": manifests.APIVersion(kind), "kind": kind.Kind + "List", "items": []any{}})
		}
		lists := map[string][]any{}
		for _, o := range c.Set.Objects() {
			kind := manifests.KeyOf(o).Kind
			lists[kind] = append(lists[kind], o)
		}
		for _, item := range items {
			list := item.(map[string]any)
			if found := lists[strings.TrimSuffix(list["kind"].(string), "List")]; found != nil {
				list["items"] = found
			}
		}
		var all strings.Builder
		for _, item := range items {
			text, err := json.Marshal(item)
			if err != nil {
				t.Fatal(c.Name, err)
			}
			all.Write(text)
			all.WriteByte('\n')
		}
		texts = append(texts, Text{c.Name, all.String()})
	}
	return texts
}
