package manifests

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	//nolint:staticcheck // the package is deprecated for one that would be a further requirement
	yamlv2 "sigs.k8s.io/yaml/goyaml.v2"
)

var (
	// mergeKey adds the keys of other maps to the map that it is in: "<<: *defaults".
	mergeKey = []byte("<<")
	// ordinaryKey is a key like any other in its place. It has the same length, so lines and columns stay.
	ordinaryKey = []byte("<-")
)

// checkKeys is an error for a key that the text has twice in a map. Keys of merged maps do not count: a later key
// overrides them.
func checkKeys(text []byte) error {
	unmerged := bytes.ReplaceAll(text, mergeKey, ordinaryKey)
	_, err := decodeYAML(unmerged, true)
	if err == nil {
		var document yamlv2.MapSlice //nolint:staticcheck // as above
		if err = decodeOne(unmerged, false, &document); err == nil {
			err = overridden(document)
		}
	}
	if err != nil {
		return errors.New(strings.ReplaceAll(err.Error(), string(ordinaryKey), string(mergeKey)))
	}
	return nil
}

// overridden is an error for a merged map that follows a key which it has too. The YAML specification lets the key
// count, and kubectl the merged map.
func overridden(value any) error {
	switch value := value.(type) {
	case yamlv2.MapSlice: //nolint:staticcheck // as above
		before := map[any]bool{}
		for _, item := range value {
			if item.Key != string(ordinaryKey) {
				before[item.Key] = true
			} else if key, found := anyOf(item.Value, before); found {
				return fmt.Errorf("key %#v is before a merge key << that sets it too: must be after it", key)
			}
			if err := overridden(item.Value); err != nil {
				return err
			}
		}
	case []any:
		for _, v := range value {
			if err := overridden(v); err != nil {
				return err
			}
		}
	}
	return nil
}

// anyOf returns a key of a merged map, or of several merged maps, that is among the keys.
func anyOf(merged any, keys map[any]bool) (key any, found bool) {
	switch merged := merged.(type) {
	case yamlv2.MapSlice: //nolint:staticcheck // as above
		for _, item := range merged {
			if keys[item.Key] {
				return item.Key, true
			}
			if item.Key == string(ordinaryKey) {
				if key, found = anyOf(item.Value, keys); found {
					return key, true
				}
			}
		}
	case []any:
		for _, m := range merged {
			if key, found = anyOf(m, keys); found {
				return key, true
			}
		}
	}
	return nil, false
}
