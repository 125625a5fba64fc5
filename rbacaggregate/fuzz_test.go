package rbacaggregate

import (
	"encoding/json"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
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
