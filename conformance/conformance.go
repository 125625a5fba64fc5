// Package conformance has the rules of the five packages as scenario files, and runs such files.
//
// A scenario is a YAML file: the objects of a small cluster, a question, and the requests, lookups, events and errors
// that the answer must have.
//
//	format: 1
//	title: A percentage of maxUnavailable is rounded up
//	package: disruption
//	objects:
//	- kind: PodDisruptionBudget
//	  metadata: {name: web}
//	  spec: {maxUnavailable: 30%, selector: {matchLabels: {app: web}}}
//	- {kind: StatefulSet, metadata: {name: web}, spec: {replicas: 7}}
//	- kind: Pod
//	  repeat: 7
//	  metadata: {name: web-$i, labels: {app: web}, ownerReferences: [{kind: StatefulSet, name: web}]}
//	plan: all
//	want:
//	- update poddisruptionbudgets/status default/web: {status: {disruptionsAllowed: 3, desiredHealthy: 4}}
//
// [Files] has a file for each divergence D-…, and for each rule BR-… except BR-30-09 and BR-31-04. Whoever implements
// these controllers, in whatever language, can run them. [Run] runs your own files as tests of your policy.
// docs/conformance.md describes the format.
package conformance

import (
	"embed"
	"io/fs"
	"path"
	"testing"

	"github.com/purekube/purekube/internal/scenario"
)

// Files are the scenarios of the rules and divergences: <package>/<number>-<words>.yaml.
//
//go:embed servicecidr resourceclaim ttl rbacaggregate disruption
var Files embed.FS

// Run runs each file of the file system whose name ends in .yaml or .yml, in all folders, as a test of its own:
//
//	func TestPolicy(t *testing.T) { conformance.Run(t, os.DirFS("testdata/policy")) }
//
// A file fails if the answer lacks something that the file wants, has something that it does not want, or has a field
// with another value. It also fails if it is not in the format. The test fails if there is no file: it would test
// nothing.
func Run(t *testing.T, files fs.FS) {
	t.Helper()
	found := false
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".yaml" && path.Ext(name) != ".yml" {
			return err
		}
		found = true
		t.Run(name, func(t *testing.T) {
			data, err := fs.ReadFile(files, name)
			if err != nil {
				t.Fatal(err)
			}
			s, err := scenario.Parse(name, data)
			if err != nil {
				t.Fatal(err)
			}
			lines, err := s.Ask("")
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if diff := scenario.Diff(s.Want, lines); diff != "" {
				t.Errorf("%s: %s\n%s", name, s.Title, diff)
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !found {
		t.Fatal("no file ends in .yaml or .yml")
	}
}
