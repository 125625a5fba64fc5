package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/internal/test/e2e/cluster"
)

// The command reads 5,000 nodes and 100,000 pods from a real API server, objects only.
func TestCommandOnALargeCluster(t *testing.T) {
	if !*long {
		t.Skip("takes minutes: -long")
	}
	const nodes, apps, podsOfApp = 5_000, 5_000, 20
	w := newWorld(t)
	ns := w.namespace(t, "large")
	config := w.Config(cluster.Admin)
	config.QPS, config.Burst, config.ContentType = 10_000, 10_000, "application/vnd.kubernetes.protobuf"
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	began := time.Now()
	inParallel(t, nodes, func(ctx context.Context, i int) error {
		node, err := client.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("node-", i)}}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		node.Spec.Taints = nil
		if node, err = client.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{}); err != nil {
			return err
		}
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		node.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("16"), corev1.ResourcePods: resource.MustParse("110")}
		_, err = client.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
		return err
	})
	inParallel(t, apps, func(ctx context.Context, i int) error {
		app := fmt.Sprint("app-", i)
		selector, template := podTemplate(app)
		template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}
		set, err := client.AppsV1().ReplicaSets(ns).Create(ctx, &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: app},
			Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To[int32](podsOfApp), Selector: selector, Template: template}}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		if _, err := client.PolicyV1().PodDisruptionBudgets(ns).Create(ctx, &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: app},
			Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: ptr.To(intstr.FromInt32(1)), Selector: selector}}, metav1.CreateOptions{}); err != nil {
			return err
		}
		for k := range podsOfApp {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(app, "-", k), Labels: template.Labels,
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app, UID: set.UID, Controller: ptr.To(true)}}}, Spec: template.Spec}
			pod.Spec.NodeName = fmt.Sprint("node-", (i*podsOfApp+k)%nodes)
			if pod, err = client.CoreV1().Pods(ns).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
				return err
			}
			pod.Status.Phase = corev1.PodRunning
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			if _, err := client.CoreV1().Pods(ns).UpdateStatus(ctx, pod, metav1.UpdateOptions{}); err != nil {
				return err
			}
		}
		return nil
	})
	t.Logf("the cluster is there after %.0f s", time.Since(began).Seconds())

	kubeconfig, err := w.Kubeconfig(cluster.Admin, w.Endpoint())
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), w.buildCommand(t), "drain", "all")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	began = time.Now()
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	t.Logf("drain all: %.1f s, %.1f s of CPU, %d MB at most", time.Since(began).Seconds(),
		(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), usage.Maxrss>>10)
	require.Contains(t, string(out), "Drains: 5000 now")
	require.Less(t, usage.Maxrss>>10, int64(1_000))
}

// inParallel does something n times, many at a time.
func inParallel(t *testing.T, n int, do func(ctx context.Context, i int) error) {
	t.Helper()
	var next atomic.Int64
	var workers sync.WaitGroup
	for range 32 {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				if err := do(t.Context(), int(i)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	workers.Wait()
	require.False(t, t.Failed())
}
