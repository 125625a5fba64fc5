package admission

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/reviews"
	"github.com/purekube/purekube/manifests"
	"github.com/purekube/purekube/purekubetest"
	"github.com/purekube/purekube/rbacaggregate"
)

var (
	podsRule    = rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}}
	secretsRule = rbacv1.PolicyRule{Verbs: []string{"*"}, APIGroups: []string{""}, Resources: []string{"secrets"}}
	secretRule  = rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"a"}}
)

func createsRole(r *rbacv1.ClusterRole) reviews.Request { return reviews.WritesRole(nil, r) }

// changed is a copy of an object with a change.
func changed(r *rbacv1.ClusterRole, change func(*rbacv1.ClusterRole)) *rbacv1.ClusterRole {
	r = r.DeepCopy()
	change(r)
	return r
}

// kube-apiserver creates its default ClusterRoles again when it starts, without a review. So view must stay while somebody
// can label a ClusterRole for it.
func TestClusterRoleThatIsCreatedAgain(t *testing.T) {
	o := ClusterRoleOptions{Allowed: map[string][]rbacv1.PolicyRule{"view": nil, "admin": nil}}
	admin, view := purekubetest.AggregatedRole("admin", "to-admin"), purekubetest.AggregatedRole("view", "to-view")
	view.Labels = map[string]string{"to-admin": "true"}
	index := func(roles ...*rbacv1.ClusterRole) *rbacaggregate.Index {
		return rbacaggregate.NewIndex(rbacaggregate.Snapshot{ClusterRoles: roles}, rbacaggregate.Options{})
	}
	mine := reviews.Role("mine", "to-view", secretsRule)
	require.True(t, ClusterRoleWrite(index(admin), createsRole(mine).Review(t), o).Allowed, "without view, it is the source of nothing")
	rules, err := index(admin, view, mine).Rules(rbacaggregate.Key("admin"))
	require.NoError(t, err)
	require.NotEmpty(t, rules, "and of admin once view is back")
	for _, without := range []*rbacv1.ClusterRole{nil, changed(view, func(r *rbacv1.ClusterRole) { r.AggregationRule = nil })} {
		require.False(t, ClusterRoleWrite(nil, reviews.WritesRole(view, without).Review(t), o).Allowed)
	}
}

// When a collection is deleted, the API server sends a review of each object, and none of them has a name in the request.
func TestCollectionWithAProtectedClusterRole(t *testing.T) {
	deleted := reviews.WritesRole(purekubetest.AggregatedRole("view", "to-view"), nil).Review(t)
	deleted.Name = ""
	o := ClusterRoleOptions{Allowed: map[string][]rbacv1.PolicyRule{"view": nil}}
	requireAnswer(t, "it would lose its selector", ClusterRoleWrite(nil, deleted, o), forbidden, "ClusterRole view would lose a selector")
	o.Allowed = map[string][]rbacv1.PolicyRule{"edit": nil}
	requireAnswer(t, "another one is protected", ClusterRoleWrite(nil, deleted, o), 0, "")
}

// kube-apiserver gives its default ClusterRoles their labels back when it starts, without a review. A source without its
// label would get rules as the source of nothing.
func TestLabelThatComesBack(t *testing.T) {
	const toView, toEdit, toAdmin = "rbac.authorization.k8s.io/aggregate-to-view", "rbac.authorization.k8s.io/aggregate-to-edit", "rbac.authorization.k8s.io/aggregate-to-admin"
	without := func(r *rbacv1.ClusterRole, label string) *rbacv1.ClusterRole {
		return changed(r, func(r *rbacv1.ClusterRole) { delete(r.Labels, label) })
	}
	valued := func(r *rbacv1.ClusterRole, label string) *rbacv1.ClusterRole {
		return changed(r, func(r *rbacv1.ClusterRole) { r.Labels[label] = "no" })
	}
	roles := manifests.BuiltinClusterRoles()
	source, edit := roleNamed(roles, "system:aggregate-to-view"), roleNamed(roles, "edit")
	mine := reviews.Role("mine", toView, podsRule)
	for _, tc := range []struct {
		reason, protected string
		from, to          *rbacv1.ClusterRole
		code              int32
		message           string
	}{
		{"kube-apiserver gives it back", "view", source, without(source, toView), forbidden,
			"ClusterRole system:aggregate-to-view would be without the label " + toView + ", and may get it back without a review: whatever rules it had by then would be aggregated to view"},
		{"through edit", "admin", source, without(source, toView), forbidden, "aggregated to admin"},
		{"through edit", "admin", edit, without(edit, toAdmin), forbidden, "ClusterRole edit would be without the label " + toAdmin},
		{"it would be created without it", "view", nil, without(source, toView), forbidden, "without the label"},
		{"the label of now keeps it from being a source, and kube-apiserver from adding its own", "view", valued(source, toView), without(source, toView), forbidden, "without the label"},
		{"no label is added where there is another value", "view", source, valued(source, toView), 0, ""},
		{"it was without it before", "view", without(source, toView), without(source, toView), forbidden, "With another value, it stays as it is"},
		{"it would lose another label, by which it is a source now", "edit", changed(source, func(r *rbacv1.ClusterRole) { r.Labels = map[string]string{toEdit: "true"} }),
			changed(source, func(r *rbacv1.ClusterRole) { r.Labels = nil }), forbidden, "without the label " + toView},
		{"edit does not aggregate what it is about", "edit", edit, without(edit, toAdmin), 0, ""},
		{"nobody adds it again", "view", mine, without(mine, toView), 0, ""},
		{"another label", "view", changed(source, func(r *rbacv1.ClusterRole) { r.Labels["a"] = "b" }), source, 0, ""},
	} {
		x := rbacaggregate.NewIndex(rbacaggregate.Snapshot{ClusterRoles: roles}, rbacaggregate.Options{})
		o := ClusterRoleOptions{Allowed: map[string][]rbacv1.PolicyRule{tc.protected: nil}}
		requireAnswer(t, tc.reason, ClusterRoleWrite(x, reviews.WritesRole(tc.from, tc.to).Review(t), o), tc.code, tc.message)
	}
}

// Each default ClusterRole that another one aggregates has the label that is taken for its own.
func TestLabelsOfDefaultClusterRoles(t *testing.T) {
	for _, r := range manifests.BuiltinClusterRoles() {
		var labels []string
		for label := range r.Labels {
			if strings.HasPrefix(label, "rbac.authorization.k8s.io/aggregate-to-") {
				labels = append(labels, label)
			}
		}
		require.Equal(t, strings.Join(labels, " "), labelOfDefault(r.Name), r.Name)
	}
}

// What a write grants at any time counts, whoever aggregates: the default mode alone allows each of the refused writes.
func TestClusterRoleWrites(t *testing.T) {
	view := purekubetest.AggregatedRole("view", "to-view")
	// aggregating has the label for view, rules, and an aggregationRule of its own.
	aggregating := func(of string) *rbacv1.ClusterRole {
		return changed(reviews.Role("team", "to-view", secretsRule), func(r *rbacv1.ClusterRole) {
			r.AggregationRule = purekubetest.AggregatedRole("", of).AggregationRule
		})
	}
	noSelectors := changed(aggregating(""), func(r *rbacv1.ClusterRole) { r.AggregationRule = &rbacv1.AggregationRule{} })
	// stale has lost its source of secrets, and another field manager owns its rules too.
	stale := changed(view, func(r *rbacv1.ClusterRole) {
		r.Rules = []rbacv1.PolicyRule{podsRule, secretsRule}
		for _, manager := range []string{"clusterrole-aggregation-controller", "kubectl"} {
			r.ManagedFields = append(r.ManagedFields, metav1.ManagedFieldsEntry{
				Manager: manager, Operation: metav1.ManagedFieldsOperationApply, FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:rules":{}}`)},
			})
		}
	})
	last := reviews.Role("last", "to-view", podsRule)
	for _, tc := range []struct {
		name, reason string
		request      reviews.Request
		more         []purekubetest.Object
		message      string // empty: it is allowed
	}{
		{
			"the rules of view", "they are granted until the next pass",
			reviews.WritesRole(view, changed(view, func(r *rbacv1.ClusterRole) { r.Rules = append(r.Rules, secretsRule) })), nil, "view has the rule",
		},
		{
			"a source without selectors", "kube-controller-manager writes nothing to it, and view gets its rules for good",
			createsRole(noSelectors), nil, "team has the rule",
		},
		{"a source that selects nothing", "the same", createsRole(aggregating("nobody")), nil, "team has the rule"},
		{
			"a source that aggregates", "its stored rules pass through until it is written", createsRole(aggregating("to-team")),
			[]purekubetest.Object{reviews.Role("base", "to-team", podsRule)}, "team has the rule",
		},
		{
			"the last source labelled anew", "no rule is new", reviews.WritesRole(last, changed(last, func(r *rbacv1.ClusterRole) { r.Labels["a"] = "b" })),
			[]purekubetest.Object{last, stale}, "",
		},
		{
			"a source deleted", "its rules go", reviews.WritesRole(last, nil),
			[]purekubetest.Object{last}, "",
		},
		{
			"a source deleted, whose rules others own as well", "kube-controller-manager leaves them: that brings nothing",
			reviews.WritesRole(last, nil), []purekubetest.Object{last, stale}, "",
		},
		{
			"a rule that view has and is about to lose", "without the write it would go",
			createsRole(reviews.Role("team", "to-view", secretsRule)), []purekubetest.Object{last, stale}, "team has the rule",
		},
		{
			"a source, with a rule that it is about to lose", "the end of its aggregation would keep it",
			reviews.WritesRole(aggregating("nobody"), changed(aggregating("nobody"), func(r *rbacv1.ClusterRole) { r.AggregationRule = nil })),
			[]purekubetest.Object{aggregating("nobody")}, "team has the rule",
		},
		{
			"view without its aggregationRule", "the API server may repair it",
			reviews.WritesRole(stale, changed(stale, func(r *rbacv1.ClusterRole) { r.AggregationRule = nil })), []purekubetest.Object{last, stale}, "view would lose a selector",
		},
		{"view deleted", "the API server may create it again", reviews.WritesRole(view, nil), nil, "view would lose a selector"},
		{
			"view deleted, which selects nothing", "when it is created again, it is judged",
			reviews.WritesRole(changed(view, func(r *rbacv1.ClusterRole) { r.AggregationRule = nil }), nil), nil, "",
		},
		{
			"a part of a rule that view has", "it is covered", createsRole(reviews.Role("team", "to-view", secretRule)),
			[]purekubetest.Object{reviews.Role("before", "to-view", secretsRule)}, "",
		},
		{
			"another selector of view", "it lets in whatever is labelled",
			reviews.WritesRole(view, changed(view, func(r *rbacv1.ClusterRole) {
				r.AggregationRule.ClusterRoleSelectors = append(r.AggregationRule.ClusterRoleSelectors,
					purekubetest.AggregatedRole("view", "other").AggregationRule.ClusterRoleSelectors...)
			})), nil, "a new selector of view",
		},
		{
			"one selector less", "what is labelled for it until it is back is judged as the source of nothing",
			reviews.WritesRole(changed(view, func(r *rbacv1.ClusterRole) {
				r.AggregationRule.ClusterRoleSelectors = append(r.AggregationRule.ClusterRoleSelectors, metav1.LabelSelector{})
			}), view), nil, "view would lose a selector",
		},
		{
			"a source with selectors", "they let in whatever is labelled",
			createsRole(changed(aggregating("to-team"), func(r *rbacv1.ClusterRole) { r.Rules = nil })), nil, "a new selector of team",
		},
		{
			"an aggregated ClusterRole labelled for view", "its selectors are new for view",
			reviews.WritesRole(changed(aggregating("to-team"), func(r *rbacv1.ClusterRole) { r.Rules, r.Labels = nil, nil }),
				changed(aggregating("to-team"), func(r *rbacv1.ClusterRole) { r.Rules = nil })), nil, "a new selector of team",
		},
		{
			"no name", "an API server generates it before it asks", createsRole(changed(reviews.Role("", "to-view", podsRule), func(r *rbacv1.ClusterRole) { r.GenerateName = "team-" })),
			nil, "metadata.name: required",
		},
		{
			"two names", "it is not known what is written", reviews.Request{Group: rbacv1.GroupName, Resource: "clusterroles", Name: "a", Operation: admissionv1.Create, Object: reviews.Role("b", "", podsRule)},
			nil, `the request is for the name "a", and metadata.name is "b"`,
		},
		{
			"another operation", "nothing is known of it",
			reviews.Request{Group: rbacv1.GroupName, Resource: "clusterroles", Name: "a", Operation: admissionv1.Connect}, nil, "cannot be decided here",
		},
		{
			"a subresource", "a ClusterRole has none",
			reviews.Request{Group: rbacv1.GroupName, Resource: "clusterroles", Subresource: "status", Name: "a", Operation: admissionv1.Update}, nil, "cannot be decided here",
		},
		{
			"an object of other types", "what it says is not known",
			reviews.Request{Group: rbacv1.GroupName, Resource: "clusterroles", Name: "a", Operation: admissionv1.Create, Object: map[string]any{"rules": "all"}}, nil, "request.object cannot be read",
		},
		{
			"no oldObject", "what view has is not known",
			reviews.Request{Group: rbacv1.GroupName, Resource: "clusterroles", Name: "view", Operation: admissionv1.Update, Object: view}, nil, "request.oldObject cannot be read",
		},
		{
			"another group's ClusterRole", "it is none of RBAC",
			reviews.Request{Group: "example.com", Resource: "clusterroles", Name: "a", Operation: admissionv1.Create, Object: map[string]any{"rules": "all"}}, nil, "",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := Decide(cluster(t, tc.more...), tc.request.Review(t), Options{ClusterRoles: ClusterRoleOptions{Allowed: reviews.Protected}})
			require.Equal(t, tc.message == "", a.Allowed, "%s: %s", tc.reason, messageOf(a))
			require.Contains(t, messageOf(a), tc.message)
		})
	}
	another := createsRole(reviews.Role("team", "to-view", secretsRule)).Review(t)
	another.Resource.Version = "v2"
	require.False(t, Decide(cluster(t), another, Options{}).Allowed, "its version is not known")
}

// A protected ClusterRole that does not exist has nothing to protect. The write that creates it is judged by its own rules
// and, if it aggregates, by everything.
func TestProtectedClusterRoleThatDoesNotExist(t *testing.T) {
	o := ClusterRoleOptions{Allowed: map[string][]rbacv1.PolicyRule{"team": {podsRule}}}
	answer := func(r *rbacv1.ClusterRole) *admissionv1.AdmissionResponse {
		return ClusterRoleWrite(cluster(t).ClusterRoles, createsRole(r).Review(t), o)
	}
	require.True(t, answer(reviews.Role("source", "to-team", secretsRule)).Allowed, "nobody has its rules")
	require.True(t, answer(reviews.Role("team", "", podsRule)).Allowed)
	requireAnswer(t, "its own rule", answer(reviews.Role("team", "", secretsRule)), forbidden, "team has the rule")
	requireAnswer(t, "what is labelled now, or at the same time", answer(purekubetest.AggregatedRole("team", "to-team")), forbidden, "a new selector of team")
	o.Allowed["team"] = everything
	require.True(t, answer(purekubetest.AggregatedRole("team", "to-team")).Allowed, "everything is allowed for it")
}

// roleNamed finds a ClusterRole.
func roleNamed(roles []*rbacv1.ClusterRole, name string) *rbacv1.ClusterRole {
	for _, r := range roles {
		if r.Name == name {
			return r
		}
	}
	return nil
}

// admin, edit and view as Kubernetes has them, when an API server of a newer release has added a rule that the allow-list does not
// have, without a review: whoever writes something else is not refused for it, and each write of a controller passes.
func TestANewDefaultRuleLocksNothing(t *testing.T) {
	things := rbacv1.PolicyRule{Verbs: []string{"get", "list", "watch"}, APIGroups: []string{"new.k8s.io"}, Resources: []string{"things"}}
	roles := manifests.BuiltinClusterRoles()
	roleNamed(roles, "system:aggregate-to-view").Rules = []rbacv1.PolicyRule{podsRule, things}
	o := ClusterRoleOptions{Allowed: map[string][]rbacv1.PolicyRule{"view": nil, "edit": nil, "admin": nil}}
	for _, mode := range []rbacaggregate.Options{{}, {MatchUpstream: purekube.V1_37}} { // who aggregates
		x := rbacaggregate.NewIndex(rbacaggregate.Snapshot{ClusterRoles: roles}, rbacaggregate.Options{})
		reviewed := func(from, to *rbacv1.ClusterRole) *admissionv1.AdmissionResponse {
			return ClusterRoleWrite(x, reviews.WritesRole(from, to).Review(t), o)
		}
		label := func(r *rbacv1.ClusterRole) { metav1.SetMetaDataLabel(&r.ObjectMeta, "a", "note") }
		now := slices.Clone(roles)
		for range 4 { // passes, each of which reads what the ones before wrote
			for _, name := range []string{"system:aggregate-to-view", "view", "edit", "admin"} {
				r := roleNamed(now, name)
				requireAnswer(t, "a label is no news", reviewed(r, changed(r, label)), 0, "")
			}
			team := reviews.Role("team", "rbac.authorization.k8s.io/aggregate-to-view", podsRule)
			requireAnswer(t, "every role has that rule", reviewed(nil, team), 0, "")
			team.Rules = []rbacv1.PolicyRule{everything[0]}
			requireAnswer(t, "its own rule is named", reviewed(nil, team), forbidden, `ClusterRole admin would get a rule that is not allowed for it: ["*"] on ["*"] of ["*"] (team has the rule)`)
			outcomes, err := rbacaggregate.PlanAll(rbacaggregate.Snapshot{ClusterRoles: now}, mode)
			require.NoError(t, err)
			for _, outcome := range outcomes {
				for _, a := range outcome.Result.Actions {
					r := roleNamed(now, outcome.Key.Name)
					to := changed(r, func(r *rbacv1.ClusterRole) { r.Rules = a.(rbacaggregate.SetRules).Rules })
					requireAnswer(t, "the controller's write", reviewed(r, to), 0, "")
					now[slices.Index(now, r)] = to
				}
			}
			x = rbacaggregate.NewIndex(rbacaggregate.Snapshot{ClusterRoles: now}, rbacaggregate.Options{})
		}
		require.Contains(t, roleNamed(now, "admin").Rules, things)
	}
}

// Random writes. Each is judged by a list that was made for its review, and is stored after any number of other writes: a
// protected ClusterRole never has a rule that is not allowed, at whatever moment its controllers look.
func TestWritesAtTheSameTimeBringNothingTogether(t *testing.T) {
	o := ClusterRoleOptions{Allowed: map[string][]rbacv1.PolicyRule{"p": {podsRule}}}
	labels := []string{"to-p", "to-a", "to-b"}
	random := func(r *rand.Rand, name string) *rbacv1.ClusterRole {
		role := purekubetest.ClusterRole(name)
		if r.IntN(2) == 0 {
			role = purekubetest.AggregatedRole(name, labels[r.IntN(3)])
		}
		for _, rule := range []rbacv1.PolicyRule{podsRule, secretsRule} {
			if r.IntN(2) == 0 {
				role.Rules = append(role.Rules, rule)
			}
		}
		for _, label := range labels {
			if r.IntN(3) == 0 {
				metav1.SetMetaDataLabel(&role.ObjectMeta, label, "true")
			}
		}
		return role
	}
	answered, allowed, late := 0, 0, 0
	for n := range uint64(800) {
		r := rand.New(rand.NewPCG(n, 36))
		roles := map[string]*rbacv1.ClusterRole{"p": purekubetest.AggregatedRole("p", "to-p")}
		for _, name := range []string{"a", "b", "c"} {
			roles[name] = random(r, name)
			roles[name].Rules = nil // nothing is there that is not allowed
		}
		// after has the cluster after each write, and last the last write of each ClusterRole.
		after, last := []map[string]*rbacv1.ClusterRole{roles}, map[string]int{}
		indexOf := func(roles map[string]*rbacv1.ClusterRole) *rbacaggregate.Index {
			return rbacaggregate.NewIndex(rbacaggregate.Snapshot{ClusterRoles: slices.Collect(maps.Values(roles))}, rbacaggregate.Options{})
		}
		for range 8 {
			now := after[len(after)-1]
			name := []string{"p", "a", "b", "c", "d", "e"}[r.IntN(6)]
			from, to := now[name], random(r, name)
			if from != nil && r.IntN(2) == 0 {
				to.AggregationRule = from.AggregationRule
			}
			// The review has the ClusterRole that the write replaces, so the list is no older than that.
			listed := last[name] + r.IntN(len(after)-last[name])
			answered++
			if !ClusterRoleWrite(indexOf(after[listed]), reviews.WritesRole(from, to).Review(t), o).Allowed {
				continue
			}
			allowed++
			if listed < len(after)-1 {
				late++
			}
			next := maps.Clone(now)
			next[name], last[name] = to, len(after)
			after = append(after, next)
			// Passes copy rules from sources. So what is stored in p, or in what it aggregates through all levels, is all that
			// any order of passes may bring it.
			explanation, err := indexOf(next).Explain(rbacaggregate.Key("p"))
			require.NoError(t, err)
			for _, source := range append(explanation.Sources, rbacaggregate.Source{Name: "p"}) {
				for _, rule := range next[source.Name].Rules {
					require.Equal(t, podsRule, rule, "seed %d: stored in %s", n, source.Name)
				}
			}
		}
	}
	t.Logf("%d writes, %d allowed, %d of them late", answered, allowed, late)
	require.Greater(t, allowed, 1000)
	require.Greater(t, late, 500)
}

// A ClusterRole of the size that etcd takes is a review of more than 8 MiB: it has the old object and the new
// one, in JSON.
func TestLargestClusterRole(t *testing.T) {
	big := reviews.Role("big", "to-view", podsRule)
	for i := 0; big.Size() < 1_400_000; i++ {
		for range 100 {
			big.Rules = append(big.Rules, rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods", "services", fmt.Sprint("pods/", i)}[:1+i%2]})
		}
	}
	wide := changed(big, func(r *rbacv1.ClusterRole) { r.Rules = append(r.Rules, secretsRule) })
	roles, o := cluster(t).ClusterRoles, ClusterRoleOptions{Allowed: reviews.Protected}
	for _, tc := range []struct {
		to      *rbacv1.ClusterRole
		allowed bool
	}{{changed(big, func(r *rbacv1.ClusterRole) { r.Rules = append(r.Rules, podsRule) }), true}, {wide, false}} {
		r := reviews.WritesRole(big, tc.to).Review(t)
		require.Greater(t, len(r.Object.Raw)+len(r.OldObject.Raw), 8<<20)
		a := ClusterRoleWrite(roles, r, o)
		require.Equal(t, tc.allowed, a.Allowed, messageOf(a))
		require.LessOrEqual(t, len(messageOf(a)), maxMessage, "a message quotes no more than the beginning of a rule")
	}
}

// A few entries make a product of four lists that nobody can go through. The decision does not.
func TestClusterRoleWithALargeProduct(t *testing.T) {
	roles, o := cluster(t).ClusterRoles, ClusterRoleOptions{Allowed: reviews.Protected}
	wide := manyEntries(5000)
	require.False(t, ClusterRoleWrite(roles, createsRole(reviews.Role("team", "to-view", wide)).Review(t), o).Allowed)
	wide.APIGroups, wide.Verbs, wide.Resources = append(wide.APIGroups, ""), []string{"get"}, []string{"pods"}
	a := ClusterRoleWrite(roles, createsRole(reviews.Role("team", "to-view", wide)).Review(t), o)
	require.True(t, a.Allowed, messageOf(a))
}
