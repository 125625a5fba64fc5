package parity

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// BenchmarkDisruption has budgets of twenty pods each in one namespace, over a Deployment each, none
// of them computed yet.
func BenchmarkDisruption(b *testing.B) {
	const budgets, podsEach = 400, 20
	b.Run(fmt.Sprintf("budgets=%d,pods=%d", budgets, budgets*podsEach), func(b *testing.B) {
		var objects []runtime.Object
		for n := range budgets {
			app := fmt.Sprintf("app-%d", n)
			of := func(kind string) metav1.ObjectMeta {
				return metav1.ObjectMeta{Namespace: "ns", Name: app, UID: types.UID("uid-" + kind + app)}
			}
			budget := covering(app, "10%")
			budget.Spec.Selector.MatchLabels["app"] = app
			deployment := &appsv1.Deployment{ObjectMeta: of("Deployment"), Spec: appsv1.DeploymentSpec{Replicas: new(int32(podsEach))}}
			rs := &appsv1.ReplicaSet{ObjectMeta: of("ReplicaSet"), Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(podsEach))}}
			rs.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: app, UID: deployment.UID, Controller: new(true)}}
			objects = append(objects, budget, deployment, rs)
			for k := range podsEach {
				pod := ownedPod(fmt.Sprintf("%s-%d", app, k), "apps/v1", "ReplicaSet", app)
				pod.OwnerReferences[0].UID = rs.UID
				pod.Labels["app"] = app
				objects = append(objects, pod)
			}
		}
		s := budgetsOf(objects)
		SideBySide(b, 1, objects, StartDisruption(ScalesIn(s.Answers)), func() int {
			requests := 0
			for _, o := range planAll(s, upstreamBudgets) {
				for _, a := range o.Result.Actions {
					if len(a.Request(nil).Patch) > 0 {
						requests++
					}
				}
			}
			return requests
		})
	})
}
