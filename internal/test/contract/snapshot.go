package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/dump"

	"github.com/purekube/purekube"
)

// named is an object with a name: a pointer to one of the API, or a struct with fields Namespace and Name.
type named interface {
	GetNamespace() string
	GetName() string
}

// nameOf returns the name of an element of a snapshot's slice. It is empty for nil and for objects without a name.
func nameOf(v reflect.Value) (name types.NamespacedName) {
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return name
	}
	if o, ok := v.Interface().(named); ok {
		name = types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
	} else if v.Kind() == reflect.Struct && v.FieldByName("Namespace").IsValid() {
		name = types.NamespacedName{Namespace: v.FieldByName("Namespace").String(), Name: v.FieldByName("Name").String()}
	}
	return name
}

// kindOf is the kind of an element: the name of its type.
func kindOf(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}

// fields calls visit with each field of a snapshot.
func fields(s any, visit func(name string, field reflect.Value)) {
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		visit(v.Type().Field(i).Name, v.Field(i))
	}
}

// keys are the keys of the objects, and some that no object has, sorted.
func (c Core[X, S, A, O, E]) keys(s S) []purekube.Key {
	keys := []purekube.Key{{}, {Kind: "What", Namespace: "ns", Name: "what"},
		{Kind: "Pod", Namespace: "shop", Name: "nobody"}}
	fields(&s, func(_ string, field reflect.Value) {
		if field.Kind() != reflect.Slice {
			return
		}
		for i := range field.Len() {
			name := nameOf(field.Index(i))
			key := purekube.Key{Kind: kindOf(field.Type().Elem()), Namespace: name.Namespace, Name: name.Name}
			keys = append(keys, key, purekube.Key{Namespace: key.Namespace, Name: key.Name})
			if c.ClusterScoped {
				key.Namespace = ""
				keys = append(keys, key)
			}
		}
	})
	slices.SortFunc(keys, purekube.Key.Compare)
	return slices.Compact(keys)
}

// With is what With makes of a snapshot.
func (c Core[X, S, A, O, E]) With(s, changed S) S {
	s = c.Without(s, onlySlices(changed))
	from := reflect.ValueOf(changed)
	i := 0
	fields(&s, func(_ string, field reflect.Value) {
		by := from.Field(i)
		i++
		switch field.Kind() {
		case reflect.Slice:
			field.Set(reflect.AppendSlice(field, by))
		case reflect.Map:
			if by.IsNil() {
				return
			}
			if field.IsNil() {
				field.Set(reflect.MakeMap(field.Type()))
			}
			for it := by.MapRange(); it.Next(); {
				field.SetMapIndex(it.Key(), it.Value())
			}
		default:
			if now, ok := by.Interface().(time.Time); ok && !now.IsZero() {
				field.Set(by)
			}
		}
	})
	return s
}

// Without is what Without makes of a snapshot.
func (c Core[X, S, A, O, E]) Without(s, gone S) S {
	s = Shallow(s)
	from := reflect.ValueOf(gone)
	i := 0
	fields(&s, func(_ string, field reflect.Value) {
		by := from.Field(i)
		i++
		switch field.Kind() {
		case reflect.Slice:
			names := map[types.NamespacedName]bool{}
			for j := range by.Len() {
				names[c.identity(by.Index(j))] = true
			}
			left := reflect.MakeSlice(field.Type(), 0, field.Len())
			for j := range field.Len() {
				if name := c.identity(field.Index(j)); name.Name == "" || !names[name] {
					left = reflect.Append(left, field.Index(j))
				}
			}
			field.Set(left)
		case reflect.Map:
			for it := by.MapRange(); it.Next(); {
				field.SetMapIndex(it.Key(), reflect.Value{})
			}
		}
	})
	return s
}

func (c Core[X, S, A, O, E]) identity(v reflect.Value) types.NamespacedName {
	name := nameOf(v)
	if c.ClusterScoped {
		name.Namespace = ""
	}
	return name
}

// change returns a few objects that are new, or in the place of others, or others with a random change, and how many.
// If bad, some are nil, have no name, or are there twice. Sometimes time passes.
func (c Core[X, S, A, O, E]) change(s S, bad bool, r *rand.Rand) (changed S, objects int) {
	changed = c.pick(c.Draw(r, bad), 1+r.IntN(2)*r.IntN(3), r)
	if r.IntN(4) == 0 { // one that is there, a little different
		choice := make([]byte, 3)
		for i := range choice {
			choice[i] = byte(r.UintN(256))
		}
		changed = Mutate(c.pick(s, 1, r), choice, c.Words)
	}
	fields(&changed, func(_ string, field reflect.Value) {
		if field.Kind() != reflect.Slice {
			return
		}
		if bad && field.Type().Elem().Kind() == reflect.Pointer && r.IntN(8) == 0 {
			field.Set(reflect.Append(field, reflect.Zero(field.Type().Elem())))
		}
		if n := field.Len(); bad && n > 0 && r.IntN(6) == 0 {
			again := clone(field.Index(r.IntN(n)))
			if o, ok := again.Interface().(interface{ SetName(string) }); ok && !again.IsNil() && r.IntN(2) == 0 {
				o.SetName("")
			}
			field.Set(reflect.Append(field, again))
		}
		objects += field.Len()
	})
	if now := reflect.ValueOf(&changed).Elem().FieldByName("Now"); now.IsValid() {
		now.SetZero()
		if r.IntN(4) == 0 {
			pass := []time.Duration{-5, 1, 5, 10, 20, 30, 60, 120, 3600}[r.IntN(9)] * time.Second
			now.Set(reflect.ValueOf(reflect.ValueOf(s).FieldByName("Now").Interface().(time.Time).Add(pass)))
			objects = 0
		}
	}
	return changed, objects
}

// pick returns a snapshot with n random elements of the slices and maps.
func (c Core[X, S, A, O, E]) pick(s S, n int, r *rand.Rand) (picked S) {
	from, to := reflect.ValueOf(s), reflect.ValueOf(&picked).Elem()
	type place struct {
		field int
		key   reflect.Value // of a map
		index int
	}
	var places []place
	for i := range from.NumField() {
		switch field := from.Field(i); field.Kind() {
		case reflect.Slice:
			for j := range field.Len() {
				places = append(places, place{field: i, index: j})
			}
		case reflect.Map:
			for _, key := range sortedKeys(field) {
				places = append(places, place{field: i, key: key})
			}
		}
	}
	r.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
	for _, p := range places[:min(n, len(places))] {
		field := to.Field(p.field)
		if !p.key.IsValid() {
			field.Set(reflect.Append(field, from.Field(p.field).Index(p.index)))
			continue
		}
		if field.IsNil() {
			field.Set(reflect.MakeMap(field.Type()))
		}
		field.SetMapIndex(p.key, from.Field(p.field).MapIndex(p.key))
	}
	return picked
}

func sortedKeys(m reflect.Value) []reflect.Value {
	keys := m.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return keys
}

// Copy is a snapshot with copies of all objects.
func Copy[S any](s S) S { return clone(reflect.ValueOf(&s).Elem()).Interface().(S) }

// clone copies everything that a value points to, except for what only its own package can see, errors and functions.
func clone(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(reflect.New(v.Type().Elem()))
			out.Elem().Set(clone(v.Elem()))
		}
	case reflect.Interface:
		if _, isError := v.Interface().(error); !v.IsNil() && !isError {
			out.Set(clone(v.Elem()))
		}
	case reflect.Slice:
		if !v.IsNil() {
			out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
			for i := range v.Len() {
				out.Index(i).Set(clone(v.Index(i)))
			}
		}
	case reflect.Map:
		if !v.IsNil() {
			out.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
			for it := v.MapRange(); it.Next(); {
				out.SetMapIndex(it.Key(), clone(it.Value()))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out.Field(i).Set(clone(v.Field(i)))
			}
		}
	}
	return out
}

// Shallow is a snapshot with slices and maps of its own, and the same objects.
func Shallow[S any](s S) S {
	fields(&s, func(_ string, field reflect.Value) {
		switch field.Kind() {
		case reflect.Slice:
			if !field.IsNil() {
				field.Set(reflect.AppendSlice(reflect.MakeSlice(field.Type(), 0, field.Len()), field))
			}
		case reflect.Map:
			if !field.IsNil() {
				own := reflect.MakeMap(field.Type())
				for it := field.MapRange(); it.Next(); {
					own.SetMapIndex(it.Key(), it.Value())
				}
				field.Set(own)
			}
		}
	})
	return s
}

// clearAll clears the slices and maps of a snapshot, as a caller may who uses them again.
func clearAll[S any](s S) {
	fields(&s, func(_ string, field reflect.Value) {
		if field.Kind() == reflect.Slice || field.Kind() == reflect.Map {
			field.Clear()
		}
	})
}

// onlySlices is the snapshot without its maps.
func onlySlices[S any](s S) S {
	fields(&s, func(_ string, field reflect.Value) {
		if field.Kind() == reflect.Map {
			field.SetZero()
		}
	})
	return s
}

// withoutObjects is the snapshot without what OneByOne visits.
func withoutObjects[S any](s S) S {
	fields(&s, func(_ string, field reflect.Value) {
		if field.Kind() == reflect.Slice {
			field.SetZero()
		}
	})
	return s
}

// OneByOne calls visit with a snapshot for each object of the snapshot, which holds that object alone.
func OneByOne[S any](s S, visit func(one S)) {
	v := reflect.ValueOf(s)
	for i := range v.NumField() {
		for j := 0; v.Field(i).Kind() == reflect.Slice && j < v.Field(i).Len(); j++ {
			var one S
			reflect.ValueOf(&one).Elem().Field(i).Set(
				reflect.Append(reflect.MakeSlice(v.Field(i).Type(), 0, 1), v.Field(i).Index(j)))
			visit(one)
		}
	}
}

// Shuffled is the snapshot with its slices in another order.
func Shuffled[S any](s S, r *rand.Rand) S {
	s = Shallow(s)
	fields(&s, func(_ string, field reflect.Value) {
		if field.Kind() == reflect.Slice {
			r.Shuffle(field.Len(), reflect.Swapper(field.Interface()))
		}
	})
	return s
}

// anyObject reports whether the condition holds for an object of the snapshot, in a slice at an index.
func (c Core[X, S, A, O, E]) anyObject(s S, holds func(list reflect.Value, at int) bool) (found bool) {
	fields(&s, func(_ string, field reflect.Value) {
		for i := 0; field.Kind() == reflect.Slice && i < field.Len(); i++ {
			found = found || holds(field, i)
		}
	})
	return found
}

func isNil(list reflect.Value, at int) bool {
	return list.Index(at).Kind() == reflect.Pointer && list.Index(at).IsNil()
}

// isTwice reports whether another object of the slice has the name of the one at that index.
func (c Core[X, S, A, O, E]) isTwice(list reflect.Value, at int) bool {
	name := c.identity(list.Index(at))
	for i := range list.Len() {
		if i != at && name.Name != "" && c.identity(list.Index(i)) == name {
			return true
		}
	}
	return false
}

// isAmbiguous is isTwice where that is an error.
func (c Core[X, S, A, O, E]) isAmbiguous(list reflect.Value, at int) bool {
	return kindOf(list.Type().Elem()) != c.Merged && c.isTwice(list, at)
}

// Plain reports whether no object of the snapshot is nil, without a name, or there twice.
func (c Core[X, S, A, O, E]) Plain(s S) bool {
	return !c.anyObject(s, func(list reflect.Value, at int) bool {
		return nameOf(list.Index(at)).Name == "" || c.isTwice(list, at)
	})
}

// namesakes reports whether another object of the slice has the name of the one at that index.
func namesakes(list reflect.Value, at int) bool {
	for i := range list.Len() {
		if i != at && nameOf(list.Index(i)) == nameOf(list.Index(at)) {
			return true
		}
	}
	return false
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

// keyOf is the Key of an Explanation.
func keyOf(explanation any) purekube.Key {
	return reflect.ValueOf(explanation).FieldByName("Key").Interface().(purekube.Key)
}

func isNotFound(err error) bool { return errors.Is(err, purekube.ErrNotFound) }

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func lines(err error) []string {
	if err == nil {
		return nil
	}
	return strings.Split(err.Error(), "\n")
}

// byText compares errors by what they say; everything compares fields that are not exported, too.
var (
	byText     = cmp.Comparer(func(a, b error) bool { return text(a) == text(b) })
	everything = cmp.Exporter(func(reflect.Type) bool { return true })
)

// differences are best effort.
func differences(a, b any) (diff string) {
	defer func() {
		if recover() != nil {
			diff = fmt.Sprintf("-%+v\n+%+v", a, b)
		}
	}()
	return cmp.Diff(a, b, byText, everything)
}
