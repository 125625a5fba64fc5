package manifests

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/purekube/purekube"
)

// Options say what Load reads from, and how much. The zero value is right for files that you trust.
type Options struct {
	// Stdin is what the path "-" reads. Nil: the standard input of the process.
	Stdin io.Reader
	// Files are what the other paths are in. Nil: the files of the machine.
	Files fs.FS
	// Namespace is given to an object that names none and whose kind has one, as kubectl does. Empty: "default".
	Namespace string
	// None are kinds of which the input has all objects: they are added to [Set.Seen].
	None []schema.GroupKind
	// MaxUnzipped is how many bytes a gzip file may hold; objects below 2 KiB count as 2 KiB. 0: [DefaultMaxUnzipped].
	// Input that is not zipped may have any size. But each of its objects below 2 KiB counts with the bytes that it is
	// short of 2 KiB, and these may not add up to more.
	MaxUnzipped int64
	// Transform is given each object before the set has it, by several goroutines at once. It may take out of the object
	// what you do not need: a dump of a large cluster needs much memory. Nil: objects stay whole.
	Transform func(Object)
	// Progress is called after each 1,024 objects with the number read so far. Nil: it is not called.
	Progress func(objects int)
}

// standardInput is the name of the path "-" in errors.
const standardInput = "standard input"

// Load reads the objects of the paths, in this order: a file, a directory with all directories in it, or "-".
//
//   - A file is one or more YAML documents, or JSON values one after the other, compressed with gzip or not. Its name
//     does not matter. Lists (v1.List, PodList) are read as their items.
//   - In a directory, files that end in .yaml, .yml or .json count, and these with .gz. Names that begin with a dot do
//     not. A link to a directory is an error: name the directory, or it is left out.
//   - An object without a namespace gets the namespace of the options.
//   - autoscaling/v1 HorizontalPodAutoscalers are read as v2. Their metrics are left out.
//
// The set is what could be read, and never nil. The error joins what is wrong: see [Errors]. These are errors:
//
//   - a file or directory that cannot be read, or has no object in it, and a call without paths;
//   - text that is not YAML or JSON in UTF-8, is cut off, or is no Kubernetes object: without apiVersion, kind or
//     metadata.name;
//   - text behind the end of a YAML document that neither --- nor ... separates from it;
//   - a field that does not exist or has the wrong type, and a key that is given twice. A key that overrides the key of
//     a YAML merge (<<) does not count as given twice, but must come after the merge. In an object that an API server
//     returned, with metadata.uid and metadata.resourceVersion, a field that does not exist is a note ([Set.Notes]),
//     unless a decision reads it as part of a whole: the spec of a PodDisruptionBudget, ServiceCIDR, ResourceClaim or
//     ResourceClaimTemplate, the aggregationRule and the rules of a ClusterRole, and what a pod with claims has in its
//     spec;
//   - an API version of a known kind that no supported release serves, a known kind in another built-in API group, a
//     kind that is misspelt, and a kind that a built-in API version does not have, unless an API server returned it;
//   - a list without items, which may be empty, and one with other keys beside them;
//   - a Status with which an API server refused a request: nobody knows what the answer would have been;
//   - the same object in two places ([ErrDuplicate]; the set has both);
//   - a list that the API server has more items of (metadata.continue), and a list in a list.
//
// Input that nobody wrote by hand is bounded: an object has at most 16 MiB, with its YAML aliases replaced, and 10,000
// levels; a gzip file is as large, and small objects are as many, as the options allow; after 1,000 errors the rest of
// a file is not read.
//
// A list is read item by item, so a dump of a cluster costs the memory of its objects. JSON is read about twice as fast
// as YAML.
func Load(o Options, paths ...string) (*Set, error) {
	l := loader{o: o, set: &Set{Complete: true}}
	if len(paths) == 0 {
		l.unread("", "no file to read")
	}
	for _, path := range paths {
		switch {
		case path != "-":
			l.readFiles(path)
		case o.Stdin == nil:
			l.read(standardInput, os.Stdin)
		default:
			l.read(standardInput, o.Stdin)
		}
	}
	for _, kind := range o.None {
		l.set.see(kind)
	}
	l.noteScales()
	errs := make([]error, len(l.errs))
	for i, e := range l.errs {
		if errors.Is(e, ErrDuplicate) { // in how many places is known only now
			e.Refs = l.set.Refs(e.Refs[0].key())
		}
		errs[i] = e
	}
	return l.set, errors.Join(errs...)
}

// loader reads files into a set.
type loader struct {
	o    Options
	set  *Set
	errs []*Error
	// objects and lists count what was read.
	objects, lists int
	// names has each API version and kind of ignored objects once.
	names map[string]string
	// notes has the position of each note in Set.Notes.
	notes map[sameNote]int
}

// fail adds an error.
func (l *loader) fail(e *Error) {
	for i, r := range e.Refs {
		if r.Name != "" && r.Namespace == "" && versionOf[r.Kind] != (schema.GroupVersion{}) && Namespaced(r.GroupKind()) {
			e.Refs[i].Namespace = l.namespace()
		}
	}
	l.errs = append(l.errs, e)
	l.set.Complete = l.set.Complete && !e.EndsEarly
	if e.hides == nil {
		return
	}
	if l.set.Unreadable == nil {
		l.set.Unreadable = map[schema.GroupKind]int{}
	}
	l.set.Unreadable[*e.hides]++
	if l.set.unreadableIn == nil {
		l.set.unreadableIn = map[schema.GroupKind]map[string]bool{}
	}
	if l.set.unreadableIn[*e.hides] == nil {
		l.set.unreadableIn[*e.hides] = map[string]bool{}
	}
	if len(e.Refs) == 0 {
		l.set.unreadableIn[*e.hides][""] = true
	}
	for _, r := range e.Refs {
		l.set.unreadableIn[*e.hides][r.Namespace] = true
	}
	l.set.Complete = l.set.Complete && !e.hides.Empty()
}

// unread adds the error that a file was not read, or not to its end.
func (l *loader) unread(file, what string) {
	e := &Error{Err: errors.New(what), EndsEarly: true}
	if file != "" {
		e.Refs = []Ref{{File: file}}
	}
	l.fail(e)
}

// read adds the objects of one stream. Decoding costs more than all else, so it is spread over the processors;
// the objects are added in the order of the input.
func (l *loader) read(name string, r io.Reader) {
	input, err := uncompressed(r, l.o.MaxUnzipped)
	if err != nil {
		l.unread(name, "not gzip: "+err.Error())
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
					found[i].waits = j.piece.at.Item > 0
					l.transform(found[i])
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
	before, errs := l.objects+l.lists, len(l.errs)
	var items []decoded // of the list that is being read
	wrong := 0          // items with an error
	for out := range inOrder {
		if found := <-out; !stop.Load() {
			wrong += l.takeAll(found, &items)
		}
		if len(l.errs)-errs > maxErrors || wrong > maxErrors {
			stop.Store(true)
		}
	}
	for _, d := range items {
		l.take(d) // the input ends inside a list
	}
	switch {
	case stop.Load():
		l.errs = l.errs[:min(len(l.errs), errs+maxErrors)]
		l.unread(name, fmt.Sprintf("more than %d errors: the rest was not read", maxErrors))
	case l.objects+l.lists == before:
		l.unread(name, "no Kubernetes object in it")
	}
}

// transform takes out of an object what the caller does not need.
func (l *loader) transform(d decoded) {
	if o, is := d.object.(Object); is && l.o.Transform != nil {
		l.o.Transform(o)
	}
}

// uncompressed looks at the first bytes: names say nothing about standard input.
func uncompressed(r io.Reader, maxUnzipped int64) (*bounded, error) {
	if maxUnzipped <= 0 {
		maxUnzipped = DefaultMaxUnzipped
	}
	buffered := bufio.NewReader(r)
	if head, _ := buffered.Peek(2); !bytes.Equal(head, []byte{0x1f, 0x8b}) {
		return newBounded(buffered, maxUnzipped, false), nil
	}
	unzipped, err := gzip.NewReader(buffered)
	return newBounded(unzipped, maxUnzipped, true), err
}

// takeAll adds what a piece of the input became. Items wait until it is known which list they are in; the result is how
// many errors they have.
func (l *loader) takeAll(found []decoded, items *[]decoded) (wrong int) {
	for _, d := range found {
		switch {
		case d.around != nil:
			l.takeList(d, *items)
			*items = nil
		case d.waits:
			*items = append(*items, d)
			wrong += len(d.errs)
		default:
			l.take(d)
		}
	}
	return wrong
}

// take adds one object.
func (l *loader) take(d decoded) {
	for _, e := range d.errs {
		l.fail(e)
	}
	for _, n := range d.notes {
		if n.At.Namespace == "" && n.At.Name != "" && Namespaced(n.At.GroupKind()) {
			n.At.Namespace = l.namespace()
		}
		l.addNote(n)
	}
	if d.list != (schema.GroupKind{}) {
		l.set.see(d.list)
		l.lists++
	}
	if d.isList {
		return
	}
	l.objects++
	if l.o.Progress != nil && l.objects%1024 == 0 {
		l.o.Progress(l.objects)
	}
	switch {
	case d.ignored:
		d.at.APIVersion, d.at.Kind = l.name(d.at.APIVersion), l.name(d.at.Kind)
		l.set.Ignored = append(l.set.Ignored, d.at)
	case d.custom != nil:
		d.custom.Namespace = cmp.Or(d.custom.Namespace, l.namespace())
		d.custom.APIVersion, d.custom.Kind = l.name(d.custom.APIVersion), l.name(d.custom.Kind)
		d.at.APIVersion, d.at.Kind, d.at.Namespace = d.custom.APIVersion, d.custom.Kind, d.custom.Namespace
		l.set.CustomWorkloads = append(l.set.CustomWorkloads, d.custom)
		d.custom.At = d.at
	case d.scaled != nil:
		d.scaled.Namespace = cmp.Or(d.scaled.Namespace, l.namespace())
		d.at.Namespace = d.scaled.Namespace
		l.set.ScaledObjects = append(l.set.ScaledObjects, d.scaled)
		d.scaled.At = d.at
	case d.object != nil:
		l.add(d)
	}
}

// takeList adds the items of a list that were read one by one.
func (l *loader) takeList(list decoded, items []decoded) {
	if !list.isList {
		if len(list.errs) == 0 {
			list = decodeObject(list.at, list.around.TypeMeta, list.around.raw)
			if list.object != nil { // its items were taken out of it
				list.fail(kindOf(list.object), "items", unknownField)
			}
		}
		l.take(list)
		return
	}
	l.take(list)
	kind := strings.TrimSuffix(list.around.Kind, "List")
	for _, d := range items {
		if d.untyped != nil {
			d = decodeObject(d.at, metav1.TypeMeta{APIVersion: list.around.APIVersion, Kind: kind}, d.untyped)
			l.transform(d)
		}
		l.take(d)
	}
}

// namespace is the namespace of objects that name none.
func (l *loader) namespace() string { return cmp.Or(l.o.Namespace, metav1.NamespaceDefault) }

// name returns the text, of which there is one copy in memory.
func (l *loader) name(text string) string {
	if known, found := l.names[text]; found {
		return known
	}
	if l.names == nil {
		l.names = map[string]string{}
	}
	l.names[text] = text
	return text
}

// planned is the key that the packages have for an object: without a namespace where the kind has none, even if the
// object names one.
func planned(k purekube.Key, kind schema.GroupKind) purekube.Key {
	if !Namespaced(kind) {
		k.Namespace = ""
	}
	return k
}

// add adds an object.
func (l *loader) add(d decoded) {
	kind, meta := kindOf(d.object), d.object.(metav1.Object)
	if meta.GetName() == "" {
		l.fail(&Error{Refs: []Ref{d.at}, Field: "metadata.name", Err: errors.New("required"), hides: &kind})
		return
	}
	if meta.GetNamespace() == "" && Namespaced(kind) {
		meta.SetNamespace(l.namespace())
	}
	l.set.see(kind)
	l.set.put(d.object)
	k := key(kind, meta)
	if len(d.errs) > 0 {
		if l.set.inPart == nil {
			l.set.inPart = map[purekube.Key]bool{}
		}
		l.set.inPart[planned(k, kind)] = true
	}
	if !l.set.note(k, d.at) && len(l.set.again[k]) == 1 {
		l.errs = append(l.errs, &Error{Refs: l.set.Refs(k), Err: ErrDuplicate})
	}
}
