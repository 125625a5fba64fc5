package message

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestObject(t *testing.T) {
	require.Equal(t, "Pod shop/web", Object("Pod", "shop", "web"))
	require.Equal(t, "Node n1", Object("Node", "", "n1"))
	require.Equal(t, "Pod", Object("Pod", "shop", ""), "a namespace alone names nothing")
	require.Equal(t, "shop/web", Object("", "shop", "web"), "an object that a program wrote may have no kind")
	require.Empty(t, Object("", "", ""))
}

func TestCount(t *testing.T) {
	require.Equal(t, "0 pods, 1 pod, 2 pods", Count(0, "pod")+", "+Count(1, "pod")+", "+Count(2, "pod"))
	require.Equal(t, "1 address, 2 addresses", Count(1, "address")+", "+Count(2, "address"))
}

func TestTextsFit(t *testing.T) {
	for _, tc := range []struct{ name, reason, text, want string }{
		{"empty", "there is nothing to cut", "", ""},
		{"just fits", "the limit is included", strings.Repeat("x", 1024), strings.Repeat("x", 1024)},
		{"one too many", "the mark has to fit as well", strings.Repeat("x", 1025), strings.Repeat("x", 1012) + mark},
		{"runes of two bytes", "it is cut between runes", "x" + strings.Repeat("é", 600), "x" + strings.Repeat("é", 505) + mark},
		{"runes of four bytes", "it is cut between runes", "xxx" + strings.Repeat("😀", 300), "xxx" + strings.Repeat("😀", 252) + mark},
		{"not UTF-8", "JSON would say the same", "a\xffb", "a\uFFFDb"},
		{"not UTF-8 and long in JSON", "what JSON makes of it counts", strings.Repeat("\xff", 400), strings.Repeat("\uFFFD", 337) + mark},
		{"a rune at the end of what is read", "no half of it is left", strings.Repeat("x", 1026) + "😀", strings.Repeat("x", 1012) + mark},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Event(tc.text)
			require.Equal(t, tc.want, got, tc.reason)
			body, err := json.Marshal(got)
			require.NoError(t, err)
			var read string
			require.NoError(t, json.Unmarshal(body, &read))
			require.Equal(t, got, read, "it comes back as it was sent")
			require.LessOrEqual(t, len(read), eventLimit)
		})
	}
	require.Len(t, Condition(strings.Repeat("x", 1<<20)), conditionLimit)
}
