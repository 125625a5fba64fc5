// Command bundle makes one HTML file of the page, its style and scripts, the samples and the module. See build.sh.
//
// The policy of the page names the script and the style by their hashes and allows no address at all, so the browser
// makes no connection for the page. The module is compressed in it: not every server compresses, and the page works
// from a disk.
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: bundle MODULE WASM_EXEC.JS OUT, in the folder playground")
		os.Exit(2)
	}
	if err := bundle(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
}

// titles are the samples of the page, in order.
var titles = []struct{ file, title string }{
	{"1-cluster.yaml", "A cluster with two budgets in the way"},
	{"2-rounds.json", "A drain that takes three rounds"},
	{"3-chart.yaml", "A chart, which has no pods"},
	{"4-room.yaml", "Evicted pods that find no room"},
	{"5-unknown.yaml", "A dump without budgets: not answered"},
}

type sample struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

func bundle(module, exec, out string) error {
	var wrong error
	read := func(name string) string {
		data, err := os.ReadFile(name)
		if err != nil && wrong == nil {
			wrong = err
		}
		return string(data)
	}
	var samples []sample
	for _, t := range titles {
		name := strings.TrimSuffix(t.file, filepath.Ext(t.file))
		samples = append(samples, sample{name, t.title, read(filepath.Join("samples", t.file))})
	}
	packedSamples, err := json.Marshal(samples) // which escapes <
	if err != nil {
		return err
	}
	wasm, page, style := read(module), read("web/page.js"), read("web/style.css")
	worker := read(exec) + "\n" + read("web/worker.js")
	html := read("web/index.html")
	if wrong != nil {
		return wrong
	}
	for name, text := range map[string]string{"page.js": page, "worker.js": worker, "style.css": style} {
		for _, end := range []string{"</script", "</style", "<!--"} {
			if strings.Contains(strings.ToLower(text), end) {
				return fmt.Errorf("%s has %s, which is no text in an element of a page", name, end)
			}
		}
	}
	packed, err := pack(wasm)
	if err != nil {
		return err
	}
	// Nothing is allowed but the script, the style, the icon, and the worker that the page makes itself.
	policy := strings.Join([]string{
		"default-src 'none'", "script-src " + hash(page) + " 'wasm-unsafe-eval'", "style-src " + hash(style), "img-src data:",
		"worker-src blob:", "connect-src 'none'", "base-uri 'none'", "form-action 'none'",
	}, "; ")
	html = strings.NewReplacer(
		"{{policy}}", policy, "{{style}}", style, "{{page}}", page, "{{samples}}", string(packedSamples),
		"{{worker}}", worker, "{{module}}", packed,
		"{{size}}", fmt.Sprintf("It has %.1f MB.",
			float64(len(html)+len(style)+len(page)+len(worker)+len(packed)+len(packedSamples))/1e6),
	).Replace(html)
	return os.WriteFile(out, []byte(html), 0o644) //nolint:gosec // a page is for everybody
}

// hash is how a policy names the text of an element.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// pack compresses the module, as text.
func pack(module string) (string, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	if _, err := w.Write([]byte(module)); err != nil {
		return "", err
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(out.Bytes()), nil
}
