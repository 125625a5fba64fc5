package main

import (
	"fmt"
	"runtime/debug"
	"strings"
)

// runVersion prints what was built.
func runVersion(_ invocation, sys system) int {
	version := "unknown version"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		version = info.Main.Version
	}
	fmt.Fprintf(sys.stdout, "purekube %s\nkube-controller-manager: %s\n", version, strings.Join(releases, ", "))
	return exitPlanned
}
