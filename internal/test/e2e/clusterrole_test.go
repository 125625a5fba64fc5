package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ClusterRole stories: BR-27-01 … BR-27-06.
func init() {
	stories["clusterrole in view, edit and admin"] = roleInViewEditAndAdmin
	stories["clusterrole of a thousand rules"] = aThousandRules
	stories["clusterrole cycle"] = cycleOfRoles
	stories["clusterrole written by hand"] = rulesWrittenByHand
}

// What is labelled to be in view is in edit and admin as well, and leaves all three.
func roleInViewEditAndAdmin(t *testing.T, w *world) {
	rule := ruleFor("dishes")
	w.createRole(t, "cook", map[string]string{"rbac.authorization.k8s.io/aggregate-to-view": "true"}, nil, rule)
	w.disturb()
	for _, role := range []string{"view", "edit", "admin"} {
		eventually(t, patience, "in "+role, w.roleHas(role, rule, true))
	}
	_, err := w.RbacV1().ClusterRoles().Patch(t.Context(), "cook", types.MergePatchType, []byte(`{"metadata":{"labels":null}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	w.disturb()
	for _, role := range []string{"view", "edit", "admin"} {
		eventually(t, patience, "out of "+role, w.roleHas(role, rule, false))
	}
}

func aThousandRules(t *testing.T, w *world) {
	var rules []rbacv1.PolicyRule
	for i := range 1000 {
		rules = append(rules, ruleFor(fmt.Sprintf("things-%04d", i)))
	}
	w.createRole(t, "thousand", nil, labelled("thousand"))
	w.createRole(t, "thousand-source", map[string]string{"thousand": "true"}, nil, rules...)
	w.disturb()
	eventually(t, patience, "all rules", w.roleIs("thousand", rules...))
	require.NoError(t, w.RbacV1().ClusterRoles().Delete(t.Context(), "thousand-source", metav1.DeleteOptions{}))
	w.disturb()
	eventually(t, patience, "no rules", w.roleIs("thousand"))
}

// Two roles that aggregate each other have what enters either, and lose it when its source does (D-11).
func cycleOfRoles(t *testing.T, w *world) {
	rule := ruleFor("laps")
	w.createRole(t, "ring-a", map[string]string{"ring-a": "true"}, labelled("ring-b"))
	w.createRole(t, "ring-b", map[string]string{"ring-b": "true"}, labelled("ring-a"))
	w.createRole(t, "ring-source", map[string]string{"ring-a": "true"}, nil, rule)
	w.disturb()
	eventually(t, patience, "in both", func(ctx context.Context) error {
		return errors.Join(w.roleIs("ring-a", rule)(ctx), w.roleIs("ring-b", rule)(ctx))
	})
	require.NoError(t, w.RbacV1().ClusterRoles().Delete(t.Context(), "ring-source", metav1.DeleteOptions{}))
	w.disturb()
	eventually(t, patience, "in neither", func(ctx context.Context) error {
		return errors.Join(w.roleIs("ring-a")(ctx), w.roleIs("ring-b")(ctx))
	})
}

// A rule that somebody writes into an aggregated role is taken out, with sources and without (D-20).
func rulesWrittenByHand(t *testing.T, w *world) {
	rule := ruleFor("letters")
	w.createRole(t, "hand", nil, labelled("hand"), ruleFor("anything"))
	w.disturb()
	eventually(t, patience, "no rules without a source", w.roleIs("hand"))
	w.createRole(t, "hand-source", map[string]string{"hand": "true"}, nil, rule)
	eventually(t, patience, "the source's rule", w.roleIs("hand", rule))
	_, err := w.RbacV1().ClusterRoles().Patch(t.Context(), "hand", types.JSONPatchType,
		[]byte(`[{"op":"add","path":"/rules/-","value":{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}}]`), metav1.PatchOptions{})
	require.NoError(t, err)
	w.disturb()
	eventually(t, patience, "the source's rule alone", w.roleIs("hand", rule))
}

func ruleFor(resource string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{"example.com"}, Resources: []string{resource}}
}

func labelled(key string) *rbacv1.AggregationRule {
	return &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{key: "true"}}}}
}

func (w *world) createRole(t *testing.T, name string, labels map[string]string, from *rbacv1.AggregationRule, rules ...rbacv1.PolicyRule) {
	t.Helper()
	_, err := w.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, AggregationRule: from, Rules: rules,
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// roleIs holds that a role has these rules and no others.
func (w *world) roleIs(name string, rules ...rbacv1.PolicyRule) func(context.Context) error {
	return func(ctx context.Context) error {
		role, err := w.RbacV1().ClusterRoles().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if !equality.Semantic.DeepEqual(rules, role.Rules) {
			return fmt.Errorf("%s has %d rules, not these %d: %.300v", name, len(role.Rules), len(rules), role.Rules)
		}
		return nil
	}
}

func (w *world) roleHas(name string, rule rbacv1.PolicyRule, want bool) func(context.Context) error {
	return func(ctx context.Context) error {
		role, err := w.RbacV1().ClusterRoles().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		has := false
		for _, r := range role.Rules {
			has = has || equality.Semantic.DeepEqual(r, rule)
		}
		return expect(name+" has the rule", want, has)
	}
}
