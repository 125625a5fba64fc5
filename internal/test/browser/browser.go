// Package browser runs a headless Chromium for tests: it loads a page, and returns what scripts of the test made of
// it or a picture of it. It wants nothing but the chromium program; Debian has it as the package chromium.
package browser

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// names are what distributions call the program.
var names = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"}

// Browser is an installed Chromium.
type Browser struct{ path string }

// timeout is for one page.
const timeout = 2 * time.Minute

// Find returns the installed Chromium. Without one it skips the test, or fails it where the environment has CI=true.
func Find(t testing.TB) Browser {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return Browser{path}
		}
	}
	const missing = "no Chromium is installed: apt-get install chromium"
	if os.Getenv("CI") == "true" {
		t.Fatal(missing)
	}
	t.Skip(missing)
	return Browser{}
}

// Load loads the page, in dark colours or light ones, and lets its scripts run for a while. It returns the document as
// it is then, and what the browser wrote into its console, such as errors of scripts and what the page's own policy
// refuses.
func (b Browser) Load(t testing.TB, url string, dark bool) (document string, console []string) {
	t.Helper()
	document, stderr := b.run(t, scheme(dark), "--enable-logging=stderr", "--virtual-time-budget=10000",
		"--window-size=1400,1000", "--dump-dom", url)
	for line := range strings.Lines(stderr) {
		if strings.Contains(line, "CONSOLE") {
			console = append(console, strings.TrimSpace(line))
		}
	}
	return document, console
}

// scheme is the flag for the colours that the reader prefers.
func scheme(dark bool) string {
	if dark {
		return "--blink-settings=preferredColorScheme=0"
	}
	return "--blink-settings=preferredColorScheme=1"
}

// Size is the size of a window in pixels.
type Size struct{ Width, Height int }

// Screenshot returns the page as PNG, in dark colours or light ones.
func (b Browser) Screenshot(t testing.TB, url string, size Size, dark bool) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "page.png")
	b.run(t, scheme(dark), "--hide-scrollbars",
		fmt.Sprintf("--window-size=%d,%d", size.Width, size.Height), "--screenshot="+file, url)
	picture, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("no screenshot of %s: %v", url, err)
	}
	return picture
}

// run starts a browser with a profile of its own, which goes with the test.
func (b Browser) run(t testing.TB, args ...string) (stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.path, append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--user-data-dir=" + t.TempDir(),
	}, args...)...)
	cmd.WaitDelay = 5 * time.Second
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", b.path, err, problems.Bytes())
	}
	return out.String(), problems.String()
}
