package rbacaggregate

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/yaml"

	"github.com/purekube/purekube"
)

// FuzzRuleKey: two rules have one key exactly if they are semantically equal.
func FuzzRuleKey(f *testing.F) {
	f.Add([]byte(`[{"verbs":["get"]},{"verbs":["get"],"resources":[]}]`))
	f.Add([]byte(`[{"verbs":["a","b"]},{"verbs":["a"],"apiGroups":["b"]}]`))
	f.Add([]byte(`[{"verbs":["ab"]},{"verbs":["a","b"]},{"verbs":["\u0001a"]},{}]`))
	f.Add([]byte(`[{"verbs":["a","b"]},{"verbs":["ab",""]},{"verbs":["","ab"]}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var rules []rbacv1.PolicyRule
		if json.Unmarshal(data, &rules) != nil || len(rules) > 20 {
			return
		}
		for i := range rules {
			for j := range rules {
				same := string(appendRuleKey(nil, &rules[i])) == string(appendRuleKey(nil, &rules[j]))
				if same != equality.Semantic.DeepEqual(rules[i], rules[j]) {
					t.Fatalf("%#v and %#v: one key: %v", rules[i], rules[j], same)
				}
			}
		}
	})
}

// FuzzPlan: no ClusterRoles make a plan panic, write to them, or fail to converge.
func FuzzPlan(f *testing.F) {
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	data, err := os.ReadFile("testdata/bootstrap.yaml")
	if err != nil {
		f.Fatal(err)
	}
	if err := yaml.Unmarshal(data, &list); err != nil {
		f.Fatal(err)
	}
	few, err := json.Marshal(append(list.Items[:6:6], list.Items[len(list.Items)-1]))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(few, "admin")
	f.Add([]byte(`[null,{},{"metadata":{"name":"a"}},{"metadata":{"name":"a"}},{"metadata":{"name":"b"},"aggregationRule":{"clusterRoleSelectors":[{}]}}]`), "b")
	f.Add([]byte(`[{"metadata":{"name":"b","labels":{"x":"y"}},"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"x":"y"}}]}},`+
		`{"metadata":{"name":"a","labels":{"x":"y"}},"rules":[{"verbs":["get"]}],"aggregationRule":{"clusterRoleSelectors":[{"matchExpressions":[{"key":"x","operator":"Exists"}]}]}}]`), "a")
	f.Add([]byte(`[{"metadata":{"name":"b"},"aggregationRule":{"clusterRoleSelectors":[{"matchExpressions":[{"key":"","operator":"In"}]}]}}]`), "b")
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		var roles []*rbacv1.ClusterRole
		if json.Unmarshal(data, &roles) != nil || len(roles) > 50 {
			return
		}
		before := make([]*rbacv1.ClusterRole, len(roles))
		for i, r := range roles {
			before[i] = r.DeepCopy()
		}
		s := Snapshot{ClusterRoles: roles}
		var changed *rbacv1.ClusterRole
		if len(roles) > 0 {
			changed = roles[0]
		}
		for _, o := range []Options{{}, {MatchUpstream: purekube.V1_36}} {
			rules, err := NewIndex(s, o).Rules(Key(name))
			e, _ := NewIndex(s, o).Explain(Key(name))
			if len(e.Rules) != len(rules) {
				t.Fatalf("%d rules, %d explained", len(rules), len(e.Rules))
			}
			if rules == nil && find(roles, name) != nil && err == nil {
				t.Fatalf("%q has neither rules nor an error", name)
			}
			affectedBy(s, changed, find(roles, name), o)
			if _, err := NewIndex(s, o).Preview(changed); changed == nil && err == nil {
				t.Fatal("previewed nothing")
			}
			outcomes := planAll(s, o)
			for _, outcome := range outcomes {
				if one, _ := Plan(s, outcome.Key, o); !cmp.Equal(one, outcome.Result) {
					t.Fatalf("%s alone: %v, among all: %v", outcome.Key, one, outcome.Result)
				}
				for _, a := range outcome.Result.Actions {
					if body := a.Request(nil).Patch; !json.Valid(body) || a.Request(nil).Name == "" {
						t.Fatalf("%s", body)
					}
				}
			}
			if o.matchUpstream() {
				continue
			}
			for _, left := range planAll(Snapshot{ClusterRoles: apply(t, roles, outcomes)}, o) {
				if !left.Result.Empty() {
					t.Fatalf("%s is written again", left.Key)
				}
			}
		}
		if !equality.Semantic.DeepEqual(before, roles) {
			t.Fatal("an input was written to")
		}
	})
}
