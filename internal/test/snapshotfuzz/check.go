package snapshotfuzz

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/dump"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/persistent"
	"github.com/purekube/purekube/internal/test/aliasing"
)

// Answer is what a question about a snapshot gave.
type Answer struct {
	Question string
	Value    any
	Err      error
	// Shares: the value is the caller's own objects, as its documentation says.
	Shares bool
}

// Check asks all questions about a snapshot, a struct of slices of objects, and reports what must not be: an object
// that was written to, an answer that shares memory with the snapshot, and an answer that differs when the slices are
// in another order. again, if not nil, asks the same questions in another way, which must give the same answers.
func Check[S any](t testing.TB, s S, random *rand.Rand, ask func(S) []Answer, again func(S) []Answer) {
	t.Helper()
	before := Copy(s)
	answers := ask(s)
	if diff := changed(before, s); diff != "" {
		t.Fatalf("a question writes to the snapshot: %s", diff)
	}
	for _, a := range answers {
		if shared := aliasing.Shared(s, []any{a.Value, a.Err}); len(shared) > 0 && !a.Shares {
			t.Fatalf("%s: the answer shares memory with the snapshot: %v", a.Question, shared)
		}
	}
	same(t, "with the slices in another order", answers, ask(Shuffled(s, random)))
	if again != nil {
		same(t, "from the Index", answers, again(s))
		if diff := changed(before, s); diff != "" {
			t.Fatalf("the Index writes to the snapshot: %s", diff)
		}
	}
}

func same(t testing.TB, how string, want, got []Answer) {
	t.Helper()
	if len(want) != len(got) {
		t.Fatalf("%d answers, and %d %s", len(want), len(got), how)
	}
	for i := range want {
		if want[i].Question != got[i].Question {
			t.Fatalf("question %q, and %q %s", want[i].Question, got[i].Question, how)
		}
		if w, g := fmt.Sprint(want[i].Err), fmt.Sprint(got[i].Err); w != g {
			t.Fatalf("%s: %s the error is\n%s\nand was\n%s", want[i].Question, how, g, w)
		}
		if !reflect.DeepEqual(want[i].Value, got[i].Value) {
			t.Fatalf("%s: the answer is another one %s:\n%+v\nand was\n%+v\n%s", want[i].Question, how, got[i].Value,
				want[i].Value, differences(want[i].Value, got[i].Value))
		}
	}
}

// differences are best effort: cmp refuses some types.
func differences(a, b any) (diff string) {
	defer func() {
		if recover() != nil {
			diff = ""
		}
	}()
	return cmp.Diff(a, b)
}

// changed says which field of a snapshot is not what it was.
func changed(before, after any) string {
	b, a := reflect.ValueOf(before), reflect.ValueOf(after)
	for i := range b.NumField() {
		if b.Field(i).Kind() == reflect.Func {
			continue
		}
		if !reflect.DeepEqual(b.Field(i).Interface(), a.Field(i).Interface()) {
			return b.Type().Field(i).Name
		}
	}
	return ""
}

// Copy is a snapshot with copies of all objects.
func Copy[S any](s S) S {
	v := reflect.ValueOf(&s).Elem()
	for i := range v.NumField() {
		field := v.Field(i)
		switch field.Kind() {
		case reflect.Slice:
			if field.IsNil() {
				continue
			}
			out := reflect.MakeSlice(field.Type(), field.Len(), field.Len())
			for j := range field.Len() {
				out.Index(j).Set(copied(field.Index(j)))
			}
			field.Set(out)
		case reflect.Map:
			if field.IsNil() {
				continue
			}
			out := reflect.MakeMap(field.Type())
			for it := field.MapRange(); it.Next(); {
				out.SetMapIndex(it.Key(), copied(it.Value()))
			}
			field.Set(out)
		}
	}
	return s
}

func copied(v reflect.Value) reflect.Value {
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		if o, ok := v.Interface().(runtime.Object); ok {
			return reflect.ValueOf(o.DeepCopyObject())
		}
	}
	if answer, ok := v.Interface().(purekube.Answer); ok {
		if answer.Object != nil {
			answer.Object = copied(reflect.ValueOf(answer.Object)).Interface()
		}
		return reflect.ValueOf(answer)
	}
	// What is no object of the API: by way of JSON.
	if v.Kind() == reflect.Struct || v.Kind() == reflect.Pointer && !v.IsNil() {
		if text, err := json.Marshal(v.Interface()); err == nil {
			out := reflect.New(v.Type())
			if json.Unmarshal(text, out.Interface()) == nil {
				return out.Elem()
			}
		}
	}
	return v
}

// Shuffled is the snapshot with its slices in another order.
func Shuffled[S any](s S, random *rand.Rand) S {
	v := reflect.ValueOf(&s).Elem()
	for i := range v.NumField() {
		if field := v.Field(i); field.Kind() == reflect.Slice && !field.IsNil() {
			out := reflect.MakeSlice(field.Type(), field.Len(), field.Len())
			for j, from := range random.Perm(field.Len()) {
				out.Index(j).Set(field.Index(from))
			}
			field.Set(out)
		}
	}
	return s
}

// Plain reports whether no object of the snapshot is nil, without a name, or there twice.
func Plain[S any](s S) bool {
	v := reflect.ValueOf(s)
	for i := range v.NumField() {
		field := v.Field(i)
		if field.Kind() != reflect.Slice || field.Type().Elem().Kind() != reflect.Pointer {
			continue
		}
		for j := range field.Len() {
			o, ok := field.Index(j).Interface().(interface{ GetName() string })
			if ok && (field.Index(j).IsNil() || o.GetName() == "" || namesakes(field, j)) {
				return false
			}
		}
	}
	return true
}

// OneByOne calls visit with a snapshot for each object of the snapshot, which holds that object alone.
func OneByOne[S any](s S, visit func(one S)) {
	v := reflect.ValueOf(s)
	for i := range v.NumField() {
		field := v.Field(i)
		if field.Kind() != reflect.Slice || field.Type().Elem().Kind() != reflect.Pointer {
			continue
		}
		for j := range field.Len() {
			var one S
			list := reflect.MakeSlice(field.Type(), 0, 1)
			reflect.ValueOf(&one).Elem().Field(i).Set(reflect.Append(list, field.Index(j)))
			visit(one)
		}
	}
}

// Spoiling is how an object of a snapshot can be missing or of no use.
type Spoiling string

// How an object is spoiled.
const (
	LeftOut  Spoiling = "left out"
	Nil      Spoiling = "a nil pointer"
	Nameless Spoiling = "without a name"
	Twice    Spoiling = "there twice"
)

// Spoiled calls visit with the snapshot without one object, for each object of each slice of pointers; and with that
// object spoiled in the other ways. Objects whose name others of their kind have, and objects without a name, are
// passed over: without them there is less wrong with a snapshot, not more.
func Spoiled[S any](s S, visit func(how Spoiling, field string, object runtime.Object, spoiled S)) {
	v := reflect.ValueOf(s)
	for i := range v.NumField() {
		field := v.Field(i)
		if field.Kind() != reflect.Slice || field.Type().Elem().Kind() != reflect.Pointer {
			continue
		}
		for j := range field.Len() {
			object, ok := field.Index(j).Interface().(runtime.Object)
			if !ok || field.Index(j).IsNil() || namesakes(field, j) || object.(interface{ GetName() string }).GetName() == "" {
				continue
			}
			for _, how := range []Spoiling{LeftOut, Nil, Nameless, Twice} {
				spoiled := s
				list := reflect.MakeSlice(field.Type(), 0, field.Len()+1)
				for k := range field.Len() {
					element := field.Index(k)
					if k == j {
						switch how {
						case LeftOut:
							continue
						case Nil:
							element = reflect.Zero(element.Type())
						case Nameless:
							element = copied(element)
							element.Interface().(interface{ SetName(string) }).SetName("")
						case Twice:
							list = reflect.Append(list, element)
							element = copied(element)
						}
					}
					list = reflect.Append(list, element)
				}
				reflect.ValueOf(&spoiled).Elem().Field(i).Set(list)
				visit(how, v.Type().Field(i).Name, object, spoiled)
			}
		}
	}
}

// Sorted are the objects in an order that does not depend on the one they come in, for questions about each of them.
func Sorted[T any](objects []T) []T {
	texts := make(map[int]string, len(objects))
	order := make([]int, len(objects))
	for i, o := range objects {
		text, err := json.Marshal(o)
		if err != nil {
			text = []byte(err.Error())
		}
		order[i], texts[i] = i, string(text)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if byText := strings.Compare(texts[a], texts[b]); byText != 0 {
			return byText
		}
		// JSON does not tell an empty list from one that is nil.
		return strings.Compare(dump.ForHash(objects[a]), dump.ForHash(objects[b]))
	})
	sorted := make([]T, len(objects))
	for i, from := range order {
		sorted[i] = objects[from]
	}
	return sorted
}

// Names are the names of the objects, one that nothing has, and the empty one, sorted.
func Names[T any, P interface {
	*T
	GetNamespace() string
	GetName() string
}](objects []P) []types.NamespacedName {
	names := []types.NamespacedName{{}, {Namespace: "ns", Name: "no such"}}
	for _, o := range objects {
		if o != nil {
			names = append(names, types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()})
		}
	}
	slices.SortFunc(names, persistent.CompareNames)
	return slices.Compact(names)
}

// namesakes reports whether another object of the slice has the name of the one at that index.
func namesakes(list reflect.Value, at int) bool {
	type named interface {
		GetNamespace() string
		GetName() string
	}
	o := list.Index(at).Interface().(named)
	for i := range list.Len() {
		if other, ok := list.Index(i).Interface().(named); ok && i != at && !list.Index(i).IsNil() &&
			other.GetName() == o.GetName() && other.GetNamespace() == o.GetNamespace() {
			return true
		}
	}
	return false
}
