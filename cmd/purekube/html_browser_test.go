package main

import (
	"bytes"
	stdjson "encoding/json"
	"flag"
	"fmt"
	"html"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube/internal/test/browser"
)

var screenshots = flag.String("screenshots", "", "a folder for the screenshots of TestPageInBrowser")

// measured is what a browser says of a page in a frame of a width.
type measured struct {
	Page        string
	Width       int
	ScrollWidth int
	// Wide are elements that reach past the right edge, scrollable ones and what is in them apart.
	Wide []string
	Text string
	// Keyboard counts what the keyboard can get to, Unreachable names what it ought to and cannot.
	Keyboard    int
	Unreachable []string
	// Closed counts the details that are not open.
	Closed int
	// Background is that of the body, to tell that the style sheet is in use.
	Background string
}

// frames is a page of the test that loads the pages in frames of given widths and writes down what it finds. The pages
// themselves have no scripts.
const frames = `<!DOCTYPE html><title>frames</title><body><script>
const found = [], wanted = %s;
function measure(frame, page, width) {
  const d = frame.contentDocument, w = frame.contentWindow;
  for (const e of d.querySelectorAll("details")) if (!e.open) e.dataset.closed = "1";
  const closed = d.querySelectorAll("[data-closed]").length;
  for (const e of d.querySelectorAll("details")) e.open = true;
  const wide = [];
  for (const e of d.body.querySelectorAll("*")) {
    if (e.closest(".scroll, svg")) { if (!e.matches(".scroll, svg.bar")) continue; }
    if (e.getBoundingClientRect().right > width + 0.5) wide.push(e.tagName + "." + e.className + ": " + e.textContent.slice(0, 60));
  }
  // The keyboard gets to everything that does something: what opens, what leads elsewhere, what scrolls.
  const unreachable = [], targets = d.querySelectorAll("a[href], summary, .scroll");
  for (const e of targets) {
    e.focus();
    if (e.tabIndex < 0 || d.activeElement !== e) unreachable.push(e.tagName + ": " + e.textContent.slice(0, 60));
  }
  for (const e of d.querySelectorAll("a[href^='#']")) {
    if (!d.getElementById(decodeURIComponent(e.getAttribute("href").slice(1)))) unreachable.push("no target: " + e.getAttribute("href"));
  }
  for (const e of d.querySelectorAll("*")) {
    if (/auto|scroll/.test(w.getComputedStyle(e).overflowX) && !e.matches(".scroll, html, body")) unreachable.push("scrolls: " + e.tagName + "." + e.className);
  }
  found.push({Keyboard: targets.length, Unreachable: unreachable, Page: page, Width: w.innerWidth, ScrollWidth: d.documentElement.scrollWidth, Wide: wide, Text: d.body.innerText, Closed: closed,
    Background: w.getComputedStyle(d.body).backgroundColor});
  if (found.length === wanted.length) {
    const out = document.createElement("pre"); out.id = "found"; out.textContent = JSON.stringify(found);
    document.body.replaceChildren(out);
  }
}
for (const [page, width] of wanted) {
  const f = document.createElement("iframe");
  f.style = "border:0;height:900px;width:" + width + "px";
  f.onload = () => measure(f, page, width);
  f.src = page; document.body.append(f);
}
</script>`

// In a browser: the pages show their text, nothing reaches past the edge of a wide or a narrow window, nothing is
// loaded besides the page, and light and dark look different.
func TestPageInBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser several times")
	}
	chromium := browser.Find(t)
	pages := map[string]string{
		"/embedded": plan(t, nil, "", "-o", "html", "-now", noon).stdout,
		"/drift":    plan(t, nil, "", "-o", "html", "-now", "2026-11-21T01:11:07Z", "-ignore-daemonsets", "testdata/cluster-drift.yaml").stdout,
		"/awkward":  plan(t, nil, awkward(), "-o", "html", "-now", noon, "-").stdout,
	}
	var wanted [][]any
	for page := range pages {
		wanted = append(wanted, []any{page, 1280}, []any{page, 400})
	}
	script, err := stdjson.Marshal(wanted)
	require.NoError(t, err)

	var mutex sync.Mutex
	var others []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, known := pages[r.URL.Path]
		switch {
		case known:
			fmt.Fprint(w, page)
		case r.URL.Path == "/frames":
			fmt.Fprintf(w, frames, script)
		default:
			if r.URL.Path != "/favicon.ico" { // every browser asks for it
				mutex.Lock()
				others = append(others, r.URL.Path)
				mutex.Unlock()
			}
			http.NotFound(w, r)
		}
	}))
	defer server.Close()

	dom := chromium.DOM(t, server.URL+"/frames")
	_, dom, ok := strings.Cut(dom, `<pre id="found">`)
	require.True(t, ok, "the frames were not measured: %s", dom)
	text, _, _ := strings.Cut(dom, "</pre>")
	var found []measured
	require.NoError(t, stdjson.Unmarshal([]byte(html.UnescapeString(text)), &found))
	require.Len(t, found, 2*len(pages))
	shows := map[string][]string{
		"/embedded": {"15 actions", "UpdateStatus", "shop/checkout", "10.70.0.2 (Service stock/orders)", "platform-admin", "ConsumerDone", "worker-3", "never"},
		"/drift":    {"101 actions", "node-088", "system:aggregate-to-view", "template not found", "twin-b"},
		"/awkward":  {"<script>alert(1)</script>", strings.Repeat("long-", 40)},
	}
	for _, m := range found {
		at := fmt.Sprintf("%s at %d pixels", m.Page, m.Width)
		require.Contains(t, []int{400, 1280}, m.Width, at)
		require.LessOrEqual(t, m.ScrollWidth, m.Width, at)
		require.Empty(t, m.Wide, at)
		require.Greater(t, m.Keyboard, 5, at)
		require.Empty(t, m.Unreachable, at)
		require.Equal(t, "rgb(255, 255, 255)", m.Background, "%s: the style sheet is not in use", at)
		for _, want := range shows[m.Page] {
			require.Contains(t, m.Text, want, at)
		}
	}

	for _, shot := range []struct {
		page string
		size browser.Size
		dark bool
	}{
		{"/embedded", browser.Size{Width: 1280, Height: 4400}, false},
		{"/embedded", browser.Size{Width: 400, Height: 8600}, true},
		{"/drift", browser.Size{Width: 1280, Height: 6000}, true},
		{"/drift", browser.Size{Width: 400, Height: 9000}, false},
	} {
		data := chromium.Screenshot(t, server.URL+shot.page, shot.size, shot.dark)
		picture, err := png.Decode(bytes.NewReader(data))
		require.NoError(t, err)
		require.Equal(t, image.Pt(shot.size.Width, shot.size.Height), picture.Bounds().Size())
		r, g, b, _ := picture.At(1, 1).RGBA()
		require.Equal(t, shot.dark, r+g+b < 3*0x8000, "%s: the background of dark and light", shot.page)
		require.Greater(t, colours(picture), 50, "%s: nothing is drawn", shot.page)
		if *screenshots != "" {
			scheme := map[bool]string{false: "light", true: "dark"}[shot.dark]
			name := fmt.Sprintf("%s-%d-%s.png", strings.TrimPrefix(shot.page, "/"), shot.size.Width, scheme)
			require.NoError(t, os.WriteFile(filepath.Join(*screenshots, name), data, 0o644))
		}
	}
	require.Empty(t, others, "the pages load nothing")
}

// colours counts the different colours of a picture, of every fourth pixel.
func colours(p image.Image) int {
	seen := map[[3]uint32]bool{}
	for y := p.Bounds().Min.Y; y < p.Bounds().Max.Y; y += 4 {
		for x := p.Bounds().Min.X; x < p.Bounds().Max.X; x += 4 {
			r, g, b, _ := p.At(x, y).RGBA()
			seen[[3]uint32{r, g, b}] = true
		}
	}
	return len(seen)
}
