package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// The tests of testdata/limit leave these mutants alive, and no others.
func TestSurvivors(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a package")
	}
	*only = ""
	known := map[string]bool{"limit/limit.go\tLimit\t> is >=\tif n > most {": true}
	r, err := run("./testdata/limit", known)
	require.NoError(t, err)
	var survived []string
	for _, m := range r.survived {
		survived = append(survived, m.function+": "+m.what)
	}
	want := []string{
		"Within: without the right side of &&",
		"Within: >= is >",
		"Within: <= is <",
	}
	if diff := cmp.Diff(want, survived); diff != "" {
		t.Errorf("survivors (-want +got):\n%s", diff)
	}
	require.Equal(t, 1, r.excused)
	require.Equal(t, r.mutants, r.killed+1+len(want))
	require.Greater(t, r.mutants, 20)
}
