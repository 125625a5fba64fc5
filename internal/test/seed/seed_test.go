package seed

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// logged is a test that fails on demand, and keeps what it logs.
type logged struct {
	testing.TB
	failed   bool
	lines    []string
	cleanups []func()
}

func (l *logged) Helper()          {}
func (l *logged) Name() string     { return "TestX" }
func (l *logged) Failed() bool     { return l.failed }
func (l *logged) Cleanup(f func()) { l.cleanups = append(l.cleanups, f) }
func (l *logged) Logf(format string, args ...any) {
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

// play takes seeds until the one that fails, and returns them and what was logged.
func play(t *testing.T, text string, n int, fails uint64) (seeds []uint64, lines []string) {
	t.Helper()
	before := byFlag
	defer func() { byFlag = before }()
	require.NoError(t, byFlag.Set(text))
	l := &logged{TB: t}
	for s := range Each(l, n) {
		seeds = append(seeds, s)
		l.failed = s == fails
	}
	for _, f := range l.cleanups {
		f()
	}
	return seeds, l.lines
}

func TestSeedsAreFixedUnlessOthersAreAskedFor(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		fails      uint64
		want       []uint64
		lines      []string
	}{
		{"fixed", "", 99, []uint64{0, 1, 2}, nil},
		{"fixed, one fails", "", 1, []uint64{0, 1}, []string{"again: -run '^TestX$' -seed 1"}},
		{"from one on", "40+", 99, []uint64{40, 41, 42}, []string{"-seed 40+"}},
		{"one alone", "40", 99, []uint64{40}, []string{"-seed 40"}},
		{"one alone, and it fails", "40", 40, []uint64{40}, []string{"-seed 40", "again: -run '^TestX$' -seed 40"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			seeds, lines := play(t, tc.text, 3, tc.fails)
			require.Equal(t, tc.want, seeds)
			require.Equal(t, tc.lines, lines)
		})
	}
}

// A random run says how to repeat it, and that repeats it.
func TestRandomSeedsAreLogged(t *testing.T) {
	random, lines := play(t, "random", 3, 0)
	other, _ := play(t, "random", 3, 0)
	require.NotEqual(t, random, other)
	again, _ := play(t, strings.TrimPrefix(lines[0], "-seed "), 3, 0)
	require.Equal(t, random, again)
}

func TestFromVariable(t *testing.T) {
	const variable = "PUREKUBE_TEST_OF_SEED"
	require.EqualValues(t, 7, FromVariable(t, variable, 7))
	t.Setenv(variable, "random")
	l := &logged{TB: t}
	random := FromVariable(l, variable, 7)
	require.Equal(t, []string{fmt.Sprintf("%s=%d", variable, random)}, l.lines)
	t.Setenv(variable, fmt.Sprint(random))
	require.Equal(t, random, FromVariable(t, variable, 7))
}

func TestChoice_BadText(t *testing.T) {
	for _, text := range []string{"Random", "-1", "1.5", "+", "0x10", "4711 +"} {
		require.Error(t, (&Choice{}).Set(text), text)
	}
}

func TestShort(t *testing.T) {
	run, short := flag.Lookup("test.run").Value.String(), flag.Lookup("test.short").Value.String()
	t.Cleanup(func() {
		require.NoError(t, flag.Set("test.run", run))
		require.NoError(t, flag.Set("test.short", short))
	})
	for _, tc := range []struct {
		name, full, run, short string
		want                   bool
	}{
		{"all tests", "", "", "false", true},
		{"everything is asked for", "1", "", "false", false},
		{"a test is named", "", "TestX", "false", false},
		{"-short wins", "1", "TestX", "true", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Setenv(Full, tc.full)
			require.NoError(t, flag.Set("test.run", tc.run))
			require.NoError(t, flag.Set("test.short", tc.short))
			require.Equal(t, tc.want, Short())
		})
	}
}
