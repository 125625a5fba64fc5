package main

import (
	"fmt"
	"runtime/debug"
	"strings"
)

// runVersion prints what was built.
func runVersion(_ invocation, sys system) int {
	fmt.Fprintf(sys.stdout, "purekube %s\nkube-controller-manager: %s\n", version(), strings.Join(releases, ", "))
	return exitPlanned
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown version"
}
