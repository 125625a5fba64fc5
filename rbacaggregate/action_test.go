package rbacaggregate

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/aliasing"
	"github.com/purekube/purekube/internal/test/apiserver"
)

func TestBR2705_ApplyIsTheUpdate(t *testing.T) {
	set := SetRules{Name: "sum", UID: "uid-sum", Rules: []rbacv1.PolicyRule{pods}}
	require.Nil(t, set.Apply(nil))

	latest := sum("sum", "x", "is", nodes)
	latest.ResourceVersion = "7"
	before := latest.DeepCopy()
	got := set.Apply(latest)
	require.Equal(t, before, latest, "latest stays as it was")
	require.Equal(t, []rbacv1.PolicyRule{pods}, got.Rules)
	got.Rules = before.Rules
	require.Equal(t, before, got, "everything else is kept, the resourceVersion too")

	got = set.Apply(latest)
	got.Rules[0].Verbs[0] = "changed"
	require.Equal(t, "get", set.Rules[0].Verbs[0], "the action's rules are not shared")

	latest.UID = "another"
	require.Equal(t, latest, set.Apply(latest), "a role made since under the same name is left alone")
	latest.UID = ""
	require.Equal(t, set.Rules, set.Apply(latest).Rules, "as in a fixture: nothing says that it is another one")
	set.UID, latest.UID = "", "another"
	require.Equal(t, set.Rules, set.Apply(latest).Rules, "without a UID the name has to do")

	set.Rules = nil
	require.Nil(t, set.Apply(latest).Rules)
	set.Rules = []rbacv1.PolicyRule{}
	require.Equal(t, []rbacv1.PolicyRule{}, set.Apply(latest).Rules)
}

func TestBR2706_Patch(t *testing.T) {
	require.Equal(t, "clusterrole-aggregation-controller", fieldManager)
	set := SetRules{Name: "sum", Rules: []rbacv1.PolicyRule{
		{
			Verbs: []string{"get", "<&>"}, APIGroups: []string{"", "apps"}, Resources: []string{"pods/log"},
			ResourceNames: []string{"x"}, NonResourceURLs: []string{},
		},
		{NonResourceURLs: []string{"/healthz*"}, Verbs: []string{}},
		{},
	}}
	body := set.Request(nil).Patch
	require.Equal(t, types.ApplyYAMLPatchType, set.Request(nil).PatchType)
	require.Equal(t, `{"kind":"ClusterRole","apiVersion":"rbac.authorization.k8s.io/v1","metadata":{"name":"sum"},"rules":[`+
		`{"verbs":["get","\u003c\u0026\u003e"],"apiGroups":["","apps"],"resources":["pods/log"],"resourceNames":["x"]},`+
		`{"nonResourceURLs":["/healthz*"]},{}]}`, string(body))
	require.True(t, json.Valid(body))
}

func TestRequest(t *testing.T) {
	set := SetRules{Name: "sum", UID: "uid-sum", Rules: []rbacv1.PolicyRule{pods}}
	for _, done := range [][]runtime.Object{nil, {nil}, {plain("sum", ""), nil}} {
		require.Equal(t, purekube.Request{
			Verb:     "patch",
			Resource: schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"},
			Kind:     "ClusterRole", Name: "sum", PatchType: types.ApplyYAMLPatchType, Patch: []byte(
				`{"kind":"ClusterRole","apiVersion":"rbac.authorization.k8s.io/v1","metadata":{"name":"sum","uid":"uid-sum"},"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}]}`),
			FieldManager: "clusterrole-aggregation-controller", Force: true, ContinueOnError: true,
		}, set.Request(done))
	}
	require.Empty(t, SetRules{}.Request(nil).Name, "the API server refuses a patch without a name")
	require.Empty(t, aliasing.Shared(set, set.Request(nil)))
}

func TestString(t *testing.T) {
	require.Equal(t, "SetRules admin: 312 rules", SetRules{Name: "admin", Rules: make([]rbacv1.PolicyRule, 312)}.String())
	require.Equal(t, "SetRules admin: 1 rule", SetRules{Name: "admin", Rules: make([]rbacv1.PolicyRule, 1)}.String())
	require.Equal(t, "SetRules admin: 0 rules", SetRules{Name: "admin"}.String())
}

// A role that was deleted, or deleted and made again, between the plan and its write.
func TestD26_AnotherRoleOfTheName(t *testing.T) {
	for _, tc := range []struct {
		name, reason string
		then         func(*apiserver.Server, *rbacv1.ClusterRole)
		refused      func(error) bool
		want         []rbacv1.PolicyRule // what is stored afterwards, by default
		upstream     []rbacv1.PolicyRule
	}{{
		name: "deleted", reason: "upstream makes it anew, without its aggregationRule",
		then:    func(server *apiserver.Server, role *rbacv1.ClusterRole) { server.Remove(role) },
		refused: apierrors.IsConflict, upstream: []rbacv1.PolicyRule{pods},
	}, {
		name: "made again", reason: "upstream overwrites the rules of a role that it knows nothing of",
		then: func(server *apiserver.Server, role *rbacv1.ClusterRole) {
			server.Remove(role)
			server.Put(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "sum", UID: "another"}, Rules: []rbacv1.PolicyRule{jobs}})
		},
		refused: apierrors.IsInvalid, want: []rbacv1.PolicyRule{jobs}, upstream: []rbacv1.PolicyRule{pods},
	}} {
		t.Run(tc.name, func(t *testing.T) {
			for _, o := range []Options{{}, upstream} {
				server := apiserver.New(sum("sum", "", "is"), plain("a", "is", pods))
				result, err := Plan(Snapshot{ClusterRoles: apiserver.List[rbacv1.ClusterRole](server)}, Key("sum"), o)
				require.NoError(t, err)
				require.Len(t, result.Actions, 1)
				tc.then(server, find(apiserver.List[rbacv1.ClusterRole](server), "sum"))
				_, err = server.Do(result.Actions[0].Request(nil))

				var stored []rbacv1.PolicyRule
				if role := find(apiserver.List[rbacv1.ClusterRole](server), "sum"); role != nil {
					stored = role.Rules
				}
				if o.matchUpstream() {
					require.NoError(t, err)
					require.Equal(t, tc.upstream, stored, tc.reason)
					continue
				}
				require.True(t, tc.refused(err), "%v", err)
				require.Equal(t, tc.want, stored)
			}
		})
	}
}
