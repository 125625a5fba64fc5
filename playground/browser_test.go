//go:build !js

package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube/playground/answer"
)

var screenshots = flag.String("screenshots", "", "a folder for the screenshots of TestPage")

// limit is how large the page may be when it is sent compressed.
const limit = 5_000_000

// samples are the values of the selection, with their files.
var samples = []struct{ name, file string }{
	{"1-cluster", "1-cluster.yaml"}, {"2-rounds", "2-rounds.json"}, {"3-chart", "3-chart.yaml"}, {"4-room", "4-room.yaml"}, {"5-unknown", "5-unknown.yaml"},
}

// site is the built page on a local server, and a browser.
type site struct {
	url, file string
	browser   context.Context
	mutex     sync.Mutex
	requests  []string
}

// open builds the page, and starts a server and a browser.
func open(t *testing.T) *site {
	if testing.Short() {
		t.Skip("builds the page, and starts a browser")
	}
	if _, err := exec.LookPath("chromium"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("no Chromium is installed: apt-get install chromium")
		}
		t.Skip("no Chromium is installed: apt-get install chromium")
	}
	out, err := exec.Command("./build.sh").CombinedOutput()
	require.NoError(t, err, "%s", out)
	file, err := filepath.Abs("dist/index.html")
	require.NoError(t, err)
	page, err := os.ReadFile(file)
	require.NoError(t, err)

	s := &site{file: file}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mutex.Lock()
		s.requests = append(s.requests, r.URL.String())
		s.mutex.Unlock()
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		w.Write(page)
	}))
	t.Cleanup(server.Close)
	s.url = server.URL + "/"

	allocator, cancel := chromedp.NewExecAllocator(t.Context(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath("chromium"), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()),
		chromedp.WSURLReadTimeout(time.Minute))...)
	t.Cleanup(cancel)
	s.browser, cancel = chromedp.NewContext(allocator)
	t.Cleanup(func() { chromedp.Cancel(s.browser); cancel() })
	require.NoError(t, chromedp.Do(s.browser))
	return s
}

// All tests of the page share a browser: to build the page and to start the browser takes most of the time.
func TestPage(t *testing.T) {
	s := open(t)
	for _, test := range []struct {
		name string
		run  func(*testing.T, *site)
	}{{"samples", testSamples}, {"nothing leaves the page", testNothingLeaves}, {"keyboard", testKeyboard}, {"link", testLink}, {"file", testFile}} {
		s.asked()
		t.Run(test.name, func(t *testing.T) { test.run(t, s) })
	}
}

// asked returns what the server was asked for, and forgets it.
func (s *site) asked() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	asked := s.requests
	s.requests = nil
	return asked
}

// tab is a tab of the browser. complaints are what the console says, and requests what the page asked for.
type tab struct {
	context.Context
	t                    *testing.T
	mutex                sync.Mutex
	complaints, requests []string
}

// tab opens the address in a tab of this width.
func (s *site) tab(t *testing.T, url string, width int64, dark bool) *tab {
	ctx, cancel := chromedp.NewContext(s.browser)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancel)
	p := &tab{Context: ctx, t: t}
	require.NoError(t, chromedp.Listen(ctx, func(event any) {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		switch e := event.(type) {
		case *runtime.EventConsoleAPICalled:
			p.complaints = append(p.complaints, fmt.Sprintf("console.%s %s", e.Type, e.Args[0].Value))
		case *runtime.EventExceptionThrown:
			p.complaints = append(p.complaints, e.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			p.complaints = append(p.complaints, e.Entry.Text)
		case *network.EventRequestWillBeSent:
			p.requests = append(p.requests, strings.SplitN(e.Request.URL, "#", 2)[0])
		}
	}))
	call(p, log.Enable, cdp.Empty{})
	call(p, network.Enable, network.EnableParams{})
	call(p, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: 900, DeviceScaleFactor: 1, Mobile: width < 500})
	scheme := map[bool]string{false: "light", true: "dark"}[dark]
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	p.do(chromedp.Navigate(url))
	return p
}

func call[P, R any](p *tab, command cdp.Command[P, R], params P) {
	p.t.Helper()
	_, err := chromedp.Call(p, command, params)
	require.NoError(p.t, err)
}

func (p *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	require.NoError(p.t, chromedp.Do(p, actions...))
}

// eval is the value of a script, of which it waits for a promise.
func eval[T any](p *tab, script string) T {
	p.t.Helper()
	value, err := chromedp.Run(p, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	require.NoError(p.t, err, script)
	return value
}

// until waits until the script is true. It asks again and again, since the page's policy forbids functions made of text, with which
// chromedp waits.
func (p *tab) until(script string) {
	p.t.Helper()
	for end := time.Now().Add(time.Minute); !eval[bool](p, script); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("%s: %s", script, eval[string](p, `document.getElementById("answer").textContent`))
		}
	}
}

// answered waits for an answer in which the page says this.
func (p *tab) answered(words string) {
	p.t.Helper()
	p.until(fmt.Sprintf(`document.getElementById("status").dataset.state === "answered" && document.getElementById("answer").textContent.includes(%q)`, words))
}

// look finds what is wrong with the look of the page: what reaches past the edge, and what cannot be read.
const look = `(width => {
  const wrong = [], channel = c => (c /= 255) <= 0.03928 ? c / 12.92 : Math.pow((c + 0.055) / 1.055, 2.4);
  const light = color => { const [r, g, b] = color.match(/[0-9.]+/g).map(Number); return 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b); };
  for (const e of document.querySelectorAll("details")) e.open = true;
  if (document.documentElement.scrollWidth > width) wrong.push("scrolls to " + document.documentElement.scrollWidth);
  for (const e of document.body.querySelectorAll("*:not(script)")) {
    if (e.closest(".hidden") || !e.getClientRects().length) continue;
    if (e.getBoundingClientRect().right > width + 0.5) wrong.push("too wide: " + e.tagName + "." + e.className);
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
    let back = e;
    while (back && /rgba\(.*, 0\)|transparent/.test(getComputedStyle(back).backgroundColor)) back = back.parentElement;
    const a = light(getComputedStyle(e).color), b = light(getComputedStyle(back || document.body).backgroundColor);
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) wrong.push("contrast " + contrast.toFixed(2) + ": " + e.textContent.slice(0, 40));
  }
  return wrong;
})`

// The page answers each sample as the package does, on wide and narrow windows, in light and dark colours. The browser asks for
// the page and for nothing else, and its console stays empty.
func testSamples(t *testing.T, s *site) {
	question := answer.Question{IgnoreDaemonSets: true, DeleteEmptyDirData: true}
	for _, width := range []int64{375, 1440} {
		for _, dark := range []bool{false, true} {
			p := s.tab(t, s.url, width, dark)
			p.answered("worker-4")
			require.Equal(t, dark, eval[string](p, `getComputedStyle(document.body).backgroundColor`) != "rgb(255, 255, 255)")
			for _, sample := range samples {
				text, err := os.ReadFile(filepath.Join("samples", sample.file))
				require.NoError(t, err)
				eval[bool](p, fmt.Sprintf(`(() => { const s = document.getElementById("sample"); s.value = %q; s.dispatchEvent(new Event("change")); return true; })()`, sample.name))
				for _, words := range expected(answer.Ask(text, question, time.Now())) {
					p.answered(words)
				}
				require.Equal(t, string(text), eval[string](p, `document.getElementById("text").value`))
				if *screenshots != "" {
					picture, err := chromedp.Run(p, chromedp.FullScreenshot(100))
					require.NoError(t, err)
					name := fmt.Sprintf("%s-%d-%t.png", sample.name, width, dark)
					require.NoError(t, os.WriteFile(filepath.Join(*screenshots, name), picture, 0o644))
				}
				require.Empty(t, eval[[]string](p, fmt.Sprintf("%s(%d)", look, width)), "%s at %d pixels, dark %t", sample.name, width, dark)
			}
			p.mutex.Lock()
			require.Empty(t, p.complaints)
			require.Equal(t, []string{s.url}, without(p.requests, "blob:", "data:"))
			p.mutex.Unlock()
			require.Equal(t, []string{"/"}, s.asked())
		}
	}
}

// expected are texts of the answer.
func expected(a answer.Answer) (texts []string) {
	if a.Drains != nil {
		for _, n := range a.Drains.Nodes {
			texts = append(texts, n.Name+" "+n.Says)
			texts = append(texts, n.Steps...)
		}
		for _, b := range a.Drains.Blockers {
			texts = append(append(texts, b.Message), b.Fixes...)
		}
	}
	for _, b := range a.Budgets {
		texts = append(texts, b.Name+" "+b.State, b.Says)
	}
	for _, r := range a.Refusals {
		texts = append(texts, r.Why)
	}
	for _, f := range a.Lint {
		texts = append(texts, f.Message)
	}
	return texts
}

func without(urls []string, schemes ...string) (left []string) {
	for _, url := range urls {
		inside := false
		for _, scheme := range schemes {
			inside = inside || strings.HasPrefix(url, scheme)
		}
		if !inside {
			left = append(left, url)
		}
	}
	return left
}

// The page, its worker and the data in it send nothing, whatever their scripts try.
func testNothingLeaves(t *testing.T, s *site) {
	p := s.tab(t, s.url, 1440, false)
	p.answered("worker-4")
	s.asked()
	require.Equal(t, "refused", eval[string](p, `fetch("/leak").then(() => "sent", () => "refused")`))
	require.Equal(t, "refused", eval[string](p, `new Promise(done => { const i = new Image(); i.onload = () => done("sent"); i.onerror = () => done("refused"); i.src = "/leak.png"; })`))
	require.Equal(t, "refused", eval[string](p, `new Promise(done => { const s = document.createElement("script"); s.onload = () => done("sent"); s.onerror = () => done("refused"); s.src = "/leak.js"; document.head.append(s); })`))
	require.False(t, eval[bool](p, `navigator.sendBeacon("/leak", "x") && false`))
	require.Equal(t, "refused", eval[string](p, `new Promise(done => {
		const w = new Worker(URL.createObjectURL(new Blob(["fetch('`+s.url+`leak').then(() => postMessage('sent'), () => postMessage('refused'))"])));
		w.onmessage = e => done(e.data); })`))
	require.Equal(t, "refused", eval[string](p, `new Promise(done => { try { new WebSocket("`+strings.Replace(s.url, "http", "ws", 1)+`leak").onopen = () => done("sent"); setTimeout(() => done("refused"), 300); } catch { done("refused"); } })`))
	require.Empty(t, s.asked())
	require.Zero(t, eval[int](p, `localStorage.length + sessionStorage.length + document.cookie.length`))

	// The page is small enough, also where a server compresses as most do. What is base64 compresses to three quarters.
	page, err := os.ReadFile(s.file)
	require.NoError(t, err)
	_, module, found := strings.Cut(string(page), `id="module">`)
	require.True(t, found)
	packed, err := base64.StdEncoding.DecodeString(module[:strings.Index(module, "<")])
	require.NoError(t, err)
	require.Less(t, len(packed)+len(page)-len(module), limit)

	// Saved, it works without a server.
	p = s.tab(t, "file://"+s.file, 1440, false)
	p.answered("worker-4")
	require.Empty(t, p.complaints)
}

// Everything works with the keyboard alone.
func testKeyboard(t *testing.T, s *site) {
	p := s.tab(t, s.url, 1440, false)
	p.answered("worker-4")
	focused := func() string {
		return eval[string](p, `(e => e.id || (e.className + " " + e.textContent.slice(0, 30)).trim())(document.activeElement)`)
	}
	var order []string
	for range 12 {
		p.do(chromedp.KeyEvent(kb.Tab))
		order = append(order, focused())
		require.NotEqual(t, "none", eval[string](p, `getComputedStyle(document.activeElement).outlineStyle`), "%s: the focus is not visible", focused())
	}
	require.Equal(t, []string{"How?", "sample", "open", "text", "ignoreDaemonSets", "deleteEmptyDirData", "force", "share"}, order[:8])
	// The rows of the answer open.
	require.Contains(t, order[8], "worker-1")
	eval[bool](p, `document.querySelector("#out summary").focus() || true`)
	p.do(chromedp.KeyEvent(kb.Enter))
	require.True(t, eval[bool](p, `document.querySelector("#out details").open`))

	// Another sample, with the arrows.
	focus := func(id string) { eval[bool](p, `document.getElementById("`+id+`").focus() || true`) }
	focus("sample")
	p.do(chromedp.KeyEvent(kb.End))
	p.answered("does not say that the cluster has none")
	eval[bool](p, `document.querySelector("#out .none").focus() || true`)
	p.do(chromedp.KeyEvent(" "))
	p.answered("Taken from you")
	p.answered("node-a now")
	require.Equal(t, "text", focused())

	// What is typed is answered, and not read as HTML.
	eval[bool](p, `document.getElementById("text").select() || true`)
	p.do(chromedp.KeyEvent("apiVersion: v1\rkind: Pod\rmetadata: {name: '<img src=/leak onerror=alert(1)>'}\rspec: {nodeName: a}"))
	p.answered("does not say that the cluster has none") // of this input nobody said so
	eval[bool](p, `document.querySelector("#out .none").focus() || true`)
	p.do(chromedp.KeyEvent(kb.Enter))
	p.answered("<img src=/leak onerror=alert(1)>")
	require.Zero(t, eval[int](p, `document.querySelectorAll("#out img").length`))
	p.mutex.Lock()
	defer p.mutex.Unlock()
	require.Empty(t, p.complaints)
	require.Equal(t, []string{"/"}, s.asked())
}

// A link brings the input and the question back. One that unpacks to more than it may is not read.
func testLink(t *testing.T, s *site) {
	p := s.tab(t, s.url, 375, false)
	p.answered("worker-4")
	eval[bool](p, `(() => { const s = document.getElementById("sample"); s.value = "3-chart"; s.dispatchEvent(new Event("change")); return true; })()`)
	p.answered("shop/db")
	eval[bool](p, `(() => { const n = document.getElementById("nodes"); n.value = 4; n.dispatchEvent(new Event("input")); document.getElementById("force").click(); return true; })()`)
	p.answered("4 added nodes")
	eval[bool](p, `document.getElementById("share").click() || true`)
	p.until(`location.hash.includes("input=")`)
	link := eval[string](p, `location.href`)
	require.Less(t, len(link), 1200)
	text := eval[string](p, `document.getElementById("text").value`)
	p.mutex.Lock()
	require.Empty(t, p.complaints)
	p.mutex.Unlock()

	q := s.tab(t, link, 375, false)
	q.answered("4 added nodes")
	q.answered("--force")
	require.Equal(t, text, eval[string](q, `document.getElementById("text").value`))
	require.Equal(t, []string{"/", "/"}, s.asked(), "what is behind the # is not sent")

	bomb := eval[string](q, `(async () => {
		const packed = new Blob([new Uint8Array(50 << 20)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
		const bytes = new Uint8Array(await new Response(packed).arrayBuffer());
		let s = ""; for (const b of bytes) s += String.fromCharCode(b);
		return btoa(s).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, ""); })()`)
	for _, wrong := range []string{bomb, "%%%", "AAAA"} {
		eval[bool](q, `(location.hash = "#v=1&input=`+wrong+`") && (document.getElementById("shared").textContent = "") || true`)
		q.until(`document.getElementById("shared").textContent.includes("cannot be read")`)
		require.Equal(t, text, eval[string](q, `document.getElementById("text").value`))
	}
}

// A file is read, also one that no textarea shows, and one that is dropped.
func testFile(t *testing.T, s *site) {
	p := s.tab(t, s.url, 1440, false)
	p.answered("worker-4")
	text, err := os.ReadFile("samples/4-room.yaml")
	require.NoError(t, err)
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	w.Write(text)
	require.NoError(t, w.Close())
	file := filepath.Join(t.TempDir(), "dump.yaml.gz")
	require.NoError(t, os.WriteFile(file, zipped.Bytes(), 0o644))
	p.do(chromedp.SetUploadFiles("#file", []string{file}, chromedp.NodeReady))
	p.answered("leaves pods pending")
	require.Contains(t, eval[string](p, `document.getElementById("drop").innerText`), "dump.yaml.gz, 1 KiB")
	require.True(t, eval[bool](p, `document.getElementById("text").hidden`))

	eval[bool](p, `document.getElementById("chip-remove").click() || true`)
	p.until(`document.getElementById("status").dataset.state === "ready"`)
	require.Zero(t, eval[int](p, `document.getElementById("out").children.length`))
	eval[bool](p, fmt.Sprintf(`(() => { const data = new DataTransfer(); data.items.add(new File([%q], "x.yaml"));
		return dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true })) || true; })()`, text))
	p.answered("leaves pods pending")
	require.Equal(t, string(text), eval[string](p, `document.getElementById("text").value`))

	// 300 nodes with 6,000 pods of 100 budgets. A question in the middle of the work replaces the one before.
	eval[bool](p, `(() => { const items = [];
		for (let b = 0; b < 100; b++) {
			items.push({ apiVersion: "policy/v1", kind: "PodDisruptionBudget", metadata: { name: "b" + b, namespace: "x" }, spec: { maxUnavailable: 1, selector: { matchLabels: { app: "a" + b } } } });
			items.push({ apiVersion: "apps/v1", kind: "ReplicaSet", metadata: { name: "a" + b, namespace: "x", uid: "u" + b }, spec: { replicas: 60, selector: { matchLabels: { app: "a" + b } }, template: { metadata: { labels: { app: "a" + b } }, spec: { containers: [{ name: "c", image: "i" }] } } } });
			for (let i = 0; i < 60; i++) items.push({ apiVersion: "v1", kind: "Pod", metadata: { name: "p-" + b + "-" + i, namespace: "x", labels: { app: "a" + b }, ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "a" + b, uid: "u" + b, controller: true }] },
				spec: { nodeName: "n" + (b * 60 + i) % 300, containers: [{ name: "c", image: "i" }] }, status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] } });
		}
		const data = new DataTransfer(); data.items.add(new File([JSON.stringify({ apiVersion: "v1", kind: "List", items: items })], "large.json"));
		dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true })); return true; })()`)
	p.until(`document.getElementById("status").dataset.state === "working"`)
	eval[bool](p, `document.getElementById("force").click() || true`)
	began := time.Now()
	p.answered("300 now")
	t.Logf("6,000 pods of 300 nodes: %s", time.Since(began))
	p.answered("100 more nodes")
	p.answered("--force")
	require.Empty(t, p.complaints)
}
