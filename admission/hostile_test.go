package admission

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/test/reviews"
	"github.com/purekube/purekube/purekubetest"
	"github.com/purekube/purekube/rbacaggregate"
	"github.com/purekube/purekube/servicecidr"
)

// refusals are requests that each decision refuses in the tests' cluster.
func refusals() map[string]reviews.Request {
	return map[string]reviews.Request{
		"ServiceCIDRDelete":       reviews.DeletesCIDR("used", "10.96.0.0/24"),
		"ClusterRoleWrite create": reviews.WritesRole(nil, reviews.Role("team", "to-view", secretsRule)),
		"ClusterRoleWrite update": reviews.WritesRole(purekubetest.AggregatedRole("view", "to-view"),
			reviews.Role("view", "", secretsRule)),
		"Eviction":    reviews.Evicts("db-1"),
		"BudgetWrite": reviews.WritesBudget(purekubetest.MaxUnavailable("shop/web", "0")),
	}
}

// strict is the options under which nothing is allowed that cannot be computed.
var strict = Options{ClusterRoles: ClusterRoleOptions{Allowed: reviews.Protected}, Budgets: BudgetOptions{Refuse: true}}

// ask puts one request to the function that decides it.
func ask(name string, x Indexes, r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	switch name, _, _ := strings.Cut(name, " "); name {
	case "ServiceCIDRDelete":
		return ServiceCIDRDelete(x.ServiceCIDRs, r)
	case "ClusterRoleWrite":
		return ClusterRoleWrite(x.ClusterRoles, r, strict.ClusterRoles)
	case "Eviction":
		return Eviction(x.Disruption, r, strict.Evictions)
	case "BudgetWrite":
		return BudgetWrite(x.Disruption, r, strict.Budgets)
	}
	panic(name)
}

// A request with a part that is missing, or cannot be read, is never allowed where the whole request is refused.
func TestUnreadableRequestsAreNotAllowed(t *testing.T) {
	x := cluster(t)
	for name, request := range refusals() {
		t.Run(name, func(t *testing.T) {
			whole := request.Review(t)
			require.False(t, ask(name, x, whole).Allowed)
			for _, damaged := range damage(whole) {
				a := ask(name, x, damaged.request)
				require.NotNil(t, a)
				require.False(t, a.Allowed, damaged.how)
				require.GreaterOrEqual(t, a.Result.Code, int32(400), damaged.how)
				require.NotEmpty(t, a.Result.Message, damaged.how)
				require.LessOrEqual(t, len(a.Result.Message), maxMessage, damaged.how)
			}
		})
	}
}

type damaged struct {
	how     string
	request *admissionv1.AdmissionRequest
}

// damage is a request with one part missing, cut off or of another type.
func damage(r *admissionv1.AdmissionRequest) (all []damaged) {
	add := func(how string, change func(*admissionv1.AdmissionRequest)) {
		d := r.DeepCopy()
		change(d)
		all = append(all, damaged{how, d})
	}
	all = append(all, damaged{"nil", nil}, damaged{"empty", &admissionv1.AdmissionRequest{}})
	add("no uid", func(r *admissionv1.AdmissionRequest) { r.UID = "" })
	add("no resource", func(r *admissionv1.AdmissionRequest) { r.Resource = metav1.GroupVersionResource{} })
	add("another version", func(r *admissionv1.AdmissionRequest) { r.Resource.Version = "v2" })
	add("another resource", func(r *admissionv1.AdmissionRequest) { r.Resource.Resource += "x" })
	add("another group", func(r *admissionv1.AdmissionRequest) { r.Resource.Group = "example.com" })
	add("another subresource", func(r *admissionv1.AdmissionRequest) { r.SubResource = "status" })
	add("no operation", func(r *admissionv1.AdmissionRequest) { r.Operation = "" })
	add("connect", func(r *admissionv1.AdmissionRequest) { r.Operation = admissionv1.Connect })
	add("another name", func(r *admissionv1.AdmissionRequest) { r.Name = "another" })
	add("no name", func(r *admissionv1.AdmissionRequest) { r.Name = "" })
	add("no namespace", func(r *admissionv1.AdmissionRequest) { r.Namespace = "" })
	for field, of := range map[string]func(*admissionv1.AdmissionRequest) *runtime.RawExtension{
		"object":    func(r *admissionv1.AdmissionRequest) *runtime.RawExtension { return &r.Object },
		"oldObject": func(r *admissionv1.AdmissionRequest) *runtime.RawExtension { return &r.OldObject },
	} {
		text := of(r).Raw
		if text == nil {
			continue
		}
		for _, instead := range []string{"", " ", "null", "[]", "1", `"x"`, "{", `{"kind":"Pod","apiVersion":"v1"}`, `{"kind":"List"}`, `{"metadata":{"name":1}}`, "\xff", strings.Repeat("[", 20_000)} {
			add(fmt.Sprintf("%s: %.20q", field, instead), func(r *admissionv1.AdmissionRequest) { of(r).Raw = []byte(instead) })
		}
		for i := range text {
			add(fmt.Sprintf("%s cut off after %d bytes", field, i), func(r *admissionv1.AdmissionRequest) { of(r).Raw = text[:i] })
		}
		// A field of another type: every value in turn becomes a number or a text.
		var object any
		if json.Unmarshal(text, &object) != nil {
			continue
		}
		for _, path := range paths(object) {
			add(fmt.Sprintf("%s%v of another type", field, path), func(r *admissionv1.AdmissionRequest) {
				var object any
				_ = json.Unmarshal(text, &object)
				of(r).Raw, _ = json.Marshal(retype(object, path))
			})
		}
	}
	return all
}

// paths are the ways to the values of a JSON document, except those that may be a number as well as a text.
func paths(v any) (all [][]any) {
	below := func(key, v any) {
		all = append(all, []any{key})
		for _, p := range paths(v) {
			all = append(all, slices.Concat([]any{key}, p))
		}
	}
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if key != "maxUnavailable" && key != "minAvailable" {
				below(key, value)
			}
		}
	case []any:
		for i, value := range v {
			below(i, value)
		}
	}
	return all
}

// retype puts a value of another type at a path.
func retype(v any, path []any) any {
	if len(path) == 0 {
		if _, number := v.(float64); number {
			return "text"
		}
		return 7.5
	}
	switch v := v.(type) {
	case map[string]any:
		key := path[0].(string)
		v[key] = retype(v[key], path[1:])
	case []any:
		i := path[0].(int)
		v[i] = retype(v[i], path[1:])
	}
	return v
}

// An Index with objects of which all have a field that cannot be read, or without the objects that the answer takes,
// allows nothing more. TestNeverMorePermissive has single objects that are nil, nameless, doubled or left out.
func TestUnreadableObjectsAllowNothingMore(t *testing.T) {
	for name, request := range refusals() {
		t.Run(name, func(t *testing.T) {
			r := request.Review(t)
			require.False(t, ask(name, Indexes{}, r).Allowed, "nothing has synced")
			for how, change := range map[string]func(*purekubetest.Cluster){
				"ranges that do not parse": func(c *purekubetest.Cluster) {
					c.ServiceCIDRs = append(c.ServiceCIDRs, purekubetest.ServiceCIDR("other", "10.96.0.0/33"))
				},
				"addresses that do not parse": func(c *purekubetest.Cluster) {
					for _, ip := range c.IPAddresses {
						ip.Name = "x" + ip.Name
					}
				},
				"selectors that do not compile": func(c *purekubetest.Cluster) {
					bad := metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near"}}}
					for _, b := range c.Budgets {
						b.Spec.Selector = &bad
					}
					// A ClusterRole with such a selector is not aggregated at all, so it gets no rules.
				},
				"budgets that do not parse": func(c *purekubetest.Cluster) {
					for _, b := range c.Budgets {
						b.Spec.MaxUnavailable.StrVal, b.Spec.MaxUnavailable.Type = "many", 1
					}
				},
				"no pods":      func(c *purekubetest.Cluster) { c.Pods = nil },
				"no workloads": func(c *purekubetest.Cluster) { c.Deployments, c.ReplicaSets, c.StatefulSets = nil, nil, nil },
			} {
				var objects []purekubetest.Object
				for _, o := range reviews.Cluster() {
					objects = append(objects, o.(purekubetest.Object))
				}
				c := purekubetest.NewCluster(t, objects...)
				change(c)
				a := ask(name, indexesOf(c), r)
				require.False(t, a.Allowed, how)
			}
			for how, x := range map[string]Indexes{
				"settings that nobody knows": {
					ServiceCIDRs: servicecidr.NewIndex(servicecidr.Snapshot{}, servicecidr.Options{MatchUpstream: "v0"}),
					ClusterRoles: rbacaggregate.NewIndex(rbacaggregate.Snapshot{ClusterRoles: []*rbacv1.ClusterRole{purekubetest.AggregatedRole("view", "to-view")}}, rbacaggregate.Options{MatchUpstream: "v0"}),
					Disruption:   disruption.NewIndex(disruption.Snapshot{}, disruption.Options{MatchUpstream: "v0"}),
				},
			} {
				require.False(t, ask(name, x, r).Allowed, how)
			}
		})
	}
}

// A text that is cut is valid, and as long as it may be.
func TestCut(t *testing.T) {
	for _, text := range []string{"", "short", strings.Repeat("é", 100), strings.Repeat("x", 100), "\xff\xfe", strings.Repeat("\xff", 100)} {
		for n := range 130 {
			got := cut(text, n)
			require.True(t, bytes.Equal([]byte(got), bytes.ToValidUTF8([]byte(got), nil)))
			require.LessOrEqual(t, len(got), max(n, len("…")))
		}
	}
	require.Equal(t, "budget b…", cut("budget broken", len("budget b…")))
	require.LessOrEqual(t, len(warning("before ", strings.Repeat("n", 500), " after")), maxWarning)
}
