package manifests

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	//nolint:staticcheck // the package is deprecated for one that would be a further requirement
	yamlv2 "sigs.k8s.io/yaml/goyaml.v2"
)

// errGoesOn: decoders of YAML read one document and do not say that the text has more.
var errGoesOn = errors.New("text after the end of the document: put a line --- between two documents")

// yamlToJSON is one YAML document as JSON. Text behind the document is an error, and so is a key that is given twice:
// nobody can say which one counts. Scalars mean what they mean for kubectl, which reads YAML 1.1.
func yamlToJSON(text []byte) ([]byte, error) {
	if err := expands(text); err != nil {
		return nil, err
	}
	value, err := decodeYAML(text, true)
	if err != nil && bytes.Contains(text, mergeKey) {
		if err = checkKeys(text); err == nil {
			value, err = decodeYAML(text, false)
		}
	}
	if err == nil {
		value, err = jsonValue(value)
	}
	if err != nil {
		return nil, err
	}
	return stdjson.Marshal(value)
}

// decodeYAML is the value of one document, nil for text without one. Strict: a key twice is an error.
func decodeYAML(text []byte, strict bool) (value any, err error) {
	err = decodeOne(text, strict, &value)
	return value, err
}

func decodeOne(text []byte, strict bool, into any) error {
	decoder := yamlv2.NewDecoder(bytes.NewReader(text))
	decoder.SetStrict(strict)
	if err := decoder.Decode(into); err != nil {
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	}
	// Whatever follows, another document or what is no YAML at all, would be left out.
	if err := decoder.Decode(&struct{}{}); !errors.Is(err, io.EOF) {
		return errGoesOn
	}
	return nil
}

// jsonValue is a decoded value with texts as the keys of its maps.
func jsonValue(value any) (any, error) {
	switch value := value.(type) {
	case map[any]any:
		object := make(map[string]any, len(value))
		for k, v := range value {
			key, err := jsonKey(k)
			if err != nil {
				return nil, err
			}
			// 1 and "1" are two keys in YAML.
			if _, twice := object[key]; twice {
				return nil, fmt.Errorf("key %q already set in map", key)
			}
			if object[key], err = jsonValue(v); err != nil {
				return nil, err
			}
		}
		return object, nil
	case []any:
		list := make([]any, len(value))
		for i, v := range value {
			var err error
			if list[i], err = jsonValue(v); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	return value, nil
}

// jsonKey is the text of a key, as kubectl makes it of a number or a bool.
func jsonKey(key any) (string, error) {
	switch key := key.(type) {
	case string:
		return key, nil
	case bool:
		return strconv.FormatBool(key), nil
	case int, int64, uint64:
		return fmt.Sprint(key), nil
	case float64:
		return strconv.FormatFloat(key, 'g', -1, 32), nil
	case nil:
		return "", errors.New("a key is null: must be a text, a number or a bool")
	}
	return "", fmt.Errorf("a key is of type %T: must be a text, a number or a bool", key)
}
