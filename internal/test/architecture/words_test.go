package architecture

import (
	"bufio"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// stumbles are words and phrases that a reader of English, or of the Kubernetes API reference, stumbles over,
// each with what to write instead.
var stumbles = map[string]string{
	`\ban purekube\b`:            "a purekube",
	`come into question`:         "are possible",
	`cannot be had\b`:            "is not available",
	`\bsave the\b`:               "except the",
	`!ok means`:                  "ok is false if",
	`[Dd]esign note`:             "readers do not have it: write the rule",
	`\b[Cc]ensus\b`:              "count",
	`\b[Rr]oster\b`:              "list",
	`\b[Tt]ally\b`:               "count",
	`\bguard(s|ed|ing)?\b`:       "cover, budget",
	`AllowedUnguarded`:           "AllowedNoBudget",
	`\bFigures\b`:                "Counts",
	`\bOtherwise as [A-Z]`:       "say the rule again",
	`\b[Ii]t is not to be\b`:     "it must not be",
	`\bof which a\b`:             "a subordinate clause that begins elsewhere",
	`\b(milestone|issue) [0-9]+`: "the project speaks of itself alone",
}

func TestWords(t *testing.T) {
	compiled := map[*regexp.Regexp]string{}
	for pattern, instead := range stumbles {
		compiled[regexp.MustCompile(pattern)] = instead
	}
	goAndMarkdown(t, func(path string) {
		// The changelog names what was renamed.
		if base := filepath.Base(path); base == "words_test.go" || base == "CHANGELOG.md" {
			return
		}
		file, err := os.Open(path)
		require.NoError(t, err)
		defer file.Close()
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, 1<<20)
		for n := 1; lines.Scan(); n++ {
			for pattern, instead := range compiled {
				if found := pattern.FindString(lines.Text()); found != "" {
					t.Errorf("%s:%d: %q: %s", path, n, found, instead)
				}
			}
		}
		require.NoError(t, lines.Err())
	})
}
