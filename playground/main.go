//go:build !(js && wasm)

// Command playground is the page of build.sh: it answers about drains and budgets in a browser. Elsewhere it only says
// so. What it answers is in package answer, which runs everywhere.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "playground runs in a browser: build.sh makes its page, dist/index.html")
	os.Exit(2)
}
