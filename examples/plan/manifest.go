package main

import (
	"bufio"
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// origin is where an object stands in the input.
type origin struct {
	file string
	// document counts from 1; 0: the file as a whole.
	document int
	// item counts from 1 inside a list; 0: the document is no list.
	item int
}

func (o origin) String() string {
	s := o.file
	if o.document > 0 {
		s += fmt.Sprintf(": document %d", o.document)
	}
	if o.item > 0 {
		s += fmt.Sprintf(", item %d", o.item)
	}
	return s
}

// read adds the objects of one stream of manifests: JSON values one after the other, or
// YAML documents.
func (c *cluster) read(name string, r io.Reader) {
	buffered := bufio.NewReader(r)
	at := origin{file: name}
	if startsJSON(buffered) {
		values := stdjson.NewDecoder(buffered)
		for at.document = 1; ; at.document++ {
			var raw stdjson.RawMessage
			switch err := values.Decode(&raw); {
			case errors.Is(err, io.EOF):
				return
			case err != nil:
				// What follows a broken value cannot be told apart from it.
				c.problem(at, "", "", "not JSON: "+err.Error())
				return
			}
			c.document(at, raw)
		}
	}
	documents := utilyaml.NewYAMLReader(buffered)
	for at.document = 1; ; at.document++ {
		text, err := documents.Read()
		switch {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			c.problem(at, "", "", fileError(err))
			return
		}
		// Strict: of a key that is given twice nobody can say which one counts.
		raw, err := yaml.YAMLToJSONStrict(text)
		if err != nil {
			c.problem(at, "", "", "not YAML: "+oneLine(err.Error()))
			continue
		}
		c.document(at, raw)
	}
}

// startsJSON reports whether the first character that is not white space opens a JSON object.
func startsJSON(r *bufio.Reader) bool {
	for n := 1; ; n++ {
		head, err := r.Peek(n)
		if err != nil {
			return false
		}
		if last := head[n-1]; !strings.ContainsRune(" \t\r\n", rune(last)) {
			return last == '{'
		}
	}
}

// listHead is what the lists of all kinds have.
type listHead struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	} `json:"metadata"`
	Items *[]stdjson.RawMessage `json:"items"`
}

// document adds an object, or the objects of a list.
func (c *cluster) document(at origin, raw []byte) {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" {
		return // only comments
	}
	head, ok := c.head(at, raw)
	if !ok {
		return
	}
	elementKind, isList := strings.CutSuffix(head.Kind, "List")
	if !isList || head.Items == nil {
		c.object(at, head, raw)
		return
	}
	for i, item := range *head.Items {
		at.item = i + 1
		of, ok := c.head(at, item)
		if !ok {
			continue
		}
		// The items of a typed list (PodList) do not repeat their kind.
		if of.Kind == "" && of.APIVersion == "" && elementKind != "" {
			of.TypeMeta = metav1.TypeMeta{APIVersion: head.APIVersion, Kind: elementKind}
		}
		c.object(at, of, item)
	}
}

// head reads what an object says of itself.
func (c *cluster) head(at origin, raw []byte) (head listHead, ok bool) {
	if raw[0] != '{' {
		c.problem(at, "", "", "not a Kubernetes object")
		return head, false
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		field, what := decodeError(err)
		c.problem(at, "", field, what)
		return head, false
	}
	return head, true
}

// object decodes one object into the type that the scheme has for its kind.
func (c *cluster) object(at origin, head listHead, raw []byte) {
	switch {
	case head.Kind == "":
		c.problem(at, "", "kind", "missing")
		return
	case head.APIVersion == "":
		c.problem(at, title(head.Kind, head.Metadata.Namespace, head.Metadata.Name), "apiVersion", "missing")
		return
	}
	gvk := schema.FromAPIVersionAndKind(head.APIVersion, head.Kind)
	empty, err := scheme.New(gvk)
	if err != nil || !c.plans(empty) {
		c.skipped[gvk.GroupVersion().String()+" "+gvk.Kind]++
		return
	}
	into, _, err := decoder.Decode(raw, &gvk, empty)
	if err != nil {
		field, what := decodeError(err)
		c.problem(at, title(head.Kind, head.Metadata.Namespace, head.Metadata.Name), field, what)
		return
	}
	c.add(at, gvk.Kind, into)
}

// decodeError takes the field out of a decoding error, where it has one.
func decodeError(err error) (field, what string) {
	var wrong *stdjson.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return wrong.Field, fmt.Sprintf("is a %s, must be of type %s", wrong.Value, wrong.Type)
	}
	return "", oneLine(err.Error())
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
