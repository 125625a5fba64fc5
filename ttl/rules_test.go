package ttl

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBR1901To05_DefaultTable(t *testing.T) {
	bs := Steps()
	require.Len(t, bs, len(ruleTTL))
	for i, b := range bs {
		require.Equal(t, Boundary{ruleMin[i], ruleMax[i], time.Duration(ruleTTL[i]) * time.Second}, b, "BR-19-0%d: step %d", i+1, i)
		require.Equal(t, b.TTL, table(Steps()).at(i).TTL)
	}
}
