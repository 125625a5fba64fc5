package purekube_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube"
)

func TestParseUpstream(t *testing.T) {
	for _, tc := range []struct {
		text string
		want purekube.Upstream
	}{
		{"v1.36", purekube.V1_36}, {"1.36", purekube.V1_36}, {"v1.36.3", purekube.V1_36}, {"1.37.0", purekube.V1_37}, {"v1.37.12", purekube.V1_37},
	} {
		got, err := purekube.ParseUpstream(tc.text)
		require.NoError(t, err, tc.text)
		require.Equal(t, tc.want, got, tc.text)
	}
	for _, text := range []string{
		"", "v", "v1", "v1.35", "v1.38.0", "v1.360", "nonsense", "vv1.36", "V1.36", " v1.36", "v1.36.", "v1.36.x", "v1.36.03",
		"v1.36.3.1", "v1.36.3-alpha.1", "v1.37.0+k3s1", "v1.36-3",
	} {
		got, err := purekube.ParseUpstream(text)
		require.ErrorIs(t, err, purekube.ErrUnknownUpstream, text)
		require.ErrorContains(t, err, "\""+text+"\": want v1.36 or v1.37")
		require.Empty(t, got, text)
	}
}
