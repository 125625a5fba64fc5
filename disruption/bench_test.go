package disruption

import (
	"fmt"
	"math"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/podstate"
)

// benchCluster has so many budgets of 20 pods each, spread over namespaces. Every pod carries the
// five labels that pods have in practice, two of which the budgets demand; every Deployment
// has its ReplicaSet. The statuses are right, as they are nearly always.
func benchCluster(budgets, namespaces int) Snapshot {
	const podsPerBudget = 20
	s := Snapshot{Now: time.Unix(1_000_000_000, 0)}
	for i := range budgets {
		ns := fmt.Sprintf("team-%d", i%namespaces)
		app := fmt.Sprintf("app-%d", i)
		meta := func(name string, owner *metav1.OwnerReference) metav1.ObjectMeta {
			m := metav1.ObjectMeta{Namespace: ns, Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{
				"app.kubernetes.io/name": app, "app.kubernetes.io/part-of": "shop", "tier": "backend",
				"pod-template-hash": "6d4b75cb6d", "version": "v1",
			}}
			if owner != nil {
				m.OwnerReferences = []metav1.OwnerReference{*owner}
			}
			return m
		}
		controlledBy := func(kind, name string) *metav1.OwnerReference {
			return &metav1.OwnerReference{APIVersion: "apps/v1", Kind: kind, Name: name, UID: types.UID("uid-" + name), Controller: ptr.To(true)}
		}
		s.Deployments = append(s.Deployments, &appsv1.Deployment{
			ObjectMeta: meta(app, nil), Spec: appsv1.DeploymentSpec{Replicas: ptr.To(int32(podsPerBudget))}})
		s.ReplicaSets = append(s.ReplicaSets, &appsv1.ReplicaSet{
			ObjectMeta: meta(app+"-6d4b75cb6d", controlledBy("Deployment", app)), Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To(int32(podsPerBudget))}})
		for p := range podsPerBudget {
			s.Pods = append(s.Pods, &corev1.Pod{
				ObjectMeta: meta(fmt.Sprintf("%s-6d4b75cb6d-%05d", app, p), controlledBy("ReplicaSet", app+"-6d4b75cb6d")),
				Spec:       corev1.PodSpec{NodeName: "node", Containers: []corev1.Container{{Name: "c", Image: "i"}}},
				Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
					{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionTrue},
					{Type: corev1.PodInitialized, Status: corev1.ConditionTrue},
					{Type: corev1.PodReady, Status: corev1.ConditionTrue},
					{Type: corev1.ContainersReady, Status: corev1.ConditionTrue},
					{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
				}},
			})
		}
		s.Budgets = append(s.Budgets, &policyv1.PodDisruptionBudget{
			ObjectMeta: meta(app, nil),
			Spec: policyv1.PodDisruptionBudgetSpec{
				MaxUnavailable: ptr.To(intstr.FromString("10%")),
				Selector:       &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": app, "tier": "backend"}},
			},
			Status: policyv1.PodDisruptionBudgetStatus{
				ExpectedPods: podsPerBudget, DesiredHealthy: 18, CurrentHealthy: podsPerBudget, DisruptionsAllowed: 2,
				Conditions: []metav1.Condition{{Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionTrue, Reason: policyv1.SufficientPodsReason}},
			},
		})
	}
	return s
}

// floor is the least that anything could do: read each pod's labels and readiness once.
func floor(s Snapshot) (n int) {
	for _, p := range s.Pods {
		if p.Labels["app.kubernetes.io/name"] != "" && podstate.Ready(p) {
			n++
		}
	}
	return n
}

// BenchmarkPlanAll reports how many times one pass over the pods it costs: the fastest of its runs by
// the fastest of such passes, since whatever else the machine does disturbs the longer of the two more.
func BenchmarkPlanAll(b *testing.B) {
	for _, size := range []struct{ budgets, namespaces int }{
		{50, 1}, {500, 5}, {500, 1}, {5000, 50}, {5000, 1},
	} {
		s := benchCluster(size.budgets, size.namespaces)
		b.Run(fmt.Sprintf("budgets=%d/pods=%d/namespaces=%d", size.budgets, len(s.Pods), size.namespaces), func(b *testing.B) {
			if outcomes, err := PlanAll(s, Options{}); len(outcomes) != 0 || err != nil {
				b.Fatalf("the cluster is not at rest: %v, %v", outcomes, err)
			}
			pass, plan := time.Hour, time.Hour
			for range 10 {
				start := time.Now()
				if floor(s) != len(s.Pods) {
					b.Fatal("some pods are not ready")
				}
				pass = min(pass, time.Since(start))
			}
			b.ReportAllocs()
			for b.Loop() {
				start := time.Now()
				_, _ = PlanAll(s, Options{})
				plan = min(plan, time.Since(start))
			}
			b.ReportMetric(float64(pass.Nanoseconds()), "floor-ns")
			b.ReportMetric(float64(plan)/float64(pass), "x-floor")
		})
	}
}

// BenchmarkPlan is what one budget costs among many.
func BenchmarkPlan(b *testing.B) {
	s := benchCluster(500, 5)
	key := purekube.Key{Kind: budgetKind, Namespace: "team-0", Name: "app-0"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Plan(s, key, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkManyControllers plans and explains a budget of n pods with a controller each, and reports the exponent of the
// growth from one size to the next: 1 is linear.
func BenchmarkManyControllers(b *testing.B) {
	for name, ask := range map[string]func(Snapshot, purekube.Key){
		"Plan":    func(s Snapshot, k purekube.Key) { _, _ = Plan(s, k, Options{}) },
		"Explain": func(s Snapshot, k purekube.Key) { _, _ = Explain(s, k, Options{}) },
	} {
		b.Run(name, func(b *testing.B) {
			before, size := time.Duration(0), 0
			for _, n := range []int{500, 2_000, 8_000, 32_000} {
				s := Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1"))}}
				for i := range n {
					s.Pods = append(s.Pods, pod(fmt.Sprint("p", i), by("apps/v1", "StatefulSet", fmt.Sprint("s", i))))
					s.StatefulSets = append(s.StatefulSets, statefulSet(fmt.Sprint("s", i), nil))
				}
				b.Run(fmt.Sprintf("controllers=%d", n), func(b *testing.B) {
					best := time.Hour
					for b.Loop() {
						start := time.Now()
						ask(s, key("web"))
						best = min(best, time.Since(start))
					}
					if before > 0 {
						b.ReportMetric(math.Log(float64(best)/float64(before))/math.Log(float64(n)/float64(size)), "exponent")
					}
					before, size = best, n
				})
			}
		})
	}
}
