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
	"github.com/purekube/purekube/internal/test/seed"
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
	// Background is that of the body, to tell that the style sheet is in use.
	Background string
	// Faint are texts whose contrast with what is behind them is less than 4.5, the least that WCAG 2.1 asks of small text.
	Faint []string
	// Dim are shapes whose contrast with the page is less than 3, the least that WCAG 2.1 asks of a graphic.
	Dim []string
	// Grid says what the keyboard does not do in the grid of nodes and the search. Ran: a name of the input ran as a
	// script.
	Grid []string
	Ran  bool
	// Rows counts the rows; Left are those that the filter leaves, Folded counts lists with a row left that are closed, and Back counts the
	// rows that are there when the filter is empty again.
	Rows, Back, Folded int
	// Folds counts the lists that are closed before that.
	Folds int
	Left  []string
	// Reopened: the lists are open or closed as before the filter.
	Reopened bool
}

// frames is a page of the test that loads the pages in frames of given widths, types a word into the filter of each, and writes
// down what it finds.
const frames = `<!DOCTYPE html><title>frames</title><body><script>
const found = [], wanted = %s;
function channel(c) { c /= 255; return c <= 0.03928 ? c / 12.92 : Math.pow((c + 0.055) / 1.055, 2.4); }
function light(color) {
  const [r, g, b] = color.match(/[0-9.]+/g).map(Number);
  return 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
}
function contrast(w, e) {
  let back = e;
  while (back && /rgba\(.*, 0\)|transparent/.test(w.getComputedStyle(back).backgroundColor)) back = back.parentElement;
  return ratio(w, w.getComputedStyle(e).color, back ? w.getComputedStyle(back).backgroundColor : "rgb(255, 255, 255)");
}
function filter(d, w, word) {
  const box = d.getElementById("filter"), rows = Array.from(d.querySelectorAll(".row")), folds = Array.from(d.querySelectorAll("details.fold"));
  const type = text => { box.value = text; box.dispatchEvent(new w.Event("input")); };
  const before = folds.map(fold => fold.open);
  type(word);
  const left = rows.filter(row => !row.hidden);
  const folded = folds.filter(fold => !fold.open && fold.querySelector(".row:not([hidden])")).length;
  const visible = left.filter(row => row.getClientRects().length > 0).map(row => row.textContent.trim().replace(/\s+/g, " ").slice(0, 5000));
  type("");
  return {Folds: before.filter(open => !open).length, Rows: rows.length, Left: visible, Folded: folded, Back: rows.filter(row => !row.hidden).length,
    Reopened: folds.every((fold, i) => fold.open === before[i])};
}
function ratio(w, a, b) {
  a = light(a); b = light(b);
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}
function keyboard(d, w) {
  const wrong = [], must = (holds, what) => { if (!holds) wrong.push(what); };
  const press = (e, key) => e.dispatchEvent(new w.KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}));
  press(d.body, "/");
  must(d.activeElement === d.getElementById("filter"), "/ does not lead to the search");
  for (const grid of d.querySelectorAll(".grid")) {
    if (grid.getClientRects().length === 0) continue;
    const cells = Array.from(grid.querySelectorAll(".cell > summary, .box")), first = cells[0], last = cells[cells.length - 1];
    const stops = () => cells.filter(cell => cell.tabIndex === 0);
    must(stops().length === 1 && stops()[0] === first, "a grid is not one stop of the Tab key");
    const seen = new Set();
    first.focus();
    for (let i = 0; i < cells.length; i++) { seen.add(d.activeElement); press(d.activeElement, "ArrowRight"); }
    must(cells.every(cell => seen.has(cell)), "the arrow keys got to " + seen.size + " of " + cells.length + " cells");
    must(stops().length === 1 && stops()[0] === last, "the Tab key does not come back to the last cell");
    press(d.activeElement, "Home");
    must(d.activeElement === first, "Home");
    const below = cells.some(cell => cell.getBoundingClientRect().top > first.getBoundingClientRect().top + 4);
    press(first, "ArrowDown");
    must(below ? d.activeElement !== first && cells.includes(d.activeElement) : d.activeElement === first, "ArrowDown");
    press(d.activeElement, "ArrowUp");
    must(d.activeElement === first, "ArrowUp");
    press(first, "End");
    must(d.activeElement === last, "End");
    if (!last.matches("summary")) {
      must(d.getElementById(last.getAttribute("href").slice(1)), "a box leads to no node");
      continue;
    }
    last.click();
    must(last.parentElement.open && last.nextElementSibling.getClientRects().length > 0, "a node does not open");
    first.click();
    must(first === last || !last.parentElement.open, "two nodes are open");
    first.parentElement.open = true;
    press(first, "Escape");
    must(!first.parentElement.open && d.activeElement === first, "Escape");
  }
  for (const kind of [".panel a", ".causes a", ".budget a[href^='#object']"]) {
    const link = d.querySelector(kind), to = link ? d.getElementById(link.getAttribute("href").slice(1)) : null;
    if (!to) continue;
    to.closest("details").open = false;
    w.location.hash = link.getAttribute("href");
    w.dispatchEvent(new w.Event("hashchange"));
    must(to.closest("details").open && to.getClientRects().length > 0, "a link does not open what it leads to: " + kind);
  }
  return wrong;
}
function measure(frame, page, width, word) {
  const d = frame.contentDocument, w = frame.contentWindow;
  const filtered = filter(d, w, word), grid = keyboard(d, w);
  for (const e of d.querySelectorAll("details")) { e.removeAttribute("name"); e.open = true; }
  const dim = [], behind = w.getComputedStyle(d.body).backgroundColor;
  for (const e of d.querySelectorAll(".cell > summary, .alone, .frees, .shared")) {
    const style = w.getComputedStyle(e), edge = !e.matches("rect") ? style.borderTopColor : style.stroke === "none" ? style.fill : style.stroke;
    if (!e.matches("rect") || e.width.baseVal.value > 0) if (ratio(w, edge, behind) < 3) dim.push(e.className + " " + edge);
  }
  const wide = [];
  for (const e of d.body.querySelectorAll("*")) {
    if (e.closest(".scroll, svg")) { if (!e.matches(".scroll, svg.bar")) continue; }
    if (e.getBoundingClientRect().right > width + 0.5) wide.push(e.tagName + "." + e.className + ": " + e.textContent.slice(0, 60));
  }
  // The keyboard gets to everything that does something: what opens, what leads elsewhere, what scrolls.
  const unreachable = [], targets = d.querySelectorAll("a[href], summary, .scroll, input");
  for (const e of targets) {
    e.focus();
    if (e.tabIndex < 0 && !e.closest(".grid") || d.activeElement !== e) unreachable.push(e.tagName + ": " + e.textContent.slice(0, 60));
  }
  for (const e of d.querySelectorAll("a[href^='#']")) {
    if (!d.getElementById(decodeURIComponent(e.getAttribute("href").slice(1)))) unreachable.push("no target: " + e.getAttribute("href"));
  }
  for (const e of d.querySelectorAll("*")) {
    if (/auto|scroll/.test(w.getComputedStyle(e).overflowX) && !e.matches(".scroll, html, body")) unreachable.push("scrolls: " + e.tagName + "." + e.className);
  }
  const faint = [];
  for (const e of d.body.querySelectorAll("*")) {
    if (e.closest("svg, script")) continue;
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
    const r = contrast(w, e);
    if (r < 4.5) faint.push(e.tagName + "." + e.className + " " + r.toFixed(2) + ": " + e.textContent.slice(0, 40));
  }
  found.push({...filtered, Dim: dim, Grid: grid, Ran: "ran" in w, Faint: faint, Keyboard: targets.length, Unreachable: unreachable, Page: page, Width: w.innerWidth, ScrollWidth: d.documentElement.scrollWidth, Wide: wide, Text: d.body.innerText,
    Background: w.getComputedStyle(d.body).backgroundColor});
  if (found.length === wanted.length) {
    const out = document.createElement("pre"); out.id = "found"; out.textContent = JSON.stringify(found);
    document.body.replaceChildren(out);
  }
}
for (const [page, width, word] of wanted) {
  const f = document.createElement("iframe");
  f.style = "border:0;height:900px;width:" + width + "px";
  f.onload = () => measure(f, page, width, word);
  f.src = page; document.body.append(f);
}
</script>`

// phone is the width of a small phone in pixels.
const phone = 375

// In a browser: the pages show their text, nothing reaches past the edge of a wide or a narrow window, nothing is
// loaded besides the page, light and dark look different, every text can be read, and the filter leaves the rows with its words.
func TestPageInBrowser(t *testing.T) {
	if seed.Short() {
		t.Skip("starts a browser several times")
	}
	chromium := browser.Find(t)
	pages := map[string]string{
		"/embedded": plan(t, nil, "", "--demo", "-o", "html", "--now", noon).stdout,
		"/drift":    plan(t, nil, "", "-o", "html", "--now", "2026-11-21T01:11:07Z", "--ignore-daemonsets", "testdata/cluster-drift.yaml").stdout,
		"/scale":    plan(t, nil, scaleInput(scaleBudgets, scaleNodes), "-o", "html", "--now", noon, "-").stdout,
		"/pools":    fleetPage(t, 120),
		"/few":      fleetPage(t, 3),
		"/waves":    plan(t, nil, "", "report", "--now", noon, "--waves", "--max", "2", "--by", zoneLabel, fleetFile).stdout,
		"/hostile":  plan(t, nil, hostileFleet(), "report", "--now", noon, "-").stdout,
		"/awkward":  plan(t, nil, awkward(), "-o", "html", "--now", noon, "-").stdout,
	}
	var wanted [][]any
	for page := range pages {
		word := map[bool]string{true: "Service-157", false: "e"}[page == "/scale"]
		wanted = append(wanted, []any{page, 1280, word}, []any{page, phone, word})
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
			if r.URL.Path == "/favicon.ico" { // every browser asks for it
				w.WriteHeader(http.StatusNoContent)
				return
			}
			mutex.Lock()
			others = append(others, r.URL.Path)
			mutex.Unlock()
			http.NotFound(w, r)
		}
	}))
	defer server.Close()

	shows := map[string][]string{
		"/embedded": {"15 actions", "UpdateStatus", "shop/checkout", "10.70.0.2 (Service stock/orders)", "platform-admin", "ConsumerDone", "worker-3", "never"},
		"/drift":    {"101 actions", "node-088", "system:aggregate-to-view", "template not found", "twin-b"},
		"/awkward":  {"<script>alert(1)</script>", strings.Repeat("long-", 40)},
		"/scale":    {"13 actions", "40 of 200 nodes do not drain", "shop/service-157"},
		"/pools":    {"of 120 nodes do not drain", "with maxUnavailable 3: ", "g5.xlarge"},
		"/few":      {"3 of 3 nodes do not drain"},
		"/waves":    {"Wave 1, east", "In no wave"},
		"/hostile":  {"<img src=x onerror=ran=1>", "<script>ran=1</script>"},
	}
	for _, dark := range []bool{false, true} {
		dom, console := chromium.Load(t, server.URL+"/frames", dark)
		require.Empty(t, console)
		_, dom, ok := strings.Cut(dom, `<pre id="found">`)
		require.True(t, ok, "the frames were not measured: %s", dom)
		text, _, _ := strings.Cut(dom, "</pre>")
		var found []measured
		require.NoError(t, stdjson.Unmarshal([]byte(html.UnescapeString(text)), &found))
		require.Len(t, found, 2*len(pages))
		for _, m := range found {
			at := fmt.Sprintf("%s at %d pixels, dark %t", m.Page, m.Width, dark)
			require.Contains(t, []int{phone, 1280}, m.Width, at)
			require.LessOrEqual(t, m.ScrollWidth, m.Width, at)
			require.Empty(t, m.Wide, at)
			require.Empty(t, m.Faint, at)
			require.Empty(t, m.Dim, at)
			require.Empty(t, m.Grid, at)
			require.False(t, m.Ran, at)
			require.Greater(t, m.Keyboard, 5, at)
			require.Empty(t, m.Unreachable, at)
			require.Equal(t, dark, m.Background != "rgb(255, 255, 255)", "%s: the style sheet is not in use", at)
			for _, want := range shows[m.Page] {
				require.True(t, strings.Contains(m.Text, want), "%s: no text %q", at, want)
			}
			require.NotZero(t, m.Rows, at)
			require.NotEmpty(t, m.Left, at)
			require.Zero(t, m.Folded, at)
			require.Equal(t, m.Rows, m.Back, at)
			require.True(t, m.Reopened, at)
			if m.Page == "/scale" {
				require.Equal(t, 3, m.Folds, "%s: more causes, budgets that let a pod go, resourceclaim", at)
				require.Less(t, len(m.Left), m.Rows/5, at)
				for _, row := range m.Left {
					require.Contains(t, row, "service-157", at)
				}
			}
		}
	}

	for _, shot := range []struct {
		page string
		size browser.Size
		dark bool
	}{
		{"/embedded", browser.Size{Width: 1280, Height: 4400}, false},
		{"/embedded", browser.Size{Width: phone, Height: 8600}, true},
		{"/drift", browser.Size{Width: 1280, Height: 6000}, true},
		{"/drift", browser.Size{Width: phone, Height: 9000}, false},
		{"/scale", browser.Size{Width: 1280, Height: 3000}, false},
		{"/scale", browser.Size{Width: phone, Height: 3000}, true},
		{"/pools", browser.Size{Width: 1440, Height: 900}, false},
		{"/pools", browser.Size{Width: 1440, Height: 900}, true},
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

// hostileFleet are three nodes whose names and labels are markup that a page without escapes would run.
func hostileFleet() string {
	return strings.NewReplacer("ip-10-0-0.eu-west-1.compute.internal", `<img src=x onerror=ran=1>`, "service-0001", `</summary><script>ran=1</script>`,
		`"general"`, `"\"><svg onload=ran=1>"`).Replace(fleetOf(3))
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
