package manifests

import (
	stdjson "encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"
)

var unmarshaler = reflect.TypeFor[stdjson.Unmarshaler]()

// unreadable finds the first value that its type does not accept, such as a quantity or a time, in the order of the
// type's fields. The decoder's error for such a value has no path. The path begins with a dot, as in
// ".metadata.creationTimestamp". If there is no such value, err is nil.
func unreadable(raw []byte, into reflect.Type) (path string, err error) {
	if reflect.PointerTo(into).Implements(unmarshaler) {
		return "", json.Unmarshal(raw, reflect.New(into).Interface())
	}
	switch into.Kind() {
	case reflect.Pointer:
		return unreadable(raw, into.Elem())
	case reflect.Struct:
		values := keysOf(raw)
		for i := range into.NumField() {
			f := into.Field(i)
			key, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			value, there := values[key]
			path := "." + key
			if options == "inline" || key == "" && f.Anonymous { // the keys of an embedded struct are on this level
				path, value, there = "", raw, true
			}
			if !there {
				continue
			}
			if below, err := unreadable(value, f.Type); err != nil {
				return path + below, err
			}
		}
	case reflect.Map:
		values := keysOf(raw)
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if below, err := unreadable(values[key], into.Elem()); err != nil {
				return "." + key + below, err
			}
		}
	case reflect.Slice:
		for i, item := range itemsOf(raw) {
			if below, err := unreadable(item, into.Elem()); err != nil {
				return "[" + strconv.Itoa(i) + "]" + below, err
			}
		}
	}
	return "", nil
}

// keysOf has the keys of an object. It is empty for anything else, about which the decoder has an error with a path.
func keysOf(raw []byte) map[string]stdjson.RawMessage {
	var values map[string]stdjson.RawMessage
	if json.Unmarshal(raw, &values) != nil {
		return nil
	}
	return values
}

// itemsOf has the items of a list, and is empty for anything else.
func itemsOf(raw []byte) []stdjson.RawMessage {
	var items []stdjson.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		return nil
	}
	return items
}
