package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
)

// runVersion prints what was built.
func runVersion(_ invocation, sys system) int {
	info, _ := debug.ReadBuildInfo()
	var out bytes.Buffer
	printVersion(&out, info)
	if _, err := out.WriteTo(sys.stdout); err != nil {
		sys.say(err)
		return exitInput
	}
	return exitPlanned
}

// printVersion prints what the Go tool recorded in the program. No linker flag sets these values, so go install, a
// checkout and a release say the same in the same words. It prints only what is recorded: go install MODULE@VERSION
// knows no commit.
func printVersion(w io.Writer, info *debug.BuildInfo) {
	fmt.Fprintf(w, "purekube %s\n", versionOf(info))
	if commit := buildSetting(info, "vcs.revision"); commit != "" {
		if buildSetting(info, "vcs.modified") == "true" {
			commit += ", modified"
		}
		fmt.Fprintf(w, "commit: %s\n", commit)
	}
	fmt.Fprintf(w, "kube-controller-manager: %s\n", strings.Join(releases, ", "))
	var libraries []string
	for _, path := range []string{"k8s.io/api", "k8s.io/client-go"} {
		if v := dependency(info, path); v != "" {
			libraries = append(libraries, path+" "+v)
		}
	}
	if len(libraries) > 0 {
		fmt.Fprintf(w, "built with: %s\n", strings.Join(libraries, ", "))
	}
}

// version is the version of the module, for programs that this one talks to.
func version() string {
	info, _ := debug.ReadBuildInfo()
	return versionOf(info)
}

func versionOf(info *debug.BuildInfo) string {
	if info == nil {
		return "unknown version"
	}
	return cmp.Or(info.Main.Version, "unknown version")
}

// buildSetting is the value of a build setting. Empty: it is not recorded.
func buildSetting(info *debug.BuildInfo, key string) string {
	if info == nil {
		return ""
	}
	i := slices.IndexFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == key })
	if i < 0 {
		return ""
	}
	return info.Settings[i].Value
}

// dependency is the version of a module in the program. Empty: it is not recorded.
func dependency(info *debug.BuildInfo, path string) string {
	if info == nil {
		return ""
	}
	i := slices.IndexFunc(info.Deps, func(m *debug.Module) bool { return m.Path == path })
	switch {
	case i < 0:
		return ""
	case info.Deps[i].Replace != nil:
		return info.Deps[i].Replace.Version
	}
	return info.Deps[i].Version
}
