package model

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a search before this one left does not cut this one off.
func TestGarbageIsNotTheSearchs(t *testing.T) {
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	limit := inUse() + 64<<20
	garbage := make([]byte, 128<<20)
	runtime.KeepAlive(garbage)
	r := Search(worlds()[0], false, Bounds{States: 100, Memory: limit})
	require.Equal(t, "number of states", r.CutOff)
	kept := make([]byte, 128<<20)
	r = Search(worlds()[0], false, Bounds{States: 100, Memory: limit})
	runtime.KeepAlive(kept)
	require.Equal(t, "memory", r.CutOff)
}
