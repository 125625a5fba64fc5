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

// unreadable finds the field whose type does not accept its text, such as a quantity or a time: the error that the
// decoder returns for it has no path. It is "" if there is none.
func unreadable(raw []byte, into reflect.Type) (field string) {
	path, found := pathOfUnreadable(raw, into)
	if !found {
		return ""
	}
	return strings.TrimPrefix(path, ".")
}

func pathOfUnreadable(raw []byte, into reflect.Type) (path string, found bool) {
	if reflect.PointerTo(into).Implements(unmarshaler) {
		return "", json.Unmarshal(raw, reflect.New(into).Interface()) != nil
	}
	switch into.Kind() {
	case reflect.Pointer:
		return pathOfUnreadable(raw, into.Elem())
	case reflect.Struct:
		return unreadableKey(raw, into)
	case reflect.Map:
		values := map[string]stdjson.RawMessage{}
		if json.Unmarshal(raw, &values) != nil {
			return "", false
		}
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if path, found := pathOfUnreadable(values[key], into.Elem()); found {
				return "." + key + path, true
			}
		}
	case reflect.Slice:
		var items []stdjson.RawMessage
		if into.Elem().Kind() == reflect.Uint8 || json.Unmarshal(raw, &items) != nil {
			return "", false
		}
		for i, item := range items {
			if path, found := pathOfUnreadable(item, into.Elem()); found {
				return "[" + strconv.Itoa(i) + "]" + path, true
			}
		}
	}
	return "", false
}

// unreadableKey looks at the fields of a struct in their order.
func unreadableKey(raw []byte, into reflect.Type) (path string, found bool) {
	values := map[string]stdjson.RawMessage{}
	if json.Unmarshal(raw, &values) != nil {
		return "", false
	}
	for i := range into.NumField() {
		f := into.Field(i)
		key, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		value, there := values[key]
		if options == "inline" || key == "" && f.Anonymous { // the keys of an embedded struct are on this level
			key, value, there = "", raw, true
		} else {
			key = "." + key
		}
		if !there {
			continue
		}
		if path, found := pathOfUnreadable(value, f.Type); found {
			return key + path, true
		}
	}
	return "", false
}
