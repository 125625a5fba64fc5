package scenario_test

import (
	"io/fs"
	"testing"

	"github.com/purekube/purekube/conformance"
	"github.com/purekube/purekube/internal/scenario"
)

// No file makes the runner panic, whatever is in it.
func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	for _, name := range []string{
		"servicecidr/D-4-second-range-unblocks.yaml", "ttl/BR-19-07-only-other-values-are-written.yaml",
		"resourceclaim/D-8-claim-is-rejected.yaml", "resourceclaim/D-33-reserved-for-an-earlier-group.yaml",
		"disruption/D-22-deployment-not-in-the-cache.yaml", "disruption/BR-25-03-drain-in-rounds.yaml",
		"rbacaggregate/D-11-through-all-levels.yaml", "disruption/drain/D-40-empty-selector.yaml",
	} {
		data, err := fs.ReadFile(conformance.Files, name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("format: 1\ntitle: t\npackage: disruption\nobjects: [null, {kind: Pod, metadata: a, spec: {schedulingGroup: {podGroupName: g}}}]\nplan: all\nwant: []\n"))
	f.Add([]byte("format: 1\ntitle: t\npackage: ttl\nobjects: [{kind: Node, metadata: {name: 1, ownerReferences: {}}, status: []}]\nplan: all\nwant: [{a: b}, {repeat: 2}, null]\n"))
	f.Fuzz(func(_ *testing.T, data []byte) {
		s, err := scenario.Parse("x.yaml", data)
		if err != nil {
			return
		}
		lines, err := s.Ask("")
		if err == nil {
			_ = scenario.Diff(s.Want, lines)
		}
	})
}
