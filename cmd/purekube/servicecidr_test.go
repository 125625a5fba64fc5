package main

import (
	stdjson "encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// explained runs the core over manifests with --explain, without the closing lines.
func explained(t *testing.T, manifests string, args ...string) outcome {
	t.Helper()
	got := plan(t, nil, manifests, append([]string{"--core", "servicecidr", "--explain", "--none", "ipaddresses", "-"}, args...)...)
	got.stdout, _, _ = strings.Cut(got.stdout, "\n\nPlan: ")
	return got
}

func serviceCIDR(name, deleted string, cidrs ...string) string {
	meta := fmt.Sprintf(`{"name":%q,"finalizers":["networking.k8s.io/service-cidr-finalizer"]`, name)
	if deleted != "" {
		meta += fmt.Sprintf(`,"deletionTimestamp":%q`, deleted)
	}
	spec, _ := stdjson.Marshal(cidrs)
	return fmt.Sprintf(`{"apiVersion":"networking.k8s.io/v1","kind":"ServiceCIDR","metadata":%s},"spec":{"cidrs":%s},
		"status":{"conditions":[{"type":"Ready","status":"True","message":"Kubernetes Service CIDR is ready"}]}}`, meta, spec) + "\n"
}

func ipAddress(name, family, parent string) string {
	return fmt.Sprintf(`{"apiVersion":"networking.k8s.io/v1","kind":"IPAddress","metadata":{"name":%q,"labels":{
		"ipaddress.kubernetes.io/managed-by":"ipallocator.k8s.io","ipaddress.kubernetes.io/ip-family":%q}},"spec":{"parentRef":%s}}`, name, family, parent) + "\n"
}

func service(namespace, name string) string {
	return fmt.Sprintf(`{"resource":"services","namespace":%q,"name":%q}`, namespace, name)
}

// A deletion that is blocked says which addresses block it, and whose they are.
func TestBlockedDeletion(t *testing.T) {
	got := explained(t, serviceCIDR("x", "2026-11-21T11:00:00Z", "10.0.0.0/24", "fd00::/112")+
		serviceCIDR("wide", "", "fd00::/64")+
		ipAddress("10.0.0.9", "IPv4", service("shop", "b"))+
		ipAddress("10.0.0.7", "IPv4", service("shop", "a"))+
		ipAddress("10.0.0.10", "IPv4", `{"group":"example.com","resource":"gateways","name":"c"}`)+
		ipAddress("fd00::7", "IPv6", service("shop", "a")))
	require.Empty(t, got.stderr)
	require.Empty(t, cmp.Diff(`servicecidr: 2 ServiceCIDRs, 1 of them being deleted, and 4 addresses
  ServiceCIDR wide
    it is not being deleted, and has its finalizer and condition
    if its deletion began now:
      fd00::/64: 1 address would be orphaned: fd00::7 (Service shop/a)
  ServiceCIDR x
    SetCondition x: Ready=False Terminating
      # 3 addresses would be orphaned: 10.0.0.7 (Service shop/a), 10.0.0.9 (Service shop/b),
          10.0.0.10 (gateways.example.com c)
    3 addresses would be orphaned
    the condition Ready=False is missing or different
    10.0.0.0/24: 3 addresses would be orphaned: 10.0.0.7 (Service shop/a), 10.0.0.9 (Service
        shop/b), 10.0.0.10 (gateways.example.com c)
    wide contains all addresses of fd00::/112`, got.stdout))
}

func TestExplainServiceCIDR(t *testing.T) {
	const began = "if its deletion began now:"
	const eleven, noonLess5s = "2026-11-21T11:00:00Z", "2026-11-21T11:59:55Z"
	var used []string
	for i := 1; i <= 30; i++ {
		used = append(used, ipAddress(fmt.Sprintf("10.0.0.%d", i), "IPv4", service("n", "s")))
	}
	for _, tc := range []struct {
		name, reason, input string
		args                []string
		want                []string
		errors              int
	}{
		{name: "not in use", reason: "nothing is lost", input: serviceCIDR("x", eleven, "10.0.0.0/24"),
			want: []string{"RemoveFinalizer x  # no address would be orphaned", "no address blocks the deletion, and the grace period is over", "no address of 10.0.0.0/24 would be orphaned"}},
		{name: "within the grace period", reason: "later", input: serviceCIDR("x", noonLess5s, "10.0.0.0/24"),
			want: []string{"plan again at 2026-11-21T12:00:05Z", "no address blocks the deletion; the grace period ends at 2026-11-21T12:00:05Z", "no address of 10.0.0.0/24 would be orphaned"}},
		{name: "not protected", reason: "the finalizer comes first", input: strings.Replace(serviceCIDR("x", "", "10.0.0.0/24"), `"networking.k8s.io/service-cidr-finalizer"`, "", 1),
			want: []string{"AddFinalizer x  # without the finalizer it can be deleted while it is in use", "the finalizer networking.k8s.io/service-cidr-finalizer is missing: the ServiceCIDR can be deleted while it is in use", began, "no address of 10.0.0.0/24 would be orphaned"}},
		{name: "no condition", reason: "its status is written", input: strings.Replace(serviceCIDR("x", "", "10.0.0.0/24"), "Ready", "Other", 1),
			want: []string{"SetCondition x: Ready=True  # the condition in its status is missing or different", "the condition Ready=True is missing or different", began, "no address of 10.0.0.0/24 would be orphaned"}},
		{name: "two equal ones", reason: "the last one stays, and the other does not cover it", input: serviceCIDR("x", eleven, "10.0.0.0/24") + serviceCIDR("a", eleven, "10.0.0.0/24") + used[0],
			want: []string{"SetCondition x: Ready=False Terminating  # 1 address would be orphaned: 10.0.0.1 (Service n/s)",
				"1 address would be orphaned", "the condition Ready=False is missing or different",
				"a contains 10.0.0.0/24, but it is being deleted too and may be gone first",
				"10.0.0.0/24: 1 address would be orphaned: 10.0.0.1 (Service n/s)"}},
		{name: "two equal ones, upstream", reason: "D-1", args: []string{"--match-upstream", "v1.36"}, input: serviceCIDR("x", eleven, "10.0.0.0/24") + serviceCIDR("a", eleven, "10.0.0.0/24") + used[0],
			want: []string{"RemoveFinalizer x  # no address would be orphaned", "no address blocks the deletion, and the grace period is over", "a contains all addresses of 10.0.0.0/24"}},
		{name: "many", reason: "twenty of them are named", input: serviceCIDR("x", "", "10.0.0.0/24") + strings.Join(used, ""),
			want: []string{"it is not being deleted, and has its finalizer and condition", began, "10.0.0.0/24: 30 addresses would be orphaned: " + strings.Repeat("A ", 20) + "and 10 more"}},
		{name: "does not parse", reason: "the error says the rest", input: serviceCIDR("x", eleven, "10.0.0.0/24", "nonsense"), errors: 1,
			want: []string{"no address is known to block the deletion, but some objects could not be read: the finalizer stays",
				"no address of 10.0.0.0/24 would be orphaned", `"nonsense" is not a CIDR, so its addresses are unknown`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := explained(t, tc.input, tc.args...)
			require.Equal(t, tc.errors, strings.Count(got.stderr, "\n"), got.stderr)
			_, text, found := strings.Cut(got.stdout, "  ServiceCIDR x\n")
			require.True(t, found, got.stdout)
			// Lines that are broken at the width are joined, and the addresses of "many" abridged.
			var lines []string
			for line := range strings.Lines(text) {
				line = strings.TrimSuffix(line, "\n")
				if strings.HasPrefix(line, "        ") {
					lines[len(lines)-1] += " " + strings.TrimSpace(line)
				} else {
					lines = append(lines, strings.TrimSpace(line))
				}
			}
			if tc.name == "many" {
				for i := 30; i > 0; i-- {
					for _, comma := range []string{",", ""} {
						lines[len(lines)-1] = strings.Replace(lines[len(lines)-1], fmt.Sprintf("10.0.0.%d (Service n/s)%s ", i, comma), "A ", 1)
					}
				}
			}
			if diff := cmp.Diff(tc.want, lines); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestServiceCIDRErrorsSayWhere(t *testing.T) {
	got := plan(t, nil, serviceCIDR("x", "2026-11-21T11:00:00Z", "10.0.0.0/24", "10.0.0.0/33")+ipAddress("10.0.0.07", "IPv4", "null"), "--core", "servicecidr", "-")
	require.Equal(t, exitPlan, got.status)
	require.Equal(t, `purekube: standard input: document 2: IPAddress 10.0.0.07: metadata.name: ParseAddr("10.0.0.07"): IPv4 field has octet with leading zero
purekube: standard input: document 1: ServiceCIDR x: spec.cidrs[1]: netip.ParsePrefix("10.0.0.0/33"): prefix length out of range
`, got.stderr)
	require.NotContains(t, got.stdout, "RemoveFinalizer")
}
