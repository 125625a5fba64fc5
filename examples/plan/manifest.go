package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
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

// decoded is what one object of the input came to: an object that a core plans with, one that none does, or
// a problem.
type decoded struct {
	at     origin
	kind   string
	object apiruntime.Object
	// skipped is the API version and the kind of an object that no core plans with.
	skipped  string
	problems []problem
	// untyped is an item of a list without apiVersion and kind: the list says what it is.
	untyped []byte
	// around is the list that the items before it came from.
	around *listHead
	// isList: this is about a list, and its items are others. Of a list of one kind, which may be empty, list is the kind.
	isList bool
	list   string
	// waits: this is an item, and the list that it is in has not been read to its end.
	waits bool
}

// problem notes what is wrong with the object. Hides is its kind, or anyKind.
func (d *decoded) problem(hides, object, field, what string) {
	d.problems = append(d.problems, problem{origins: []origin{d.at}, object: object, field: field, what: what, hides: hides})
}

// read adds the objects of one stream of manifests: JSON values one after the other or YAML documents,
// compressed with gzip or not. Decoding costs more than all else that the program does, so it is spread over the
// processors; the objects are added in the order in which they stand there.
func (c *cluster) read(name string, r io.Reader) {
	input, err := uncompressed(r, c.maxUnzipped)
	if err != nil {
		c.unread(name, "not gzip: "+err.Error())
		return
	}
	type job struct {
		piece piece
		out   chan []decoded
	}
	workers := runtime.GOMAXPROCS(0)
	jobs := make(chan job, 16*workers)
	inOrder := make(chan chan []decoded, 16*workers)
	for range workers {
		go func() {
			for j := range jobs {
				found := decode(j.piece)
				for i := range found {
					found[i].waits = j.piece.at.item > 0
				}
				j.out <- found
			}
		}()
	}
	var stop atomic.Bool
	go func() {
		pieces(name, input, func(p piece) bool {
			out := make(chan []decoded, 1)
			inOrder <- out
			jobs <- job{p, out}
			return !stop.Load()
		})
		close(jobs)
		close(inOrder)
	}()
	before, problems := c.objects+c.listed, len(c.problems)
	var items []decoded // of the list that is being read
	wrong := 0          // items with an error
	for out := range inOrder {
		if found := <-out; !stop.Load() {
			wrong += c.takeAll(found, &items)
		}
		if len(c.problems)-problems > maxProblems || wrong > maxProblems {
			stop.Store(true)
		}
	}
	for _, d := range items {
		c.take(d) // the input ends inside a list
	}
	switch {
	case stop.Load():
		c.problems = c.problems[:min(len(c.problems), problems+maxProblems)]
		c.unread(name, fmt.Sprintf("more than %d errors: the rest was not read", maxProblems))
	case c.objects+c.listed == before:
		c.unread(name, "no Kubernetes object in it")
	}
}

// takeAll adds what a piece of the input came to. Items wait until it is known what list they are in; the result is how
// many problems they have.
func (c *cluster) takeAll(found []decoded, items *[]decoded) (wrong int) {
	for _, d := range found {
		switch {
		case d.around != nil:
			c.takeList(d, *items)
			*items = nil
		case d.waits:
			*items = append(*items, d)
			wrong += len(d.problems)
		default:
			c.take(d)
		}
	}
	return wrong
}

// uncompressed looks at the first bytes: names say nothing about standard input.
func uncompressed(r io.Reader, maxUnzipped int64) (*bounded, error) {
	buffered := bufio.NewReader(r)
	if head, _ := buffered.Peek(2); !bytes.Equal(head, []byte{0x1f, 0x8b}) {
		return newBounded(buffered, -1), nil
	}
	unzipped, err := gzip.NewReader(buffered)
	return newBounded(unzipped, maxUnzipped), err
}

// take adds one object.
func (c *cluster) take(d decoded) {
	c.problems = append(c.problems, d.problems...)
	if d.list != "" {
		c.lists[d.list] = true
		c.listed++
	}
	if d.isList {
		return
	}
	c.objects++
	c.progress.count(c.objects)
	switch {
	case d.skipped != "":
		c.skipped[d.skipped]++
	case d.object != nil:
		c.add(d.at, d.kind, d.object)
	}
}

// takeList adds the items of a list that were read one by one.
func (c *cluster) takeList(list decoded, items []decoded) {
	if !list.isList {
		if len(list.problems) == 0 {
			list = decodeObject(list.at, list.around.TypeMeta, list.around.raw)
		}
		c.take(list)
		return
	}
	c.take(list)
	kind := strings.TrimSuffix(list.around.Kind, "List")
	for _, d := range items {
		if d.untyped != nil {
			d = decodeObject(d.at, metav1.TypeMeta{APIVersion: list.around.APIVersion, Kind: kind}, d.untyped)
		}
		c.take(d)
	}
}

// listHead is what the lists of all kinds have.
type listHead struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
		// Continue is where the rest of a list begins.
		Continue string `json:"continue"`
	} `json:"metadata"`
	Items *[]stdjson.RawMessage `json:"items"`
	// raw is the object.
	raw []byte
}

// decode makes objects of a piece of the input: one, or those of a list.
func decode(p piece) []decoded {
	d := decoded{at: p.at}
	if p.err != nil {
		d.problem(anyKind, "", "", p.err.Error())
		d.problems[0].unread = true
		return []decoded{d}
	}
	raw, err := p.asJSON()
	if err != nil {
		d.problem(anyKind, "", "", err.Error())
		return []decoded{d}
	}
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" {
		return nil // only comments
	}
	head, field, what := headOf(raw)
	switch {
	case what != "":
		d.problem(anyKind, "", field, what)
		if p.around {
			d.around = &listHead{}
		}
		return []decoded{d}
	case p.around:
		d.around = &head
		d.aboutList(head, p.cut)
		return []decoded{d}
	case p.at.item > 0 && head.Kind == "" && head.APIVersion == "":
		d.untyped = raw
		return []decoded{d}
	}
	elementKind, isList := strings.CutSuffix(head.Kind, "List")
	if d.aboutList(head, p.cut); !isList || head.Items == nil && d.list == "" {
		return []decoded{decodeObject(p.at, head.TypeMeta, raw)}
	}
	all := []decoded{d}
	if head.Items == nil {
		return all
	}
	for i, item := range *head.Items {
		d := decoded{at: p.at}
		d.at.item = i + 1
		of, field, what := headOf(item)
		switch {
		case what != "":
			d.problem(anyKind, "", field, what)
		case of.Kind == "" && of.APIVersion == "" && elementKind != "":
			// The items of a typed list (PodList) do not repeat their kind.
			d = decodeObject(d.at, metav1.TypeMeta{APIVersion: head.APIVersion, Kind: elementKind}, item)
		default:
			d = decodeObject(d.at, of.TypeMeta, item)
		}
		all = append(all, d)
	}
	return all
}

// aboutList notes what a list says beside its items: of which kind they all are, and whether it ends as it should.
func (d *decoded) aboutList(head listHead, cut bool) {
	kind, isList := strings.CutSuffix(head.Kind, "List")
	d.isList = isList
	if empty, err := scheme.New(schema.FromAPIVersionAndKind(head.APIVersion, kind)); isList && err == nil && plans(empty) {
		d.list = kind
	}
	if isList && cut {
		d.problem(anyKind, head.Kind, "", "the last line of the list has no end: it may be cut off")
	}
	if isList && head.Metadata.Continue != "" {
		d.problem(anyKind, head.Kind, "metadata.continue", "the list is not complete: the API server has more items")
	}
}

// headOf reads what an object says of itself. what is not empty if it says nothing.
func headOf(raw []byte) (head listHead, field, what string) {
	if raw[0] != '{' {
		return head, "", "not a Kubernetes object"
	}
	head.raw = raw
	if err := json.Unmarshal(raw, &head); err != nil {
		field, what = decodeError(err)
	}
	return head, field, what
}

// decodeObject decodes one object into the type that the scheme has for its kind.
func decodeObject(at origin, is metav1.TypeMeta, raw []byte) decoded {
	d := decoded{at: at}
	name := func() string {
		head, _, _ := headOf(raw)
		return title(is.Kind, head.Metadata.Namespace, head.Metadata.Name)
	}
	switch {
	case is.Kind == "":
		d.problem(anyKind, "", "kind", "missing")
		return d
	case is.APIVersion == "":
		d.problem(is.Kind, name(), "apiVersion", "missing")
		return d
	}
	gvk := schema.FromAPIVersionAndKind(is.APIVersion, is.Kind)
	empty, err := scheme.New(gvk)
	if err != nil || !plans(empty) {
		if planned, ok := plannedVersion(gvk.GroupKind()); ok {
			d.problem(gvk.Kind, name(), "apiVersion", fmt.Sprintf("is %s: only %s is planned with, which every supported API server serves", gvk.GroupVersion(), planned))
			return d
		}
		if kind := misspelt(gvk); kind != "" {
			d.problem(kind, name(), "kind", "is "+gvk.Kind+": must be "+kind)
			return d
		}
		d.skipped = gvk.GroupVersion().String() + " " + gvk.Kind
		return d
	}
	object, _, err := decoder.Decode(raw, &gvk, empty)
	strict, unknownFields := apiruntime.AsStrictDecodingError(err)
	switch {
	case unknownFields:
		// What is known of it is planned with all the same.
		for _, e := range strict.Errors() {
			field, what := strictError(e)
			d.problem(gvk.Kind, name(), field, what)
		}
	case err != nil:
		field, what := decodeError(err)
		d.problem(gvk.Kind, name(), field, what)
		return d
	}
	d.kind, d.object = gvk.Kind, object
	return d
}

// plannedVersion is the version of a kind that cores plan with.
func plannedVersion(of schema.GroupKind) (schema.GroupVersion, bool) {
	for _, gv := range scheme.PreferredVersionAllGroups() {
		// ReplicaSets and Deployments were in extensions once.
		if gv.Group != of.Group && !(of.Group == "extensions" && gv.Group == "apps") {
			continue
		}
		if empty, err := scheme.New(gv.WithKind(of.Kind)); err == nil && plans(empty) {
			return gv, true
		}
	}
	return schema.GroupVersion{}, false
}

// misspelt is the kind that a core plans with and that differs from this one in nothing but upper case or a plural.
func misspelt(gvk schema.GroupVersionKind) string {
	for _, core := range cores {
		for _, kind := range core.reads {
			if scheme.Recognizes(gvk.GroupVersion().WithKind(kind)) && (strings.EqualFold(gvk.Kind, kind) || strings.EqualFold(gvk.Kind, kind+"s")) {
				return kind
			}
		}
	}
	return ""
}

// strictError takes the field out of an error of strict decoding: `unknown field "spec.x"`.
func strictError(err error) (field, what string) {
	text := oneLine(err.Error())
	what, quoted, ok := strings.Cut(text, " field ")
	if !ok {
		return "", text
	}
	return strings.Trim(quoted, `"`), what + " field"
}

// eitherForm are the fields that are a number or a percentage.
var eitherForm = []string{"spec.minAvailable", "spec.maxUnavailable"}

const orPercentage = `, or a percentage such as "30%"`

// decodeError takes the field out of a decoding error, where it has one.
func decodeError(err error) (field, what string) {
	var wrong *stdjson.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return "", oneLine(err.Error())
	}
	article := "a"
	if strings.HasPrefix(wrong.Value, "array") || strings.HasPrefix(wrong.Value, "object") {
		article = "an"
	}
	must := fmt.Sprintf("must be of type %s", wrong.Type)
	switch {
	case wrong.Field == "items":
		must = "must be a list"
	case slices.Contains(eitherForm, wrong.Field):
		must += orPercentage
	case wrong.Value == "bool" && wrong.Type.Kind() == reflect.String:
		must += ", so put it in quotes: YAML reads y, n, yes, no, on, off, true and false as bool"
	case strings.HasPrefix(wrong.Value, "number") && wrong.Type.Kind() == reflect.String:
		must += ", so put it in quotes"
	}
	return wrong.Field, fmt.Sprintf("is %s %s, %s", article, wrong.Value, must)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
