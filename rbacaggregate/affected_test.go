package rbacaggregate

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube"
)

// namesOf are the names of keys, all of which are keys of ClusterRoles.
func namesOf(keys []purekube.Key) []string {
	var names []string
	for _, key := range keys {
		names = append(names, key.Name)
		if key != Key(key.Name) {
			panic(key.String() + " is no ClusterRole")
		}
	}
	return names
}

// affectedBy are the names that With and Without say when oldObj becomes newObj. oldObj is nil for an object that is
// added, newObj for one that is deleted.
func affectedBy(s Snapshot, oldObj, newObj *rbacv1.ClusterRole, o Options) []string {
	x := NewIndex(s.without(snapshotOf(oldObj, newObj)).with(snapshotOf(oldObj)), o)
	var affected []purekube.Key
	if newObj != nil {
		x, affected = x.With(snapshotOf(newObj))
	}
	if oldObj != nil && (newObj == nil || newObj.Name != oldObj.Name) {
		_, more := x.Without(snapshotOf(oldObj))
		affected = append(affected, more...)
	}
	names := namesOf(affected)
	slices.Sort(names)
	return slices.Compact(names)
}

func TestBR2701_EveryAggregatingRole(t *testing.T) {
	s := snapshotOf(sum("z", "", "is"), plain("a", "is"), sum("m", "", "else"), nil, sum("b", "", ""),
		plain("one of two", ""), sum("one of two", "", ""), plain("two plain ones", ""), plain("two plain ones", ""))
	for _, tc := range []struct {
		name, reason   string
		oldObj, newObj *rbacv1.ClusterRole
		want           []string
	}{
		{"update", "whatever changed", plain("a", "is"), plain("a", "is"), []string{"b", "m", "one of two", "two plain ones", "z"}},
		{"add", "the newObj one aggregates too", nil, sum("c", "", ""), []string{"b", "c", "m", "one of two", "two plain ones", "z"}},
		{"delete", "the deleted one too: its plan is empty now", sum("m", "", "else"), nil, []string{"b", "m", "one of two", "two plain ones", "z"}},
		{"stops aggregating", "so is the plan of one that has no aggregationRule any more", sum("m", "", "else"), plain("m", ""), []string{"b", "m", "one of two", "two plain ones", "z"}},
		{"no event", "nothing happened", nil, nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, affectedBy(s, tc.oldObj, tc.newObj, Options{MatchUpstream: purekube.V1_36}), tc.reason)
		})
	}
	x := NewIndex(s, upstream)
	_, affected := x.With(snapshotOf(nil))
	require.Empty(t, affected, "a nil object belongs to no key")
	_, affected = x.Without(snapshotOf(plain("not there", "is")))
	require.Empty(t, affected, "nothing happened")
}

func TestAffected(t *testing.T) {
	// leaf ─► low ─► mid ─► top, and other beside them.
	s := snapshotOf(
		plain("leaf", "leaf", pods), sum("low", "low", "leaf", pods), sum("mid", "mid", "low", pods),
		sum("top", "", "mid", pods), sum("other", "", "else"), plain("unlabelled", "", nodes),
	)
	noted := func(r *rbacv1.ClusterRole) *rbacv1.ClusterRole {
		r.Annotations = map[string]string{"note": "x"}
		r.ResourceVersion = "9"
		return r
	}
	for _, tc := range []struct {
		name, reason   string
		oldObj, newObj *rbacv1.ClusterRole
		want           []string
	}{
		{"rules", "through all levels", plain("leaf", "leaf", pods), plain("leaf", "leaf", nodes), []string{"low", "mid", "top"}},
		{"resync", "nothing changed", plain("leaf", "leaf", pods), plain("leaf", "leaf", pods), nil},
		{"annotations", "nothing that aggregation reads", plain("leaf", "leaf", pods), noted(plain("leaf", "leaf", pods)), nil},
		{"relabelled", "those that it leaves and those that it joins", plain("leaf", "leaf", pods), plain("leaf", "else", pods), []string{"low", "mid", "other", "top"}},
		{"another label", "nobody selects it", plain("leaf", "leaf", pods), plain("leaf", "leaf more", pods), nil},
		{"label added", "only the one that it joins", plain("leaf", "leaf", pods), plain("leaf", "leaf else", pods), []string{"other"}},
		{"label and rules", "both at once", plain("leaf", "leaf", pods), plain("leaf", "leaf else", nodes), []string{"low", "mid", "other", "top"}},
		{"added", "those that select it", nil, plain("new", "mid", jobs), []string{"top"}},
		{"added unlabelled", "nobody selects it", nil, plain("new", "", jobs), nil},
		{"deleted", "those that selected it", plain("leaf", "leaf", pods), nil, []string{"low", "mid", "top"}},
		{"unselected rules", "nobody selects it", plain("unlabelled", "", pods), plain("unlabelled", "", nodes), nil},
		{"SetRules carried out", "only itself: what is written in a role that aggregates is not what it brings", sum("mid", "mid", "low"), sum("mid", "mid", "low", pods), []string{"mid"}},
		{"resync of one that aggregates", "nothing changed", sum("mid", "mid", "low", pods), sum("mid", "mid", "low", pods), nil},
		{"one that aggregates matches itself", "it does not aggregate itself", sum("other", "", "else"), sum("other", "else", "else"), nil},
		{"one that aggregates matches itself no more", "it did not aggregate itself", sum("other", "else", "else"), sum("other", "", "else"), nil},
		{"aggregationRule", "itself and those above", sum("mid", "mid", "low"), sum("mid", "mid", "else"), []string{"mid", "top"}},
		{"begins to aggregate", "itself and those above", plain("mid", "mid", pods), sum("mid", "mid", "low", pods), []string{"mid", "top"}},
		{"stops aggregating", "itself, whose plan is empty now, and those above", sum("mid", "mid", "low", pods), plain("mid", "mid", pods), []string{"mid", "top"}},
		{"aggregating role added", "itself", nil, sum("new", "", "leaf"), []string{"new"}},
		{"aggregating role deleted", "itself, whose plan is empty now, and those above", sum("mid", "mid", "low"), nil, []string{"mid", "top"}},
		{"nameless", "it is left out", nil, plain("", "leaf"), nil},
		{"another name", "one deleted, one added", plain("leaf", "leaf", pods), plain("new", "else", pods), []string{"low", "mid", "other", "top"}},
		{"another UID", "deleted and made again between two looks", plain("leaf", "leaf", pods), func() *rbacv1.ClusterRole {
			r := plain("leaf", "leaf", pods)
			r.UID = "another"
			return r
		}(), []string{"low", "mid", "top"}},
		{"neither", "no event", nil, nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, affectedBy(s, tc.oldObj, tc.newObj, Options{}), tc.reason)
		})
	}
}

func TestAffectedByRoleThatCannotBeSummed(t *testing.T) {
	broken := func(rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
		r := sum("mid", "mid", "low", rules...)
		r.AggregationRule.ClusterRoleSelectors = append(r.AggregationRule.ClusterRoleSelectors, badSelector())
		return r
	}
	s := snapshotOf(sum("top", "", "mid"), broken(pods))
	require.Equal(t, []string{"mid", "top"}, affectedBy(s, broken(nodes), broken(pods), Options{}),
		"what is written in it is what it brings")

	first := sum("sum", "", "a b")
	first.AggregationRule.ClusterRoleSelectors[0] = badSelector()
	require.Empty(t, affectedBy(snapshotOf(first), plain("x", "b"), plain("x", "b c"), Options{}),
		"its selectors are counted without the one that does not convert")
}

// Candidates are found by one of the labels that a selector demands. Only a match counts.
func TestAffectedBySelectorOfTwoLabels(t *testing.T) {
	both, without := sum("both", "c", "a"), sum("without", "c", "a")
	both.AggregationRule.ClusterRoleSelectors[0].MatchLabels["b"] = "true"
	without.AggregationRule.ClusterRoleSelectors[0] = metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "c", Operator: metav1.LabelSelectorOpDoesNotExist}}}
	s := snapshotOf(both, without)
	for _, tc := range []struct {
		kinds, reason string
		want          []string
	}{
		{"a c", "it lacks b, and has c", nil},
		{"b c", "it lacks a, and has c", nil},
		{"a b c", "it has c", []string{"both"}},
		{"a", "it lacks b", []string{"without"}},
		{"a b", "both match", []string{"both", "without"}},
	} {
		require.Equal(t, tc.want, affectedBy(s, nil, plain("new", tc.kinds, pods), Options{}), "%s: %s", tc.kinds, tc.reason)
	}
}

// While a name is there twice, no role is written, so what is stored in it is what it brings. Every plan is an error that
// names it, and another one when another name is the first.
func TestAffectedWhileANameIsThereTwice(t *testing.T) {
	twins := []*rbacv1.ClusterRole{plain("twin", "else"), plain("twin", "")}
	roles := []*rbacv1.ClusterRole{sum("top", "", "mid"), sum("mid", "mid", "low", pods)}
	all := []string{"mid", "top", "twin"}
	x, affected := NewIndex(snapshotOf(roles...), Options{}).With(snapshotOf(twins...))
	require.Equal(t, all, namesOf(affected), "it comes")
	require.Equal(t, []string{"mid", "top"}, affectedBy(snapshotOf(append(roles, twins...)...), sum("mid", "mid", "low", nodes), roles[1], Options{}))
	later, affected := x.With(snapshotOf(plain("two", ""), plain("two", "")))
	require.Equal(t, []string{"two"}, namesOf(affected), "twin is named, not two")
	next, affected := later.Without(snapshotOf(plain("twin", "")))
	require.Equal(t, append(all, "two"), namesOf(affected), "two is named now")
	_, affected = next.Without(snapshotOf(plain("two", "")))
	require.Equal(t, []string{"mid", "top", "two"}, namesOf(affected), "all can be computed again")
}

func TestAffectedInCycle(t *testing.T) {
	s := snapshotOf(sum("x", "x", "y leaf"), sum("y", "y", "x"), sum("z", "", "y"), plain("a", "leaf", pods))
	require.Equal(t, []string{"x", "y", "z"}, affectedBy(s, plain("a", "leaf"), plain("a", "leaf", pods), Options{}))
}

// The rules are collected in the order of the selectors (BR-27-02). If another selector is the first to match a source,
// its rules move.
func TestAffectedBySelectorThatMatchesFirst(t *testing.T) {
	for _, tc := range []struct {
		name, reason string
		before, of   string
		want         []string
	}{
		{"a later one", "its rules come behind those of other", "a b", "b", []string{"sum", "top"}},
		{"an earlier one", "its rules come before those of other", "b", "a b", []string{"sum", "top"}},
		{"the same one", "whatever matches behind it", "a", "a b", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := snapshotOf(sum("sum", "sum", "none a b"), plain("other", "a", nodes), sum("top", "", "sum"))
			source := func(kinds string) *rbacv1.ClusterRole { return plain("first", kinds, pods) }
			require.Equal(t, tc.want, affectedBy(s, source(tc.before), source(tc.of), Options{}), tc.reason)
			x, _ := NewIndex(s, Options{}).With(snapshotOf(source(tc.before)))
			next, affected := x.With(snapshotOf(source(tc.of)))
			require.Equal(t, tc.want, namesOf(affected), tc.reason)
			was, err := x.Rules(Key("sum"))
			require.NoError(t, err)
			is, err := next.Rules(Key("sum"))
			require.NoError(t, err)
			require.Equal(t, len(tc.want) > 0, !cmp.Equal(was, is), tc.reason)
		})
	}
}

// after returns the snapshot with newObj in the place of oldObj.
func (s Snapshot) after(oldObj, newObj *rbacv1.ClusterRole) Snapshot {
	var after Snapshot
	for _, r := range s.ClusterRoles {
		if r == nil || (oldObj == nil || r.Name != oldObj.Name) && (newObj == nil || r.Name != newObj.Name) {
			after.ClusterRoles = append(after.ClusterRoles, r)
		}
	}
	if newObj != nil {
		after.ClusterRoles = append(after.ClusterRoles, newObj)
	}
	return after
}
