package parity

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-helpers/auth/rbac/validation"

	"github.com/purekube/purekube/admission"
	"github.com/purekube/purekube/purekubetest"
	"github.com/purekube/purekube/rbacaggregate"
)

// A write of a ClusterRole that a protected one aggregates is allowed exactly if the rules that the protected one has and may
// get cover its rules, as Covers of the API server's check of escalation has it.
func TestCoversAsUpstream(t *testing.T) {
	verbs, groups, names := []string{"get", "list", "*", "a"}, []string{"", "apps", "*"}, []string{"", "a", "b", "*"}
	resources := []string{"pods", "pods/scale", "jobs/scale", "*/scale", "*", "jobs", "a/b/c", "*/b/c"}
	urls := []string{"/api", "/api/v1", "/api/*", "/a*", "*", "/", "/*", "/api/**"}
	covered, uncovered := 0, 0
	for seed := range uint64(20_000) {
		r := rand.New(rand.NewPCG(seed, 36))
		some := func(of []string, in int) (list []string) {
			for _, entry := range of {
				if r.IntN(in) == 0 {
					list = append(list, entry)
				}
			}
			return list
		}
		random := func() rbacv1.PolicyRule {
			rule := rbacv1.PolicyRule{Verbs: some(verbs, 2), APIGroups: some(groups, 2), Resources: some(resources, 4)}
			if r.IntN(3) == 0 {
				rule.ResourceNames = some(names, 2)
			}
			if r.IntN(3) == 0 {
				rule.NonResourceURLs = some(urls, 4)
			}
			return rule
		}
		rules := func(n int) (list []rbacv1.PolicyRule) {
			for range n {
				list = append(list, random())
			}
			return list
		}
		may, has, brings := rules(r.IntN(6)), rules(r.IntN(12)), rules(1+r.IntN(2))
		source, written := purekubetest.ClusterRole("source", has...), purekubetest.ClusterRole("team", brings...)
		source.Labels, written.Labels = map[string]string{"to-view": "true"}, map[string]string{"to-view": "true"}
		x := rbacaggregate.NewIndex(rbacaggregate.Snapshot{ClusterRoles: []*rbacv1.ClusterRole{source, purekubetest.AggregatedRole("view", "to-view")}}, rbacaggregate.Options{})
		object, err := json.Marshal(written)
		if err != nil {
			t.Fatal(err)
		}
		request := &admissionv1.AdmissionRequest{
			UID: "1", Name: written.Name, Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: object},
			Resource: metav1.GroupVersionResource{Group: rbacv1.GroupName, Version: "v1", Resource: "clusterroles"},
		}
		want, left := validation.Covers(append(has, may...), brings)
		if want {
			covered++
		} else {
			uncovered++
		}
		response := admission.ClusterRoleWrite(x, request, admission.ClusterRoleOptions{Allowed: map[string][]rbacv1.PolicyRule{"view": may}})
		if response.Allowed != want {
			t.Fatalf("seed %d: allowed is %t, upstream has %t (%v)\n%v\nby %v\nand %v: %v", seed, response.Allowed, want, left, brings, has, may, response.Result)
		}
	}
	if covered < 2000 || uncovered < 2000 {
		t.Fatalf("%d covered and %d not: too few to compare", covered, uncovered)
	}
}
