package rbacaggregate

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Whose rules stay where none are left, when upstream's apply does not mention rules: those of another field
// manager, and those of which it is not known whose they are.
func TestD20_WhoseRulesStay(t *testing.T) {
	entry := func(manager string, operation metav1.ManagedFieldsOperationType, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, FieldsV1: &metav1.FieldsV1{Raw: []byte(fields)}}
	}
	const (
		rules    = `{"f:rules":{}}`
		metadata = `{"f:metadata":{"f:labels":{}}}`
		apply    = metav1.ManagedFieldsOperationApply
		update   = metav1.ManagedFieldsOperationUpdate
	)
	own, unread := entry(fieldManager, apply, rules), entry("kubectl", update, metadata)
	unread.FieldsV1 = nil
	noRaw := entry("kubectl", update, metadata)
	noRaw.FieldsV1 = &metav1.FieldsV1{}
	for _, tc := range []struct {
		name, reason string
		entries      []metav1.ManagedFieldsEntry
		stay         bool
	}{
		{"no entries", "they may have been left out of the cache", nil, true},
		{"the controller's", "it owned them, and its apply gives them up", []metav1.ManagedFieldsEntry{own}, false},
		{"the controller's and other fields", "who owns labels owns no rules", []metav1.ManagedFieldsEntry{entry("kubectl", update, metadata), own}, false},
		{"nobody's", "the apply takes away only what the controller owned", []metav1.ManagedFieldsEntry{entry("kubectl", update, metadata)}, true},
		{"nobody's, and the controller's other fields", "the same", []metav1.ManagedFieldsEntry{entry(fieldManager, apply, metadata)}, true},
		{"the controller's without fields", "what it owns is not known", []metav1.ManagedFieldsEntry{{Manager: fieldManager, Operation: apply}}, true},
		{"another one's", "the apply leaves them alone", []metav1.ManagedFieldsEntry{entry("kubectl", apply, rules)}, true},
		{"another one's too", "one owner is enough", []metav1.ManagedFieldsEntry{own, entry("kubectl", update, rules)}, true},
		{"the controller's, and its other fields", "one of its entries is enough", []metav1.ManagedFieldsEntry{own, entry(fieldManager, apply, metadata)}, false},
		{"another one's, and other fields of a third", "one owner is enough", []metav1.ManagedFieldsEntry{own, entry("kubectl", apply, rules), entry("helm", update, metadata)}, true},
		{
			"an update of the controller's name", "to the API server it is another manager than the one that applies",
			[]metav1.ManagedFieldsEntry{own, entry(fieldManager, update, rules)}, true,
		},
		{"an entry without fields", "what it owns is not known", []metav1.ManagedFieldsEntry{own, unread}, true},
		{"an entry of empty fields", "what it owns is not known", []metav1.ManagedFieldsEntry{own, noRaw}, true},
		{"an entry that is no JSON", "what it owns is not known", []metav1.ManagedFieldsEntry{own, entry("kubectl", update, `{"f:rules"`)}, true},
		{"an entry that is no object", "what it owns is not known", []metav1.ManagedFieldsEntry{own, entry("kubectl", update, `["f:rules"]`)}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			role := sum("sum", "", "none", secrets)
			role.ManagedFields = tc.entries
			want := Change{Key: Key("sum"), Added: rulesOf(secrets)}
			if !tc.stay {
				want = Change{Key: Key("sum"), Overwritten: rulesOf(secrets)}
			}
			got, err := NewIndex(Snapshot{}, upstream).Preview(role)
			require.NoError(t, err)
			require.Empty(t, cmp.Diff([]Change{want}, got), tc.reason)
		})
	}
}

// By default a rule needs a source, whoever owns it.
func TestD20_ByDefaultNobodyKeepsRules(t *testing.T) {
	outcomes, err := PlanAll(snapshotOf(ownedRules("kubectl", sum("low", "low", "none", secrets)), sum("top", "", "low", secrets)), Options{})
	require.NoError(t, err)
	require.Len(t, outcomes, 2)
	for _, o := range outcomes {
		require.Equal(t, []rbacv1.PolicyRule{}, o.Result.Actions[0].(SetRules).Rules, o.Key)
	}
}

// What a ClusterRole comes to in the end when its sources grant something in every order of the passes, and when they may
// not: then it keeps the rules that are stored in it. Whose they are is not known here.
func TestD20_WhatRestsOnOthersKeepsNothing(t *testing.T) {
	const problem = `ClusterRole bad: aggregationRule.clusterRoleSelectors[1]: "Near" is not a valid label selector operator`
	for _, tc := range []struct {
		name, reason string
		s            Snapshot
		of           string // what top aggregates
		added        []rbacv1.PolicyRule
		keeps        bool
		err          string
	}{{
		name: "no sources", reason: "nothing is left", keeps: true,
	}, {
		name: "the first selector brings rules", reason: "one is enough", of: "is none",
		s: snapshotOf(plain("a", "is", pods)), added: rulesOf(pods),
	}, {
		name: "the last selector brings rules", reason: "one is enough", of: "none is",
		s: snapshotOf(plain("a", "is", pods)), added: rulesOf(pods),
	}, {
		name: "a source without rules", reason: "it grants nothing", of: "is", keeps: true,
		s: snapshotOf(plain("a", "is")),
	}, {
		name: "a source that aggregates rules", reason: "it grants them, though none are stored in it yet", of: "low",
		s: snapshotOf(sum("low", "low", "is"), plain("a", "is", pods)), added: rulesOf(pods),
	}, {
		name: "a source that keeps rules", reason: "it grants these", of: "low",
		s: snapshotOf(ownedRules("kubectl", sum("low", "low", "none", jobs))), added: rulesOf(jobs),
	}, {
		name: "a source that may keep rules", reason: "whose they are is not known, so they may go", of: "low", keeps: true,
		s: snapshotOf(sum("low", "low", "none", jobs)), added: rulesOf(jobs),
	}, {
		name: "a source that keeps rules over a source without rules", reason: "it is never given others", of: "low",
		s:     snapshotOf(ownedRules("kubectl", sum("low", "low", "is", jobs)), plain("a", "is")),
		added: rulesOf(jobs),
	}, {
		name: "a source that keeps rules and selects itself", reason: "it gives itself none (BR-27-03)", of: "low",
		s:     snapshotOf(ownedRules("kubectl", sum("low", "low", "low", jobs))),
		added: rulesOf(jobs),
	}, {
		name: "a source that keeps rules, over a source with rules", reason: "it is given these in their place", of: "low",
		s:     snapshotOf(ownedRules("kubectl", sum("low", "low", "is", jobs)), plain("a", "is", pods)),
		added: rulesOf(pods),
	}, {
		name: "a source that keeps rules unless it is given others", of: "mid", keeps: true,
		reason: "if mid collects the rules of low before they go, the controller owns what it has",
		s:      snapshotOf(ownedRules("kubectl", sum("mid", "mid", "low", jobs)), ownedRules(fieldManager, sum("low", "low", "none", nodes))),
		added:  rulesOf(jobs),
	}, {
		name: "a source whose rules go", reason: "only the controller set them, so it grants nothing in the end", of: "low", keeps: true,
		s: snapshotOf(ownedRules(fieldManager, sum("low", "low", "none", jobs))),
	}, {
		name: "a source that aggregates none", reason: "it grants nothing", of: "low", keeps: true,
		s: snapshotOf(sum("low", "low", "is"), plain("a", "is")),
	}, {
		name: "a cycle that rules enter", reason: "they reach all of its members", of: "y",
		s: snapshotOf(sum("x", "x", "y is"), sum("y", "y", "x"), plain("a", "is", pods)), added: rulesOf(pods),
	}, {
		name: "a cycle in which rules are stored", reason: "they go round, and out of it, or they are lost first", of: "y", keeps: true,
		s: snapshotOf(sum("x", "x", "y"), sum("y", "y", "x", jobs)), added: rulesOf(jobs),
	}, {
		name: "a cycle in which a source of rules is kept", reason: "it grants them in the end", of: "y",
		s:     snapshotOf(sum("x", "x", "y low"), sum("y", "y", "x"), ownedRules("kubectl", sum("low", "low", "none", jobs))),
		added: rulesOf(jobs),
	}, {
		name: "a cycle above stored rules", reason: "they may get into it before they are replaced", of: "y",
		s:     snapshotOf(sum("x", "x", "y low"), sum("y", "y", "x"), sum("low", "low", "is", jobs), plain("a", "is", pods)),
		added: rulesOf(pods, jobs),
	}, {
		name: "a cycle without rules", reason: "it grants nothing", of: "y", keeps: true,
		s: snapshotOf(sum("x", "x", "y"), sum("y", "y", "x")),
	}, {
		name: "a cycle above what cannot be computed", reason: "that is not written, so what is stored further down does not get into it", of: "y",
		s: snapshotOf(sum("x", "x", "y bad"), sum("y", "y", "x"), broken(sum("bad", "bad", "low", nodes)),
			sum("low", "low", "is", jobs), plain("a", "is", pods)),
		added: rulesOf(nodes), err: problem,
	}} {
		t.Run(tc.name, func(t *testing.T) {
			top := sum("top", "", tc.of, secrets)
			want := Change{Key: Key("top"), Added: tc.added, Overwritten: rulesOf(secrets)}
			if tc.keeps {
				want = Change{Key: Key("top"), Added: append(slices.Clone(tc.added), rulesOf(secrets)...)}
			}
			got, err := NewIndex(tc.s, upstream).Preview(top)
			one, oneErr := NewIndex(tc.s, upstream).PreviewRole(top, Key("top"))
			for _, err := range []error{err, oneErr} {
				if tc.err == "" {
					require.NoError(t, err)
				} else {
					require.EqualError(t, err, tc.err)
				}
			}
			require.Empty(t, cmp.Diff([]Change{want}, got), tc.reason)
			require.Empty(t, cmp.Diff(want, one), "asked for it alone: %s", tc.reason)
		})
	}
}
