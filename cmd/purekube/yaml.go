package main

import (
	"bytes"
	stdjson "encoding/json"
	"io"
	"maps"
	"slices"
	"strconv"

	yamlv2 "sigs.k8s.io/yaml/goyaml.v2"
	yamlv3 "sigs.k8s.io/yaml/goyaml.v3"
)

// writeYAML writes JSON as YAML, with sorted keys. Texts that hide something, or are longer than a line, are in quotes
// and on one line: there, the escapes of [visible] are YAML's, too.
func writeYAML(w io.Writer, json []byte) error {
	var value any
	decoder := stdjson.NewDecoder(bytes.NewReader(json))
	decoder.UseNumber() // a number stays as it is written
	if err := decoder.Decode(&value); err != nil {
		return err
	}
	encoder := yamlv3.NewEncoder(&visibleWriter{w: w})
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	return encoder.Encode(yamlOf(value))
}

func yamlOf(value any) *yamlv3.Node {
	n := &yamlv3.Node{Kind: yamlv3.ScalarNode, Tag: "!!null", Value: "null"}
	switch v := value.(type) {
	case map[string]any:
		n = &yamlv3.Node{Kind: yamlv3.MappingNode}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			n.Content = append(n.Content, yamlOf(key), yamlOf(v[key]))
		}
	case []any:
		n = &yamlv3.Node{Kind: yamlv3.SequenceNode}
		for _, item := range v {
			n.Content = append(n.Content, yamlOf(item))
		}
	case string:
		n.Tag, n.Value = "!!str", v
		// What a reader of YAML 1.1 takes for a bool or a number has quotes, too: n, 1_000, 12:30.
		if plain, err := yamlv2.Marshal(v); err != nil || string(plain) != v+"\n" || visibleLine(visible(v)) != v {
			n.Style = yamlv3.DoubleQuotedStyle
		}
	case stdjson.Number:
		n.Tag, n.Value = "!!float", v.String()
		if _, err := v.Int64(); err == nil {
			n.Tag = "!!int"
		}
	case bool:
		n.Tag, n.Value = "!!bool", strconv.FormatBool(v)
	}
	return n
}
