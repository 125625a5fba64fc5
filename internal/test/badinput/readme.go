package badinput

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Section compares the part of README.md between the markers of that name with a text, or writes it there.
func Section(t testing.TB, readme, name, text string, write bool) {
	t.Helper()
	page, err := os.ReadFile(readme)
	require.NoError(t, err)
	begin, end := "<!-- "+name+":begin -->\n\n", "\n<!-- "+name+":end -->"
	before, rest, found := strings.Cut(string(page), begin)
	require.True(t, found, begin)
	was, after, found := strings.Cut(rest, end)
	require.True(t, found, end)
	if write {
		require.NoError(t, os.WriteFile(readme, []byte(before+begin+text+end+after), 0o644))
		return
	}
	require.Equal(t, was, text, "run the test with -update, and read the difference")
}
