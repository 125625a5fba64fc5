// Command render writes what `helm template` writes for a chart: its manifests and hooks, without
// CustomResourceDefinitions in the folder crds. It is a module of its own, since Helm needs newer modules than the rest
// of this repository. It contacts no cluster.
//
//	render FOLDER RELEASE NAMESPACE KUBE-VERSION API-VERSION,… KEY=VALUE,…
package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/strvals"
)

func main() {
	if err := render(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func render(w io.Writer, args []string) error {
	if len(args) != 6 {
		return fmt.Errorf("want FOLDER RELEASE NAMESPACE KUBE-VERSION API-VERSION,… KEY=VALUE,…, have %q", args)
	}
	chart, err := loader.Load(args[0])
	if err != nil {
		return err
	}
	values, err := strvals.Parse(args[5])
	if err != nil {
		return err
	}
	if err := chartutil.ProcessDependencies(chart, values); err != nil {
		return err
	}
	capabilities := *chartutil.DefaultCapabilities
	capabilities.APIVersions = slices.Clone(capabilities.APIVersions)
	version, err := chartutil.ParseKubeVersion(args[3])
	if err != nil {
		return err
	}
	capabilities.KubeVersion = *version
	if args[4] != "" {
		capabilities.APIVersions = append(capabilities.APIVersions, strings.Split(args[4], ",")...)
	}
	options := chartutil.ReleaseOptions{Name: args[1], Namespace: args[2], Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(chart, values, options, &capabilities)
	if err != nil {
		return err
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		partial := strings.HasPrefix(name[strings.LastIndex(name, "/")+1:], "_")
		if partial || strings.HasSuffix(name, "NOTES.txt") || strings.TrimSpace(files[name]) == "" {
			continue
		}
		if _, err := fmt.Fprintf(w, "---\n# Source: %s\n%s\n", name, files[name]); err != nil {
			return err
		}
	}
	return nil
}
