package main

import (
	"bytes"
	"errors"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVersionSaysWhatWasBuilt(t *testing.T) {
	libraries := []*debug.Module{
		{Path: "k8s.io/api", Version: "v0.37.2"},
		{Path: "k8s.io/client-go", Version: "v0.37.1", Replace: &debug.Module{Path: "k8s.io/client-go", Version: "v0.37.2"}},
	}
	const rest = "kube-controller-manager: v1.36, v1.37\n"
	const built = "built with: k8s.io/api v0.37.2, k8s.io/client-go v0.37.2\n"
	for _, c := range []struct {
		name, reason string
		info         *debug.BuildInfo
		want         string
	}{
		{"a release", "the Go tool records tag and commit of a checkout", &debug.BuildInfo{
			Main: debug.Module{Version: "v0.1.0"}, Deps: libraries,
			Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "0123abc"}, {Key: "vcs.modified", Value: "false"}},
		}, "purekube v0.1.0\ncommit: 0123abc\n" + rest + built},
		{"go install", "a module from the proxy has no commit", &debug.BuildInfo{
			Main: debug.Module{Version: "v0.1.0"}, Deps: libraries,
		}, "purekube v0.1.0\n" + rest + built},
		{"a changed checkout", "the commit alone does not say what was built", &debug.BuildInfo{
			Main:     debug.Module{Version: "v0.1.0+dirty"},
			Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "0123abc"}, {Key: "vcs.modified", Value: "true"}},
		}, "purekube v0.1.0+dirty\ncommit: 0123abc, modified\n" + rest},
		{"no record", "a build with another tool than go", nil, "purekube unknown version\n" + rest},
		{"an empty version", "a test binary has none", &debug.BuildInfo{}, "purekube unknown version\n" + rest},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			printVersion(&out, c.info)
			require.Equal(t, c.want, out.String(), c.reason)
		})
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestVersionThatCannotBeWritten(t *testing.T) {
	var errs bytes.Buffer
	require.Equal(t, exitInput, run([]string{"version"}, system{stdout: full{}, stderr: &errs, now: noonClock}))
	require.Contains(t, errs.String(), "no space left on device")
}
