package main

import (
	stdjson "encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A divergence of docs/divergences.md: its heading, and the objects that it is shown with.
var divergenceSection = regexp.MustCompile("(?s)\n### (D-[0-9]+ [^\n]*)\n(.*?)```yaml\n(.*?)```")

// schedulingGroup is a field of pods that the API of the oldest supported release does not have: a pod with it is not read.
var schedulingGroup = regexp.MustCompile(`(?m)^    schedulingGroup:\n(      .*\n)*`)

// What a dump of the objects of each divergence shows: for each release the objects that differ, with the numbers that cause it.
// The headings are those of docs/divergences.md; the numbers follow from the texts there. D-3, D-10, D-8 and D-26 come with every request of
// their kind, so they are named beside the others where the same object has such a request.
var shown = map[string]struct{ v136, v137, reason string }{
	"D-1 two ServiceCIDRs with the same range are deleted together":                  {"a: D-3; b: D-1", "a: D-3; b: D-1", "the finalizer of a is removed by both"},
	"D-2 a ServiceCIDR with a CIDR that cannot be parsed":                            {"a: D-2", "a: D-2", "the default has an error in place of the removal"},
	"D-3 the finalizer is removed from a new ServiceCIDR of the same name":           {"a: D-3", "a: D-3", "the UID in the patch"},
	"D-4 a ServiceCIDR gets a second range and unblocks the deletion of another one": {"", "", "it is about which events lead to a plan; a dump is planned as a whole"},
	"D-25 a parent ServiceCIDR that has no finalizer yet":                            {"a: D-25", "a: D-25", "the parent does not count"},
	"D-26 the condition is written to a new ServiceCIDR of the same name":            {"a: D-26", "a: D-26", "the UID in the apply"},
	"D-5 the names of a pod's claims are removed and added in turn":                  {"p: D-5", "p: D-26", "mended in v1.37, which sends no UID"},
	"D-5 an entry of a pod that needs no claim":                                      {"p: D-5", "p: D-5", "v1.37 leaves the entry out as well"},
	"D-6 the controller changes a template in its cache":                             {"p: D-8, D-26", "p: D-8, D-26", "no request shows it; the two others are in every creation"},
	"D-7 a claim for a pod that has finished":                                        {"p: D-7; q: D-7", "p: D-7; q: D-7", "a finished pod gets nothing"},
	"D-8 an entry that fails stops the other entries of the pod":                     {"p: D-8", "p: D-8", "the other entries are missing"},
	"D-8 the API server rejects one claim of a pod":                                  {"p: D-8", "p: D-8", "the reservation waits"},
	"D-9 a generateName that is not a valid name":                                    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.bbbbbb: D-9; p: D-9; qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq: D-9", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.bbbbbb: D-9; p: D-9; qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq: D-9", "another name"},
	"D-10 the deletion of a claim has no precondition":                               {"c: D-10", "c: D-10", "the preconditions"},
	"D-16 two entries of a pod name the same claim":                                  {"p: D-16", "p: D-16", "one reservation, or two"},
	"D-17 a claim that is already being deleted":                                     {"c: D-17", "c: D-17", "one more deletion"},
	"D-21 a pod replaces a pod of the same name":                                     {"shared: D-21", "shared: D-21", "a lookup in place of the release"},
	"D-26 the claim names are written to a new pod of the same name":                 {"p: D-26", "p: D-26", "the UID in the apply"},
	"D-27 a claim of a PodGroup while the feature is off":                            {"p: D-27", "p: D-27", "the entry is an error; without the pod's schedulingGroup, which the API of v1.35 lacks"},
	"D-28 a claim that the cache does not show yet":                                  {"p: D-28", "", "v1.37 looks the claim up as well"},
	"D-31 the names of a PodGroup's claims are removed and added in turn":            {"", "", "neither PodGroups nor a pod's schedulingGroup are read"},
	"D-32 the cache does not have a pod's PodGroup":                                  {"", "", "neither PodGroups nor a pod's schedulingGroup are read"},
	"D-33 a reservation for a deleted PodGroup of the same name":                     {"", "", "neither PodGroups nor a pod's schedulingGroup are read"},
	"D-34 a pod's status names a deleted claim of its PodGroup":                      {"", "", "neither PodGroups nor a pod's schedulingGroup are read"},
	"D-36 a PodGroup is removed while its pods run":                                  {"", "", "neither PodGroups nor a pod's schedulingGroup are read"},
	"D-37 a deleted pod exists again with the same UID":                              {"", "", "a dump does not have the deletions that a controller has seen"},
	"D-38 an admission policy changes the owner of a created claim":                  {"p: D-38", "p: D-38", "one more claim"},
	"D-11 aggregation of aggregated ClusterRoles":                                    {"all: D-11; middle: D-26", "all: D-11; middle: D-26", "one level, or all"},
	"D-11 two ClusterRoles that aggregate each other":                                {"a: D-11; b: D-11", "a: D-11; b: D-11", "the rules stay"},
	"D-20 the last source of a ClusterRole is gone":                                  {"all: D-20, D-26", "all: D-20, D-26", "an apply without rules, and without a UID"},
	"D-26 the rules are written to a new ClusterRole of the same name":               {"all: D-26", "all: D-26", "the UID in the apply"},
	"D-35 a rule in a ClusterRole whose aggregation fails":                           {"all: D-35", "all: D-35", "the rule is not handed on"},
	"D-12 a workload without spec.replicas":                                          {"", "", "the controller panics, and MatchUpstream does not"},
	"D-13 maxUnavailable is 0 and the scale is unknown":                              {"b: D-13", "b: D-13", "a status in place of a failure"},
	"D-14 an evicted pod is recreated under its name":                                {"b: D-14", "b: D-14", "the entry goes"},
	"D-15 the event NotDeleted names the wrong object":                               {"b: D-15", "b: D-15", "the object of the event"},
	"D-18 the status shows the failure already":                                      {"b: D-18", "b: D-18", "the same failure again"},
	"D-19 an entry of disruptedPods that is exactly two minutes old":                 {"b: D-19", "b: D-19", "the entry goes"},
	"D-22 the cache does not have a Deployment":                                      {"b: D-22", "b: D-22", "the lookup is of another object"},
	"D-23 the sum of replicas needs more than 32 bits":                               {"b: D-23", "b: D-23", "the sum"},
	"D-24 an evicted pod is recreated, and clocks differ":                            {"b: D-14", "b: D-14", "where D-24 holds, the default does what the controller does: the difference is D-14 of the other pod"},
	"D-29 events while nothing changes":                                              {"p: D-29; a: D-29; b: D-29; c: D-29", "p: D-29; a: D-29; b: D-29; c: D-29", "events without a write"},
	"D-39 pods name two controllers by one UID":                                      {"b: D-39", "b: D-39", "the sum"},
	"D-40 a PodDisruptionBudget with an empty selector in a preemption":              {"", "", "no controller plans preemptions: drain.Violations counts them"},
}

// A difference names the numbers that cause it, for each divergence that a dump can show.
func TestDivergenceNumbers(t *testing.T) {
	document, err := os.ReadFile("../../docs/divergences.md")
	require.NoError(t, err)
	sections := divergenceSection.FindAllStringSubmatch(string(document), -1)
	require.Len(t, sections, len(shown))
	for _, s := range sections {
		t.Run(s[1], func(t *testing.T) {
			want, known := shown[s[1]]
			require.True(t, known, "the heading is not in the table")
			for release, want := range map[string]string{"v1.36": want.v136, "v1.37": want.v137} {
				objects := s[3]
				if strings.HasPrefix(s[1], "D-27 ") {
					objects = schedulingGroup.ReplaceAllString(objects, "")
				}
				got := differencesOf(t, release, objects)
				require.Equal(t, want, got, release)
			}
		})
	}
}

// differencesOf are the objects with their numbers.
func differencesOf(t *testing.T, release, objects string) string {
	t.Helper()
	got := plan(t, nil, objects, "diff", "-upstream", release, "-o", "json", "-now", "2000-01-01T00:00:00Z", "-none", "pdb,pods,ip", "-")
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
