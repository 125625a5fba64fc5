package manifests

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/purekube/purekube/internal/message"
)

// ErrDuplicate says that the input has an object more than once. Nothing says which of them counts.
var ErrDuplicate = errors.New("the input has this object more than once")

// Error is what is wrong in one place of the input. [Load] returns errors of this type, joined (errors.Join): take
// them out with [Errors].
type Error struct {
	// Refs are the places, and the object as far as it is known. There are several only for [ErrDuplicate].
	Refs []Ref
	// Field is the path of the field as manifests spell it, for example "spec.minAvailable". Empty: the object as a whole.
	Field string
	Err   error
	// EndsEarly: what follows in the file was not read.
	EndsEarly bool
	// hides is the kind of an object that could not be read, or only in part.
	hides *schema.GroupKind
}

// Error reads "file:line: document N, item N: Kind namespace/name: field: cause", without the parts that are empty.
func (e *Error) Error() string {
	var places []string
	for _, r := range e.Refs {
		places = append(places, r.String())
	}
	object, what := "", ""
	if len(e.Refs) > 0 {
		object = e.Refs[0].object()
	}
	if e.Err != nil {
		what = e.Err.Error()
	}
	return joined(strings.Join(places, " and "), object, e.Field, what)
}

// joined has the parts that are not empty, with colons between them.
func joined(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ": ")
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// String reads "file:line: document N, item N".
func (r Ref) String() string {
	s := r.File
	if r.Line > 0 {
		s += fmt.Sprintf(":%d", r.Line)
	}
	if r.Document > 0 {
		s += fmt.Sprintf(": document %d", r.Document)
	}
	if r.Item > 0 {
		s += fmt.Sprintf(", item %d", r.Item)
	}
	return s
}

func (r Ref) object() string { return message.Object(r.Kind, r.Namespace, r.Name) }

// Errors are the errors that err joins. It is nil for nil, and for an error that is not of [Load].
func Errors(err error) []*Error {
	var all []*Error
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			all = append(all, Errors(e)...)
		}
		return all
	}
	var one *Error
	if errors.As(err, &one) {
		all = append(all, one)
	}
	return all
}

// errType: no package reads objects of this type.
type errType struct{ of runtime.Object }

func (e errType) Error() string { return fmt.Sprintf("no package reads a %T", e.of) }

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
		must += `, or a percentage such as "30%"`
	case wrong.Value == "bool" && wrong.Type.Kind() == reflect.String:
		must += ", so put it in quotes: YAML reads y, n, yes, no, on, off, true and false as bool"
	case strings.HasPrefix(wrong.Value, "number") && wrong.Type.Kind() == reflect.String:
		must += ", so put it in quotes"
	}
	// encoding/json also names the Go types that are embedded: spec.volumes.VolumeSource.fc. The API's own keys begin with
	// a small letter.
	keys := slices.DeleteFunc(strings.Split(wrong.Field, "."), func(key string) bool {
		return key != "" && 'A' <= key[0] && key[0] <= 'Z'
	})
	return strings.Join(keys, "."), fmt.Sprintf("is %s %s, %s", article, wrong.Value, must)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
