package parity

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// PreemptionCase is a divergence from kube-scheduler. This module documents it beside the others, and
// internal/test/eviction, which has the scheduler, runs it.
type PreemptionCase struct {
	Victims        []*corev1.Pod
	Budgets        []*policyv1.PodDisruptionBudget
	Upstream, Ours string
}

// D40 returns new objects at each call: a budget with an empty selector, and one that selects pods without a label.
func D40() PreemptionCase {
	budget := func(namespace string, selector metav1.LabelSelector) *policyv1.PodDisruptionBudget {
		return &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "b", UID: types.UID("uid-" + namespace)},
			Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: ptr.To(intstr.FromInt32(0)), Selector: &selector},
		}
	}
	victim := func(namespace, name string, labels map[string]string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-" + name), Labels: labels},
			Status: corev1.PodStatus{
				Phase:      corev1.PodRunning,
				Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			},
		}
	}
	return PreemptionCase{
		Victims: []*corev1.Pod{
			victim("every-pod", "labelled", map[string]string{"app": "a"}), victim("every-pod", "plain", nil),
			victim("no-app", "unlabelled", nil),
		},
		Budgets: []*policyv1.PodDisruptionBudget{
			budget("every-pod", metav1.LabelSelector{}),
			budget("no-app", metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "app", Operator: metav1.LabelSelectorOpDoesNotExist},
			}}),
		},
		Upstream: "violating: []",
		Ours:     "violating: [every-pod/labelled every-pod/plain no-app/unlabelled]",
	}
}

// Violating writes down victims that violate a budget, as the fields of D40 do.
func Violating(victims []types.NamespacedName) string { return fmt.Sprintf("violating: %v", victims) }
