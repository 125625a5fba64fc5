package main

import (
	"bytes"
	stdjson "encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// Each text is read back as it was, and hides nothing in the output.
func TestTextsInYAML(t *testing.T) {
	for _, text := range []string{
		"", " ", "web-0", "Straße 東京", "n", "yes", "null", "~", "1", "1_000", "0x1f", "1e3", "12:30", "2026-11-30", "a: b", "- a", "# a", "&a", "*a", "!a", "%a", "@a", "`a", "|", ">", "a\tb",
		hostile[:1] + "##vso[task.x]", "a##vso[task.x]y", "a##[error]", "##[group]", "::error::a", "a\n::error::b", "a\u202eb", "\u202e", "a\u200bb", "\ufeff", "\U000e0041", "😀",
		`\u202e`, `a\`, `"`, "'", "a\r\n b\n", strings.Repeat("a long text ", 30) + "##vso[task.x]",
	} {
		for _, value := range []any{text, []any{text}, map[string]any{"key": text}, map[string]any{text: "value"}} {
			json, err := stdjson.Marshal(value)
			require.NoError(t, err)
			var out bytes.Buffer
			require.NoError(t, writeYAML(&out, json))
			for line := range strings.Lines(out.String()) {
				line = strings.TrimSuffix(line, "\n")
				require.Equal(t, visibleLine(visible(line)), line, "%q", text)
			}
			back, err := yaml.YAMLToJSON(out.Bytes())
			require.NoError(t, err, "%q: %s", text, out.String())
			require.JSONEq(t, string(json), string(back), "%q: %s", text, out.String())
		}
	}
}
