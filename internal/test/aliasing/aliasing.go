// Package aliasing finds memory that two values share. Tests use it to show that what a
// plan returns is a copy of its snapshot and no window into it.
package aliasing

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"time"
)

// Shared returns the paths inside result that point at memory reachable from input as well:
// pointers, maps and slices, by address. It is empty when result is a deep copy.
func Shared(input, result any) []string {
	seen := map[place]string{}
	walk(reflect.ValueOf(input), "input", func(p place, path string) bool {
		if _, again := seen[p]; again {
			return false
		}
		seen[p] = path
		return true
	})
	var shared []string
	visited := map[place]bool{}
	walk(reflect.ValueOf(result), "result", func(p place, path string) bool {
		if from, ok := seen[p]; ok {
			shared = append(shared, fmt.Sprintf("%s is %s", path, from))
			return false
		}
		if visited[p] {
			return false
		}
		visited[p] = true
		return true
	})
	slices.Sort(shared)
	return shared
}

// place is an address together with the type found there: a struct and its first field
// share an address and are not the same thing.
type place struct {
	address uintptr
	typ     reflect.Type
}

// locationType is shared by every time.Time of one zone and never written to, and so is what a netip.Addr points to.
var locationType, addrType = reflect.TypeFor[*time.Location](), reflect.TypeFor[netip.Addr]()

func walk(v reflect.Value, path string, visit func(place, string) bool) {
	if !v.IsValid() || v.Type() == locationType || v.Type() == addrType {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		// A pointer to an empty struct shares no memory: all of them have one address.
		if !v.IsNil() && (v.Elem().Type().Size() == 0 || visit(place{v.Pointer(), v.Type()}, path)) {
			walk(v.Elem(), path, visit)
		}
	case reflect.Interface:
		if !v.IsNil() {
			walk(v.Elem(), path, visit)
		}
	case reflect.Map:
		if !v.IsNil() && visit(place{v.Pointer(), v.Type()}, path) {
			for it := v.MapRange(); it.Next(); {
				walk(it.Key(), path+".key", visit)
				walk(it.Value(), fmt.Sprintf("%s[%v]", path, it.Key()), visit)
			}
		}
	case reflect.Slice:
		// Every slice element counts, so that an overlapping slice is found too.
		for i := range v.Len() {
			at := fmt.Sprintf("%s[%d]", path, i)
			e := v.Index(i)
			if e.Type().Size() > 0 && !visit(place{e.Addr().Pointer(), reflect.PointerTo(e.Type())}, at) {
				continue
			}
			walk(e, at, visit)
		}
	case reflect.Array:
		for i := range v.Len() {
			walk(v.Index(i), fmt.Sprintf("%s[%d]", path, i), visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			walk(v.Field(i), path+"."+v.Type().Field(i).Name, visit)
		}
	}
}
