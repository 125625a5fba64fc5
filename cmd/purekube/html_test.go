package main

import (
	stdjson "encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/manifests"
)

// awkward is an input whose names are markup, or very long, and whose roles aggregate each other.
func awkward() string {
	hostile, long := "<script>alert(1)</script>", strings.Repeat("long-", 40)
	role := func(name, label, aggregates string) string {
		rule := ""
		if aggregates != "" {
			rule = fmt.Sprintf(`,"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"to":%q}}]}`, aggregates)
		}
		return fmt.Sprintf(`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":%q,"labels":{"to":%q}}%s,
			"rules":[{"verbs":["get"],"apiGroups":[""],"resources":[%q]}]}`, name, label, rule, "things-"+label) + "\n"
	}
	return role(hostile, "a", "") + role("first", "b", "a") + role("second", "a", "b") + role(long, "a", "") +
		`{"apiVersion":"networking.k8s.io/v1","kind":"ServiceCIDR","metadata":{"name":"\"><img src=x>"},"spec":{"cidrs":["10.0.0.0/16","fd00::/112"]}}` + "\n" +
		`{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"namespace":"ml","name":"claim"},"status":{"allocation":{},"reservedFor":[
			{"resource":"pods","name":"javascript:alert(1)","uid":"u"},{"apiGroup":"x.example.com","resource":"jobs","name":"j","uid":"v"}]}}` + "\n" +
		`{"apiVersion":"v1","kind":"Node","metadata":{"name":` + fmt.Sprintf("%q", long) + `}}` + "\n" +
		budgetOf(long, "db", `"maxUnavailable":1`, noStatus) + statefulSetOf("db", 2) +
		podOf("db-0", "db", "StatefulSet", long, "True") + podOf("db-1", "db", "StatefulSet", long, "True")
}

// parsedPage is a page as a parser of XML reads it: the template writes both.
type parsedPage struct {
	text     string
	ids      map[string]int
	targets  []string
	elements map[string]int
	// loads are the attributes that a browser would follow on its own.
	loads []string
}

func parsePage(t *testing.T, page string) parsedPage {
	t.Helper()
	p := parsedPage{ids: map[string]int{}, elements: map[string]int{}}
	d := xml.NewDecoder(strings.NewReader(page))
	d.Entity = xml.HTMLEntity
	var text strings.Builder
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err, "every element is closed and every name escaped")
		switch token := token.(type) {
		case xml.CharData:
			text.Write(token)
		case xml.StartElement:
			p.elements[token.Name.Local]++
			for _, a := range token.Attr {
				switch name := a.Name.Local; {
				case name == "id":
					p.ids[a.Value]++
				case name == "href":
					p.targets = append(p.targets, a.Value)
				case name == "src", name == "srcset", name == "data", name == "action", name == "background", name == "style", strings.HasPrefix(name, "on"):
					p.loads = append(p.loads, token.Name.Local+" "+name+"="+a.Value)
				}
			}
		}
	}
	p.text = text.String()
	return p
}

// The page has every object of the plan with its actions, reasons and codes, is well formed, links only to itself and
// loads nothing.
func TestPage(t *testing.T) {
	for _, tc := range []struct {
		name, reason, stdin string
		args                []string
	}{
		{"embedded", "the cluster of --demo", "", []string{"--demo", "--now", noon}},
		{"real", "a dump of a real cluster", "", []string{"--now", "2026-11-21T01:11:07Z", "testdata/cluster-drift.yaml"}},
		{"upstream", "the mode of upstream's plans", "", []string{"--now", "2026-11-21T01:11:07Z", "--match-upstream", "v1.36", "testdata/cluster-drift.yaml"}},
		{"complete", "lookups answered from the input", "", []string{"--demo", "--now", noon, "--assume-complete"}},
		{"awkward", "names that are markup", awkward(), []string{"--now", noon, "-"}},
		{"nothing", "an error and no objects", "", []string{"-"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := plan(t, nil, tc.stdin, append([]string{"-o", "html"}, tc.args...)...)
			asJSON := plan(t, nil, tc.stdin, append([]string{"-o", "json", "--explain"}, tc.args...)...)
			require.Equal(t, asJSON.status, got.status)
			require.Equal(t, asJSON.stderr, got.stderr)
			p := parsePage(t, got.stdout)

			var report jsonReport
			require.NoError(t, stdjson.Unmarshal([]byte(asJSON.stdout), &report))
			for _, c := range report.Cores {
				require.Equal(t, 1, p.ids[c.Core])
				for _, o := range c.Objects {
					require.Contains(t, p.text, o.Kind+" "+nameOf(purekube.Key{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}))
					for _, a := range o.Actions {
						require.Contains(t, p.text, a.Text)
						require.Contains(t, p.text, a.Why)
					}
					for _, r := range o.Reasons {
						require.Contains(t, p.text, strings.TrimSpace(r.Code+" "+r.Field)+" "+r.Message)
					}
					for _, line := range o.Lines {
						_, message, _ := strings.Cut(line, ": ")
						require.True(t, strings.Contains(p.text, line) || strings.Contains(p.text, message), line)
					}
				}
			}
			for _, e := range report.Errors {
				require.Contains(t, p.text, e.Message)
			}

			for id, n := range p.ids {
				require.Equal(t, 1, n, "the id %s", id)
			}
			for _, target := range p.targets {
				id, here := strings.CutPrefix(target, "#")
				require.True(t, here, "%s leads elsewhere", target)
				require.Equal(t, 1, p.ids[id], "nothing is at %s", target)
			}
			require.Empty(t, p.loads)
			require.Equal(t, 1, p.elements["script"], "the filter")
			require.Equal(t, 1, strings.Count(got.stdout, "<script>"+pageScript+"</script>"))
			require.True(t, strings.Contains(html.UnescapeString(got.stdout), "script-src "+sourceOf(pageScript)+`"`), "no other script runs")
			for _, element := range []string{"link", "img", "iframe", "object", "embed", "base", "form"} {
				require.Zero(t, p.elements[element], element)
			}
			require.False(t, strings.Contains(got.stdout, "http://"))
			require.False(t, strings.Contains(got.stdout, "https://"))
			require.NotContains(t, pageStyle, "url(")
			require.NotContains(t, pageStyle, "@import")
			require.False(t, strings.Contains(got.stdout, "ZgotmplZ"), "html/template refused a value")
		})
	}
}

// Each picture of the embedded cluster shows what is there.
func TestPictures(t *testing.T) {
	got := html.UnescapeString(plan(t, nil, "", "--demo", "-o", "html", "--now", noon).stdout)
	for _, want := range []struct{ reason, text string }{
		{"a range that is covered as a whole", `10.70.0.0/28 is in spare-b`},
		{"an address that would be orphaned", `10.70.0.2, in no other ServiceCIDR: 10.70.0.2 (Service stock/orders)`},
		{"the numbers of a budget", `2 healthy, 2 desired, 0 disruptions allowed, 3 expected`},
		{"what an edge brings", `platform-view brings 2 rules, +1 to platform-admin`},
		{"a consumer with its code", `reserved for pod train/epoch-0: it is done and no longer needs the claim</span> <code class="code">ConsumerDone</code>`},
		{"the drains", `3 of 3 nodes do not drain, 1 of them because`},
		{"how they are asked for", `<code>kubectl drain</code> of each node alone`},
		{"the numbers", `<strong>3</strong> are stopped<span class="faint">2 never, 1 not started</span>`},
		{"what is in the way of a drain", `budget shop/checkout (minAvailable 100%) never allows a disruption: shop/checkout-6d4b75cb6d-789n9`},
	} {
		require.True(t, strings.Contains(got, want.text), "%s: %s", want.reason, want.text)
	}
	forced := plan(t, nil, "", "--demo", "-o", "html", "--now", noon, "--force").stdout
	require.True(t, strings.Contains(forced, `<code>kubectl drain --force</code> of each node alone`))
	one := plan(t, nil, "", "--demo", "-o", "html", "--core", "ttl").stdout
	for _, core := range coreNames() {
		require.Equal(t, core == "ttl", strings.Contains(one, `id="`+core+`"`))
	}
}

// A part of a range is covered where a smaller range of another ServiceCIDR lies in it, on which it may rely.
func TestCoveredParts(t *testing.T) {
	cidr := func(name, more string, cidrs string) string {
		return fmt.Sprintf(`{"apiVersion":"networking.k8s.io/v1","kind":"ServiceCIDR","metadata":{"name":%q,"finalizers":["networking.k8s.io/service-cidr-finalizer"]%s},"spec":{"cidrs":[%q]}}`, name, more, cidrs) + "\n"
	}
	deleted := `,"deletionTimestamp":"2026-11-21T11:00:00Z"`
	objects := load(manifests.Options{Stdin: strings.NewReader(cidr("wide", "", "10.0.0.0/24") + cidr("half", "", "10.0.0.128/25") + cidr("going", deleted, "10.0.0.0/26") + cidr("v6", "", "fd00::/64"))}, "-")
	require.Empty(t, objects.problems)
	groups := newRangeGroups(objects, settings{}, nil)
	got := map[string][]rangePart{}
	for _, g := range groups {
		for _, r := range g.Rows {
			got[g.Span+" "+r.Name+" "+r.X+" "+r.Width] = r.Covered
		}
	}
	want := map[string][]rangePart{
		"10.0.0.0/24 wide 0.00% 100.00%": {{"50.00%", "50.00%", "10.0.0.128/25 is in half"}},
		"10.0.0.0/24 half 50.00% 50.00%": {{"50.00%", "50.00%", "10.0.0.128/25 is in wide"}},
		"10.0.0.0/24 going 0.00% 25.00%": {{"0.00%", "25.00%", "10.0.0.0/26 is in wide"}},
		"fd00::/64 v6 0.00% 100.00%":     nil,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPlaceInRange(t *testing.T) {
	for _, tc := range []struct {
		name, span, address string
		want                float64
	}{
		{"first", "10.0.0.0/24", "10.0.0.0", 0},
		{"middle", "10.0.0.0/24", "10.0.0.128", 0.5},
		{"last of a whole address space", "0.0.0.0/0", "255.255.255.255", 1 - 1.0/(1<<32)},
		{"a single address", "10.0.0.1/32", "10.0.0.1", 0},
		{"IPv6", "fd00::/64", "fd00::c000:0:0:0", 0.75},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.InDelta(t, tc.want, place(netip.MustParsePrefix(tc.span), netip.MustParseAddr(tc.address)), 1e-9)
		})
	}
}

// No two boxes of the graph overlap, and each arrow that closes no cycle leads to the right.
func TestRolePicture(t *testing.T) {
	for _, tc := range []struct{ name, stdin, path string }{
		{"embedded", "", "cluster"}, {"a real cluster", "", "testdata/clusterroles.yaml"}, {"a cycle", awkward(), "-"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			objects := load(manifests.Options{Stdin: strings.NewReader(tc.stdin)}, tc.path)
			g := newRoleGraph(objects, settings{})
			p := newRolePicture(g, links{})
			require.Len(t, p.Boxes, len(g.nodes))
			require.Len(t, p.Arrows, len(g.edges))
			for i, a := range p.Boxes {
				require.LessOrEqual(t, a.X+a.Width, p.Width)
				require.LessOrEqual(t, a.Y+a.Height, p.Height)
				for _, b := range p.Boxes[i+1:] {
					apart := a.X+a.Width < b.X || b.X+b.Width < a.X || a.Y+a.Height < b.Y || b.Y+b.Height < a.Y
					require.True(t, apart, "%s and %s", a.Title, b.Title)
				}
			}
			back := 0
			for i, e := range g.edges {
				if p.Arrows[i].Class == "back" {
					back++
					continue
				}
				require.Less(t, p.Boxes[e.from].X+p.Boxes[e.from].Width, p.Boxes[e.to].X)
			}
			require.Equal(t, tc.name == "a cycle", back > 0)
		})
	}
}

// A graph that nobody could read is not drawn; the list has it.
func TestManyRoles(t *testing.T) {
	g := roleGraph{nodes: []roleNode{{name: "all", aggregated: true}}}
	for i := range rolesDrawn {
		g.nodes = append(g.nodes, roleNode{name: fmt.Sprintf("role-%d", i)})
		g.edges = append(g.edges, roleEdge{from: i + 1, to: 0})
	}
	p := newRolePicture(g, links{})
	require.True(t, p.TooLarge)
	require.Empty(t, p.Boxes)
	require.Len(t, p.Edges, rolesDrawn)
}

func TestMermaid(t *testing.T) {
	golden(t, "embedded.mermaid.md", plan(t, nil, "", "--demo", "-o", "mermaid", "--now", noon).stdout)
	roles := plan(t, nil, awkward(), "-o", "mermaid", "--core", "rbacaggregate", "-").stdout
	require.NotContains(t, roles, "<script>")
	require.Contains(t, roles, `["#60;script#62;alert(1)#60;/script#62;"]`)
	require.NotContains(t, roles, "ResourceClaim")
	none := plan(t, nil, named(nodeWithout, "mine"), "-o", "mermaid", "-")
	require.Equal(t, outcome{
		stderr: "purekube: no graph: -o mermaid draws ClusterRoles that are aggregated and ResourceClaims, and the plan has neither\n",
	}, none, "an empty file without a word would look like a failure")
}

// A picture of a range asks about all others: of very many there are none, and the words are there all the same.
func TestPageOfManyRanges(t *testing.T) {
	for _, tc := range []struct{ ranges, pictures int }{{200, 200}, {201, 0}} {
		input := repeated(tc.ranges, func(i int) string { return serviceCIDR(fmt.Sprint("x", i), "", fmt.Sprintf("10.0.%d.0/24", i)) })
		got := plan(t, nil, input, "--core", "servicecidr", "--none", "ip", "-o", "html", "-")
		require.Equal(t, tc.pictures, strings.Count(got.stdout, `<svg class="bar"`))
		require.Equal(t, tc.ranges, strings.Count(got.stdout, `<p class="faint">0 addresses`))
	}
}
