package main

import (
	stdjson "encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// Every key of the output is lower camel case, down to the names of pods and budgets. The bodies of requests are API objects.
func TestKeysAreLowerCamelCase(t *testing.T) {
	for _, args := range [][]string{
		{"plan", "--demo", "--explain"},
		{"explain", "pod/shop/basket-0", "--demo"},
		{"drain", "all", "--demo", "--force"},
		{"drain", "--waves", "--demo", "--force"},
		{"diff", "--demo"},
		{"lint", "--demo"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			var out any
			got := plan(t, nil, "", append(args, "-o", "json")...)
			require.NoError(t, stdjson.Unmarshal([]byte(got.stdout), &out), got.stderr)
			require.Empty(t, upperCase("", out))
		})
	}
}

// upperCase are the paths of keys that begin with an upper-case letter.
func upperCase(path string, value any) (found []string) {
	switch value := value.(type) {
	case map[string]any:
		for key, v := range value {
			if unicode.IsUpper(rune(key[0])) {
				found = append(found, path+"."+key)
			}
			if key != "request" && key != "update" {
				found = append(found, upperCase(path+"."+key, v)...)
			}
		}
	case []any:
		for _, v := range value {
			found = append(found, upperCase(path+"[]", v)...)
		}
	}
	return found
}
