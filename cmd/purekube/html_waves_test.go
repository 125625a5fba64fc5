package main

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube/internal/test/browser"
	"github.com/purekube/purekube/internal/test/seed"
)

// The expected picture follows from the budgets of the file, as in TestDrainOfSeveralNodes.
func TestPageOfWaves(t *testing.T) {
	got := plan(t, nil, "", "report", "--now", noon, "--waves", "--max", "2", "--rounds", "2", "--by", zoneLabel, fleetFile)
	require.Zero(t, got.status, got.stderr)
	page := parsePage(t, got.stdout)
	require.Equal(t, 1, page.ids["waves"])
	require.Contains(t, page.targets, "#waves")
	require.Empty(t, page.loads)
	text := strings.Join(strings.Fields(page.text), " ")
	for _, want := range []string{
		"kubectl drain, in waves of at most 2 nodes with the same " + zoneLabel + ", each in at most 2 rounds",
		"Wave 1, east 4 pods, 2 rounds east-1east-2 Wave 2, west 4 pods, 2 rounds west-1west-2 Wave 3, west 2 pods, 1 round west-3 In no wave",
		"east-3 never drains. ", "budget shop/queue (maxUnavailable 1) is short of 1 healthy pod: shop/queue-0",
	} {
		require.Contains(t, text, want)
	}
	require.Equal(t, 2, strings.Count(got.stdout, `<li class="lane row group-1">`), "the waves of the group west")
	link := regexp.MustCompile(`<a class="box" href="#(node-\d)" aria-label="west-3: 2 pods evicted in 1 round">west-3</a>`).FindStringSubmatch(got.stdout)
	require.Len(t, link, 2)
	holds(t, got.stdout, `id="`+link[1]+`"><p><strong>west-3</strong> drains now. 1 pod: 1 evicted.`)
	require.Equal(t, 2, strings.Count(got.stdout, `<summary aria-label="east-3: never drains">`), "in its pool, and in no wave")

	without := plan(t, nil, "", "report", "--now", noon, fleetFile)
	require.Zero(t, parsePage(t, without.stdout).ids["waves"], "only --waves asks for it")
}

// A picture of many waves shows the first, and folds the rest. All nodes of a wave are drawn.
func TestPageOfManyWaves(t *testing.T) {
	var input strings.Builder
	for i := range 150 {
		fmt.Fprintf(&input, `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n-%03d"}}`+"\n", i)
	}
	input.WriteString(budgetOf("db", "db", `"maxUnavailable":0`, noStatus) + statefulSetOf("db", 30))
	for i := range 30 {
		input.WriteString(podOf(fmt.Sprint("db-", i), "db", "StatefulSet", fmt.Sprintf("n-%03d", i), "True"))
	}
	for _, tc := range []struct {
		name, reason, most string
		lanes              int
		folded             bool
	}{
		{name: "one large wave", reason: "120 nodes without pods drain together", most: "0", lanes: 1},
		{name: "a node in each wave", reason: "120 waves of which 20 are drawn", most: "1", lanes: 120, folded: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := plan(t, nil, input.String(), "report", "--now", noon, "--waves", "--max", tc.most, "-").stdout
			require.Equal(t, tc.lanes, strings.Count(got, `<li class="lane row`), tc.reason)
			require.Equal(t, 120, strings.Count(got, `<a class="box"`))
			require.Equal(t, tc.folded, strings.Contains(got, "100 more waves"), tc.reason)
			require.Equal(t, 30, strings.Count(got, `id="blocked-`), "30 nodes have a pod that stays")
			holds(t, got, `aria-label="n-149: 0 pods evicted in 0 rounds"`)
		})
	}
}

// What the picture cannot be drawn from is an error of the report.
func TestPageOfWavesRefuses(t *testing.T) {
	for _, tc := range []struct {
		name, reason, want string
		args               []string
	}{
		{name: "graphs", reason: "no picture of waves in them", args: []string{"--waves", "-o", "mermaid"}, want: "--waves is for -o html"},
		{name: "a limit alone", reason: "as for drain", args: []string{"--max", "3"}, want: "--max, --rounds and --by are for --waves"},
		{name: "graphs of pools", reason: "no nodes in them", args: []string{"--pool", "zone", "-o", "mermaid"}, want: "--pool is for -o html"},
		{name: "no label", reason: "no node has it", args: []string{"--pool", "a b"}, want: `--pool "a b": not the key of a label`},
		{name: "no such label", reason: "the group of no node is known", args: []string{"--waves", "--by", "pool", "--now", noon}, want: "no label pool, or two values of it, on 6 nodes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := plan(t, nil, "", append(append([]string{"report"}, tc.args...), fleetFile)...)
			require.NotZero(t, got.status, tc.reason)
			require.Contains(t, got.stderr, tc.want, tc.reason)
		})
	}
}

// In a browser the boxes have the colours of their groups, light and dark, in a wide window and a narrow one.
func TestWavesInBrowser(t *testing.T) {
	if seed.Short() {
		t.Skip("starts a browser several times")
	}
	chromium := browser.Find(t)
	page := plan(t, nil, "", "report", "--now", noon, "--waves", "--max", "2", "--rounds", "2", "--by", zoneLabel, fleetFile).stdout
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, page) }))
	defer server.Close()
	for _, shot := range []struct {
		name       string
		width      int
		dark       bool
		east, west color.RGBA
	}{
		{"light", 1280, false, color.RGBA{0xcf, 0xe0, 0xf7, 0xff}, color.RGBA{0xfb, 0xe0, 0xc4, 0xff}},
		{"dark", 400, true, color.RGBA{0x1f, 0x3d, 0x66, 0xff}, color.RGBA{0x5c, 0x36, 0x10, 0xff}},
	} {
		data := chromium.Screenshot(t, server.URL, browser.Size{Width: shot.width, Height: 2400}, shot.dark)
		picture, err := png.Decode(bytes.NewReader(data))
		require.NoError(t, err)
		// Three boxes of each group, of some thousand pixels each.
		require.Greater(t, pixels(picture, shot.east), 1500, "%s: the group east", shot.name)
		require.Greater(t, pixels(picture, shot.west), 1500, "%s: the group west", shot.name)
		if *screenshots != "" {
			require.NoError(t, os.WriteFile(filepath.Join(*screenshots, "waves-"+shot.name+".png"), data, 0o600))
		}
	}
}

// pixels counts the pixels of the colour.
func pixels(p image.Image, of color.RGBA) (n int) {
	for y := p.Bounds().Min.Y; y < p.Bounds().Max.Y; y++ {
		for x := p.Bounds().Min.X; x < p.Bounds().Max.X; x++ {
			if color.RGBAModel.Convert(p.At(x, y)) == of {
				n++
			}
		}
	}
	return n
}
