package model

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/reconcile"
	"github.com/purekube/purekube/ttl"
)

// unprinted are fields that loopText leaves out, and why.
var unprinted = map[string]string{
	"Loop.o":        "options never change",
	"Turn.Key":      "the turns have it as their key",
	"Turn.Result":   "what Turn.Index and Turn.Question.Index plan, which are printed",
	"Turn.Problems": "what Turn.Index and Turn.Question.Index plan, which are printed",
	"Turn.Next":     "the caller follows it at once",
	"Turn.Ask":      "the caller queues it at once",
	"Turn.Tick":     "the caller sets a timer at once",
	"Fences.Order":  "says when to forget a fence that holds nothing any more",
	"FenceEnd.Key":  "as Fences.Order",
	"FenceEnd.Of":   "as Fences.Order",
}

// shared are fields that a Loop and its clone have together, and why.
var shared = map[string]string{
	"Loop.o":         "options never change",
	"Loop.Index":     "an Index never changes",
	"Turn.Index":     "an Index never changes",
	"Turn.Result":    "a plan never changes",
	"Turn.Problems":  "an error never changes",
	"Turn.Failures":  "an error never changes",
	"Turn.Next":      "has an error, which never changes",
	"Turn.Ask":       "Planned replaces it",
	"Question.Index": "an Index never changes",
	"Fence.Written":  "does not change after set",
}

// structOf reports whether the type is a struct of package reconcile, and returns its name.
func structOf(t reflect.Type) (name string, ok bool) {
	name, _, _ = strings.Cut(t.Name(), "[")
	return name, t.Kind() == reflect.Struct && t.PkgPath() == reflect.TypeFor[reconcile.Fences]().PkgPath() && name != "Options" && name != "Next"
}

// settable makes a field settable.
func settable(v reflect.Value) reflect.Value {
	return reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
}

// fill sets everything that can be reached to something that is not zero. Values of another n are different.
func fill(v reflect.Value, n int) {
	switch t := v.Type(); {
	case t == reflect.TypeFor[*ttl.Index]():
		v.Set(reflect.ValueOf(ttl.NewIndex(ttl.Snapshot{}, ttl.Options{})))
	case t == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Unix(int64(n), 0)))
	case t == reflect.TypeFor[error]():
		v.Set(reflect.ValueOf(fmt.Errorf("error %d", n)))
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			fill(settable(v.Field(i)), n)
		}
	case t.Kind() == reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		fill(v.Elem(), n)
	case t.Kind() == reflect.Map:
		key, value := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
		fill(key, n)
		fill(value, n)
		v.Set(reflect.MakeMap(t))
		v.SetMapIndex(key, value)
	case t.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(t, 1, 1))
		fill(v.Index(0), n)
	case t.Kind() == reflect.Bool:
		v.SetBool(n%2 == 1)
	case v.CanInt():
		v.SetInt(int64(n))
	case v.CanUint():
		v.SetUint(uint64(n))
	case t.Kind() == reflect.String:
		v.SetString(fmt.Sprint(n))
	case t.Kind() == reflect.Interface && t.NumMethod() == 0:
		v.Set(reflect.ValueOf(n))
	}
}

// fieldsOf calls visit with each field of the structs of package reconcile that can be reached. changed is to be called after a
// change of the field.
func fieldsOf(v reflect.Value, changed func(), visit func(field string, v reflect.Value, changed func())) {
	name, ok := structOf(v.Type())
	switch kind := v.Kind(); {
	case ok:
		for i := range v.NumField() {
			f := settable(v.Field(i))
			visit(name+"."+v.Type().Field(i).Name, f, changed)
			fieldsOf(f, changed, visit)
		}
	case kind == reflect.Pointer && v.Type() != reflect.TypeFor[*ttl.Index]():
		fieldsOf(v.Elem(), changed, visit)
	case kind == reflect.Map:
		for _, key := range v.MapKeys() {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(v.MapIndex(key))
			fieldsOf(value, func() { v.SetMapIndex(key, value); changed() }, visit)
		}
	case kind == reflect.Slice:
		for i := range v.Len() {
			fieldsOf(v.Index(i), changed, visit)
		}
	}
}

type nodeReconcileLoop = reconcile.Loop[*ttl.Index, ttl.Snapshot, ttl.Action]

func filled() *nodeReconcileLoop {
	l := reconcile.New(ttl.NewIndex(ttl.Snapshot{}, ttl.Options{}), reconcile.Options[*ttl.Index, ttl.Snapshot]{})
	fill(reflect.ValueOf(l).Elem(), 7)
	return l
}

func textOf(l *nodeReconcileLoop) string {
	return loopText(l, func(x *ttl.Index) string { return fmt.Sprintf("%p", x) }, func(a purekube.Answer) string { return fmt.Sprint(a) })
}

// loopText prints every field, so that a search tells states apart that do different things. A new field is printed, or listed
// above.
func TestLoopTextPrintsEveryField(t *testing.T) {
	l := filled()
	same := textOf(l)
	require.Equal(t, same, textOf(l))
	printed, seen := map[string]bool{}, map[string]bool{}
	fieldsOf(reflect.ValueOf(l).Elem(), func() {}, func(field string, v reflect.Value, changed func()) {
		before := reflect.New(v.Type()).Elem()
		before.Set(v)
		fill(v, 8)
		changed()
		printed[field] = printed[field] || textOf(l) != same
		seen[field] = true
		v.Set(before)
		changed()
		require.Equal(t, same, textOf(l), "after %s", field)
	})
	for field := range seen {
		require.NotEqual(t, unprinted[field] == "", !printed[field], "%s: printed %t, and listed with the reason %q", field, printed[field], unprinted[field])
	}
	for field := range unprinted {
		require.True(t, seen[field], "%s is a field", field)
	}
	require.Greater(t, len(seen), 40)
}

// A clone has every field, and shares none that may change. A new field is cloned, or listed above.
func TestCloneLoopCopiesEveryField(t *testing.T) {
	l := filled()
	c := cloneLoop(l)
	require.True(t, reflect.DeepEqual(l, c))
	type memory struct {
		at    uintptr
		field string
	}
	reached := func(l *nodeReconcileLoop) (all []memory) {
		fieldsOf(reflect.ValueOf(l).Elem(), func() {}, func(field string, v reflect.Value, _ func()) {
			switch v.Kind() {
			case reflect.Pointer, reflect.Map, reflect.Slice:
				all = append(all, memory{v.Pointer(), field})
			}
			if v.Kind() == reflect.Map {
				for _, value := range v.Seq2() {
					if value.Kind() == reflect.Pointer || value.Kind() == reflect.Map {
						all = append(all, memory{value.Pointer(), field})
					}
				}
			}
		})
		return all
	}
	theirs := map[uintptr]bool{}
	for _, m := range reached(c) {
		theirs[m.at] = true
	}
	for _, m := range reached(l) {
		require.Equal(t, shared[m.field] != "", theirs[m.at], "%s: listed with the reason %q", m.field, shared[m.field])
	}
}

// The tests above notice a field that is left out.
func TestLoopFieldsAreFilled(t *testing.T) {
	l := filled()
	fieldsOf(reflect.ValueOf(l).Elem(), func() {}, func(field string, v reflect.Value, _ func()) {
		if unprinted[field] == "" {
			require.False(t, v.IsZero(), "%s", field)
		}
	})
	c := cloneLoop(l)
	c.Lookups.Failed = nil
	require.False(t, reflect.DeepEqual(l, c))
	require.NotEqual(t, textOf(l), textOf(c))
	require.Error(t, errors.Join(l.Turns[purekube.Key{Kind: "7", Namespace: "7", Name: "7"}].Failures))
}
