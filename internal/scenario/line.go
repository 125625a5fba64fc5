package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Line is one line of an answer: a request, an event, an error and so on. The head is a text such as "update
// poddisruptionbudgets/status default/web".
type Line struct {
	Head string
	// Fields are all fields of a line that was seen. Of a line that is wanted they are the fields that matter.
	Fields map[string]any
}

// String is the line as YAML in one line.
func (l Line) String() string {
	if len(l.Fields) == 0 {
		return l.Head
	}
	return l.Head + ": " + Flow(l.Fields)
}

// Verb is the first word of the head.
func (l Line) Verb() string { verb, _, _ := strings.Cut(l.Head, " "); return verb }

// Object is what lines about one object have in common: the head without verb and subresource.
func (l Line) Object() string {
	words := strings.Split(l.Head, " ")
	if words[0] == "event" || len(words) < 3 {
		return l.Head
	}
	resource, _, _ := strings.Cut(words[1], "/")
	return resource + " " + words[2]
}

const repeatKey = "repeat"

func parseLines(path string, list []any) (lines []Line, err error) {
	for i, item := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		if text, ok := item.(string); ok {
			lines = append(lines, Line{Head: text})
			continue
		}
		object, ok := item.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s: want a text, or a text with fields", at)
		}
		copies, err := copies(object)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		for _, c := range copies {
			if len(c) != 1 {
				return nil, fmt.Errorf("%s: has %d texts, want 1", at, len(c))
			}
			for head, fields := range c {
				l := Line{Head: head}
				if l.Fields, ok = fields.(map[string]any); !ok && fields != nil {
					return nil, fmt.Errorf("%s.%s: want fields", at, head)
				}
				lines = append(lines, l)
			}
		}
	}
	for i, l := range lines {
		if !slices.Contains(verbs, l.Verb()) {
			return nil, fmt.Errorf("%s[%d]: %q begins with none of %s", path, i, l.Head, strings.Join(verbs, ", "))
		}
	}
	return lines, nil
}

var verbs = []string{"get", "create", "update", "apply", "delete", "event", "error", "recheck", "evict", "drain",
	"wave", "blocked", "preempt", "cache", "panic"}

// copies are the object without its key repeat, so many times, with numbers for $i.
func copies(object map[string]any) ([]map[string]any, error) {
	n, repeated := object[repeatKey]
	if !repeated {
		return []map[string]any{object}, nil
	}
	number, ok := n.(float64)
	if !ok || number < 1 || number > 10000 || number != float64(int(number)) {
		return nil, fmt.Errorf("repeat: is %v, want a number from 1 to 10000", n)
	}
	rest := maps.Clone(object)
	delete(rest, repeatKey)
	list := make([]map[string]any, int(number))
	for i := range list {
		list[i] = numbered(rest, strconv.Itoa(i)).(map[string]any)
	}
	return list, nil
}

// numbered is a copy of the value with the number for each $i.
func numbered(value any, number string) any {
	switch v := value.(type) {
	case string:
		return strings.ReplaceAll(v, "$i", number)
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = numbered(v[i], number)
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for k := range v {
			object[strings.ReplaceAll(k, "$i", number)] = numbered(v[k], number)
		}
		return object
	}
	return value
}

// Diff says how lines differ from what is wanted; empty: they do not.
func Diff(want, got []Line) string {
	var b strings.Builder
	wanted, seen := byObject(want), byObject(got)
	for _, object := range slices.Sorted(maps.Keys(union(wanted, seen))) {
		w, g := wanted[object], seen[object]
		for i := range max(len(w), len(g)) {
			switch {
			case i >= len(g):
				fmt.Fprintf(&b, "missing:    %s\n", w[i])
			case i >= len(w):
				fmt.Fprintf(&b, "unexpected: %s\n", g[i])
			case w[i].Head != g[i].Head:
				fmt.Fprintf(&b, "missing:    %s\nunexpected: %s\n", w[i], g[i])
			default:
				if what := mismatch("", w[i].Fields, g[i].Fields); what != "" {
					fmt.Fprintf(&b, "%s: %s\n", w[i].Head, what)
				}
			}
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func byObject(lines []Line) map[string][]Line {
	of := map[string][]Line{}
	for _, l := range lines {
		of[l.Object()] = append(of[l.Object()], l)
	}
	return of
}

func union(a, b map[string][]Line) map[string][]Line {
	both := maps.Clone(a)
	maps.Copy(both, b)
	return both
}

// mergedBy are the lists that the API server keeps as maps, by their key: the order of their elements means nothing.
var mergedBy = map[string]string{
	"conditions": "type", "reservedFor": "uid", "resourceClaimStatuses": "name", "ownerReferences": "uid",
}

// Sorted are the fields with the lists whose order means nothing in one order.
func Sorted(fields map[string]any) map[string]any {
	sorted := maps.Clone(fields)
	for name, value := range sorted {
		switch v := value.(type) {
		case map[string]any:
			sorted[name] = Sorted(v)
		case []any:
			if _, anyOrder := mergedBy[name]; anyOrder {
				sorted[name] = slices.SortedFunc(slices.Values(v), func(a, b any) int { return strings.Compare(Flow(a), Flow(b)) })
			}
		}
	}
	return sorted
}

// mismatch says where the value does not have what is wanted; empty: it does.
func mismatch(path string, want, got any) string {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok && got != nil {
			return is(path, want, got)
		}
		for _, key := range slices.Sorted(maps.Keys(w)) {
			if what := mismatch(strings.TrimPrefix(path+"."+key, "."), w[key], g[key]); what != "" {
				return what
			}
		}
		return ""
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return is(path, want, got)
		}
		name := path[strings.LastIndex(path, ".")+1:]
		if _, anyOrder := mergedBy[name]; anyOrder {
			return mismatchSet(path, w, g)
		}
		for i := range w {
			if what := mismatch(fmt.Sprintf("%s[%d]", path, i), w[i], g[i]); what != "" {
				return what
			}
		}
		return ""
	}
	if want != got {
		return is(path, want, got)
	}
	return ""
}

// mismatchSet is mismatch for lists whose order means nothing.
func mismatchSet(path string, want, got []any) string {
	rest := slices.Clone(got)
	for _, w := range want {
		at := slices.IndexFunc(rest, func(g any) bool { return mismatch(path, w, g) == "" })
		if at < 0 {
			return is(path, want, got)
		}
		rest = slices.Delete(rest, at, at+1)
	}
	return ""
}

func is(path string, want, got any) string {
	if got == nil {
		return fmt.Sprintf("%s: is missing, want %s", path, Flow(want))
	}
	if want == nil {
		return fmt.Sprintf("%s: is %s, want none", path, Flow(got))
	}
	return fmt.Sprintf("%s: is %s, want %s", path, Flow(got), Flow(want))
}

// Flow is the value as YAML in one line.
func Flow(value any) string {
	switch v := value.(type) {
	case map[string]any:
		var parts []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, scalar(key)+": "+Flow(v[key]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		var parts []string
		for i := range v {
			parts = append(parts, Flow(v[i]))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case string:
		return scalar(v)
	}
	text, err := encode(value)
	if err != nil {
		return err.Error()
	}
	return text
}

// scalar is a text in YAML, in quotes unless it is a plain word.
func scalar(text string) string {
	plain := text != "" && strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./") == ""
	letter := plain && (text[0] >= 'a' && text[0] <= 'z' || text[0] >= 'A' && text[0] <= 'Z')
	if letter &&
		!slices.Contains([]string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}, strings.ToLower(text)) {
		return text
	}
	quoted, err := encode(text)
	if err != nil {
		return err.Error()
	}
	return quoted
}

func encode(value any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return strings.TrimSuffix(b.String(), "\n"), err
}
