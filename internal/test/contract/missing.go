package contract

import (
	"fmt"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
)

// Damage is how an object of a snapshot can be missing or of no use.
type Damage string

// How an object is damaged.
const (
	LeftOut  Damage = "left out"
	Nil      Damage = "a nil pointer"
	Nameless Damage = "without a name"
	Twice    Damage = "there twice"
)

// Each calls visit with the snapshot without one object, for each object of each slice of pointers; and with that
// object damaged in the other ways. Objects whose name others of their kind have, and objects without a name, are
// passed over: without them there is less wrong with a snapshot, not more.
func Each[S any](s S, visit func(how Damage, field string, object runtime.Object, damaged S)) {
	fields(&s, func(name string, field reflect.Value) {
		if field.Kind() != reflect.Slice || field.Type().Elem().Kind() != reflect.Pointer {
			return
		}
		for j := range field.Len() {
			object, ok := field.Index(j).Interface().(runtime.Object)
			if !ok || nameOf(field.Index(j)).Name == "" || namesakes(field, j) {
				continue
			}
			for _, how := range []Damage{LeftOut, Nil, Nameless, Twice} {
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
							element = clone(element)
							element.Interface().(interface{ SetName(string) }).SetName("")
						case Twice:
							list = reflect.Append(list, element)
							element = clone(element)
						}
					}
					list = reflect.Append(list, element)
				}
				damaged := s
				fields(&damaged, func(other string, f reflect.Value) {
					if other == name {
						f.Set(list)
					}
				})
				visit(how, name, object, damaged)
			}
		}
	})
}

// CheckMissing takes a snapshot apart, object by object and as Damaged says: that permits nothing that the snapshot
// does not.
func (c Core[X, S, A, O, E]) CheckMissing(t testing.TB, s S, o O) {
	t.Helper()
	before := c.Permits(s, o)
	visit := func(what string, damaged S) {
		t.Helper()
		for p, n := range c.Permits(damaged, o) {
			if p.What != Anything && n > max(0, before[p]) && before[Permit{p.Key, Anything}] == 0 {
				t.Fatalf("with %s: %s: %q: %d, and %d without that", what, p.Key, p.What, n, before[p])
			}
		}
	}
	Each(s, func(how Damage, field string, object runtime.Object, damaged S) {
		if c.Statement == nil || !c.Statement(s, how, field, object) {
			visit(fmt.Sprintf("%s %s %s", field, nameOf(reflect.ValueOf(object)), how), damaged)
		}
	})
	if c.Damaged != nil {
		c.Damaged(t, s, o, visit)
	}
}
