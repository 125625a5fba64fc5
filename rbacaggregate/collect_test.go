package rbacaggregate

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/purekube/purekube/internal/test/seed"
)

// The key names every field of a rule: a field that a later API adds has to be added to it.
func TestBR2704_KeyCoversTheRule(t *testing.T) {
	typ := reflect.TypeFor[rbacv1.PolicyRule]()
	require.Equal(t, 5, typ.NumField())
	filled := map[string]bool{string(appendRuleKey(nil, &rbacv1.PolicyRule{})): true}
	for i := range typ.NumField() {
		var r rbacv1.PolicyRule
		reflect.ValueOf(&r).Elem().Field(i).Set(reflect.ValueOf([]string{"x"}))
		key := string(appendRuleKey(nil, &r))
		require.False(t, filled[key], "%s is not in the key", typ.Field(i).Name)
		require.False(t, equalRules(r, rbacv1.PolicyRule{}), "%s is not compared", typ.Field(i).Name)
		filled[key] = true
	}
}

func TestBR2704_KeyIsSemanticEquality(t *testing.T) {
	lists := [][]string{nil, {}, {""}, {"", ""}, {"a"}, {"b"}, {"a", "b"}, {"b", "a"}, {"ab"}, {"a\x00b"}, {"\x01a"}, {"a", ""}, {"", "a"}, {"ab", ""}, {"", "ab"}}
	seed := seed.First(t, 4)
	r := rand.New(rand.NewPCG(seed, 0))
	random := func() *rbacv1.PolicyRule {
		list := func() []string { return lists[r.IntN(len(lists))] }
		if r.IntN(2) == 0 { // often two rules differ in one list only
			list = func() []string { return lists[r.IntN(3)] }
		}
		return &rbacv1.PolicyRule{Verbs: list(), APIGroups: list(), Resources: list(), ResourceNames: list(), NonResourceURLs: list()}
	}
	equal := 0
	for round := range 60_000 {
		a, b := random(), random()
		if round%2 == 0 { // the same but for one list, which may be cut elsewhere
			copied := *a
			b = &copied
			b.Resources = lists[r.IntN(len(lists))]
		}
		want := equality.Semantic.DeepEqual(a, b)
		if want {
			equal++
		}
		if got := string(appendRuleKey(nil, a)) == string(appendRuleKey(nil, b)); got != want {
			t.Fatalf("seed %d: %#v and %#v: by key %v, semantically %v", seed, a, b, got, want)
		}
		if got := equalRules(*a, *b); got != want {
			t.Fatalf("seed %d: %#v and %#v: compared %v, semantically %v", seed, a, b, got, want)
		}
	}
	require.Greater(t, equal, 100, "too few equal pairs to say anything")
}

// Whoever appends to a list of a rule, or changes it, changes no other rule.
func TestCopiesShareNothing(t *testing.T) {
	of := func(verb, group string) rule {
		return rule{PolicyRule: &rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{group}, Resources: []string{}}}
	}
	rules := []rule{of("get", "apps"), of("list", "batch")}
	copied := copyOf(rules)
	require.Equal(t, []rbacv1.PolicyRule{*rules[0].PolicyRule, *rules[1].PolicyRule}, copied)
	_ = append(copied[0].Verbs, "watch")
	_ = append(copied[0].Resources, "pods")
	copied[0].APIGroups[0] = "policy"
	require.Equal(t, []rbacv1.PolicyRule{{Verbs: []string{"get"}, APIGroups: []string{"policy"}, Resources: []string{}}, *rules[1].PolicyRule}, copied)
	require.Equal(t, of("get", "apps"), rules[0])
}

// All lists of all rules are in one array: beside it, only the slice of the rules is allocated.
func TestCopiesAreInOneArray(t *testing.T) {
	twenty := slices.Repeat([]string{"x"}, 20)
	all := rule{PolicyRule: &rbacv1.PolicyRule{
		Verbs: twenty, APIGroups: twenty, Resources: twenty, ResourceNames: twenty, NonResourceURLs: twenty}}
	require.EqualValues(t, 2, testing.AllocsPerRun(5, func() { copyOf([]rule{all, all}) }))
}
