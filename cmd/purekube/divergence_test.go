package main

import (
	stdjson "encoding/json"
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube/conformance"
	"github.com/purekube/purekube/internal/scenario"
)

// What a dump of the objects of each divergence shows: for each release the objects that differ, with the numbers that cause it.
// The names are the names of files of package conformance. D-3, D-10, D-8 and D-26 come with every request of their kind, so
// they are named beside the others where the same object has such a request.
var shown = map[string]struct{ v136, v137, reason string }{
	"servicecidr/D-1-two-with-the-same-range":               {"first: D-3; second: D-1", "first: D-3; second: D-1", "the finalizer of the first is removed by both"},
	"servicecidr/D-2-unreadable-cidr":                       {"extra: D-2", "extra: D-2", "the default has an error in place of the removal"},
	"servicecidr/D-3-finalizer-of-a-new-object":             {"extra: D-3", "extra: D-3", "the UID in the patch"},
	"servicecidr/D-4-second-range-unblocks":                 {"", "", "it is about which events lead to a plan; a dump is planned as a whole"},
	"servicecidr/D-25-parent-without-finalizer":             {"part: D-25", "part: D-25", "the parent does not count"},
	"servicecidr/D-26-condition-of-a-new-object":            {"services: D-26", "services: D-26", "the UID in the apply"},
	"resourceclaim/D-5-all-names-are-applied":               {"train-0: D-5", "train-0: D-26", "mended in v1.37, which sends no UID"},
	"resourceclaim/D-5-entry-without-a-claim":               {"train-0: D-5", "train-0: D-5", "v1.37 leaves the entry out as well"},
	"resourceclaim/D-6-template-in-the-cache":               {"train-0: D-8, D-26", "train-0: D-8, D-26", "no request shows it; the two others are in every creation"},
	"resourceclaim/D-7-finished-pod-gets-nothing":           {"done: D-7; failed: D-7", "done: D-7; failed: D-7", "a finished pod gets nothing"},
	"resourceclaim/D-8-entry-that-fails":                    {"train-0: D-8", "train-0: D-8", "the other entries are missing"},
	"resourceclaim/D-8-claim-is-rejected":                   {"train-0: D-8", "train-0: D-8", "the reservation waits"},
	"resourceclaim/D-8-claim-is-being-deleted":              {"train-0: D-8", "train-0: D-8", "a reservation that is rejected"},
	"resourceclaim/D-9-dot-at-the-cut":                      {"aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeee.ffffff: D-9", "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeee.ffffff: D-9", "another name"},
	"resourceclaim/D-9-nothing-left-of-a-name":              {"aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff: D-9; p: D-9", "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff: D-9; p: D-9", "another name"},
	"resourceclaim/D-10-precondition-of-a-deletion":         {"c: D-10", "c: D-10", "the preconditions"},
	"resourceclaim/D-16-two-entries-one-claim":              {"train-0: D-16", "train-0: D-16", "one reservation, or two"},
	"resourceclaim/D-17-already-being-deleted":              {"c: D-17", "c: D-17", "one more deletion"},
	"resourceclaim/D-21-cache-has-the-predecessor":          {"shared: D-21", "shared: D-21", "a lookup in place of the release"},
	"resourceclaim/D-21-owner-in-doubt":                     {"train-0-gpu-x4z9k: D-21", "train-0-gpu-x4z9k: D-21", "a lookup in place of the deletion"},
	"resourceclaim/D-26-status-of-a-new-object":             {"train-0: D-26", "train-0: D-26", "the UID in the apply"},
	"resourceclaim/D-27-pod-groups-are-off":                 {"p: D-27", "p: D-27", "the entry is an error; without the pod's schedulingGroup, which the API of v1.35 lacks"},
	"resourceclaim/D-27-reserved-for-a-group":               {"p: D-27", "p: D-27", "one more reservation"},
	"resourceclaim/D-28-named-and-not-in-the-cache":         {"train-0: D-28", "", "v1.37 looks the claim up as well"},
	"resourceclaim/D-31-all-names-of-a-pod-group":           {"", "", "neither PodGroups nor a pod's schedulingGroup are read"},
	"resourceclaim/D-32-group-not-in-the-cache":             {"", "", "neither PodGroups nor a pod's schedulingGroup are read"},
	"resourceclaim/D-33-reserved-for-an-earlier-group":      {"", "", "neither PodGroups nor a pod's schedulingGroup are read"},
	"resourceclaim/D-34-group-has-another-claim":            {"", "", "neither PodGroups nor a pod's schedulingGroup are read"},
	"resourceclaim/D-36-group-is-removed-by-force":          {"", "", "neither PodGroups nor a pod's schedulingGroup are read"},
	"resourceclaim/D-37-restored-from-a-backup":             {"", "", "a dump does not have the deletions that a controller has seen"},
	"resourceclaim/D-37-shown-again-by-the-cache":           {"train-0: D-8, D-26", "train-0: D-8, D-26", "without the deletion that a controller has seen, the two are in every creation"},
	"resourceclaim/D-38-policy-removes-the-controller-flag": {"p: D-38", "p: D-38", "one more claim"},
	"rbacaggregate/D-11-through-all-levels":                 {"all: D-11; middle: D-26", "all: D-11; middle: D-26", "one level, or all"},
	"rbacaggregate/D-11-two-that-aggregate-each-other":      {"a: D-11; b: D-11", "a: D-11; b: D-11", "the rules stay"},
	"rbacaggregate/D-20-no-source-left":                     {"monitor: D-20, D-26", "monitor: D-20, D-26", "an apply without rules, and without a UID"},
	"rbacaggregate/D-26-rules-of-a-new-object":              {"monitor: D-26", "monitor: D-26", "the UID in the apply"},
	"rbacaggregate/D-35-aggregation-fails":                  {"all: D-35", "all: D-35", "the rule is not handed on"},
	"disruption/D-12-replicas-not-set":                      {"", "", "the controller panics, and MatchUpstream does not"},
	"disruption/D-13-max-unavailable-0":                     {"work: D-13", "work: D-13", "a status in place of a failure"},
	"disruption/D-14-recreated-pod":                         {"web: D-14", "web: D-14", "the entry goes"},
	"disruption/D-15-event-names-the-budget":                {"web: D-15", "web: D-15", "the object of the event"},
	"disruption/D-18-failure-written-once":                  {"web: D-18", "web: D-18", "the same failure again"},
	"disruption/D-19-exactly-two-minutes":                   {"web: D-19", "web: D-19", "the entry goes"},
	"disruption/D-22-deployment-not-in-the-cache":           {"web: D-22", "web: D-22", "the lookup is of another object"},
	"disruption/D-23-more-replicas-than-32-bits":            {"web: D-23", "web: D-23", "the sum"},
	"disruption/D-24-created-in-the-future":                 {"web: D-14", "web: D-14", "where D-24 holds, the default does what the controller does: the difference is D-14 of the other pod"},
	"disruption/D-29-events-without-a-change":               {"unused: D-29", "unused: D-29", "an event without a write"},
	"disruption/D-29-unmanaged-pods":                        {"web: D-29", "web: D-29", "an event without a write"},
	"disruption/D-29-two-budgets":                           {"web-0: D-29", "web-0: D-29", "an event without a write"},
	"disruption/D-39-two-controllers-with-one-uid":          {"web: D-39", "web: D-39", "the sum"},
	"disruption/drain/D-40-empty-selector":                  {"", "", "no controller plans preemptions: drain.Violations counts them"},
}

// A difference names the numbers that cause it, for each divergence that a dump can show.
func TestDivergenceNumbers(t *testing.T) {
	seen := 0
	require.NoError(t, fs.WalkDir(conformance.Files, ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasPrefix(path.Base(name), "D-") {
			return err
		}
		seen++
		t.Run(name, func(t *testing.T) {
			want, known := shown[strings.TrimSuffix(name, ".yaml")]
			require.True(t, known, "the file is not in the table")
			if want.v136+want.v137 == "" && !strings.Contains(want.reason, "dump") && !strings.Contains(want.reason, "panics") {
				t.Skip(want.reason)
			}
			objects := dumped(t, name)
			for release, want := range map[string]string{"v1.36": want.v136, "v1.37": want.v137} {
				require.Equal(t, want, differencesOf(t, release, objects), release)
			}
		})
		return nil
	}))
	require.Len(t, shown, seen)
}

// dumped are the objects of a file as a dump has them.
func dumped(t *testing.T, name string) string {
	t.Helper()
	data, err := fs.ReadFile(conformance.Files, name)
	require.NoError(t, err)
	s, err := scenario.Parse(name, data)
	require.NoError(t, err)
	set, err := s.Set()
	require.NoError(t, err)
	var documents []string
	for _, o := range set.Objects() {
		document, err := stdjson.Marshal(o)
		require.NoError(t, err)
		documents = append(documents, string(document))
	}
	return strings.Join(documents, "\n")
}

// differencesOf are the objects with their numbers.
func differencesOf(t *testing.T, release, objects string) string {
	t.Helper()
	got := plan(t, nil, objects, "diff", "--upstream", release, "-o", "json", "--now", "2000-01-01T00:00:00Z", "--none", "pdb,pods,ip", "-")
	var answer struct{ Differences []difference }
	require.NoError(t, stdjson.Unmarshal([]byte(got.stdout), &answer), got.stderr)
	var texts []string
	for _, d := range answer.Differences {
		texts = append(texts, d.Object.Name+": "+d.Divergence)
	}
	return strings.Join(texts, "; ")
}

// Two causes on one object are both named.
func TestSeveralDivergences(t *testing.T) {
	two := `{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"ml","name":"p","uid":"u"},"spec":{"nodeName":"n","resourceClaims":[
		{"name":"a","resourceClaimName":"shared"},{"name":"b","resourceClaimName":"shared"},{"name":"c","resourceClaimTemplateName":"t"}]},
		"status":{"resourceClaimStatuses":[{"name":"c","resourceClaimName":"gone"}]}}` + "\n" +
		`{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"namespace":"ml","name":"shared","uid":"s"},"status":{"allocation":{}}}` + "\n" +
		`{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaimTemplate","metadata":{"namespace":"ml","name":"t"}}`
	require.Equal(t, "p: D-16, D-28", differencesOf(t, "v1.36", two))
}

// What the API server does not admit fails by default, and no single number explains it.
func TestNoDivergenceOfInvalidBudgets(t *testing.T) {
	negative := `{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"namespace":"ns","name":"b","uid":"u"},"spec":{"minAvailable":-1,"selector":{}}}` + "\n" +
		`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"ns","name":"p","uid":"p"}}`
	got := differencesOf(t, "v1.36", negative)
	require.Contains(t, got, "b: one of D-12 ")
}
