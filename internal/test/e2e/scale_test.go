package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

var long = flag.Bool("long", false, "run the tests that take many minutes, too: soak, scale")

const (
	scaleNamespaces   = 50
	budgetsEach       = 20
	podsEach          = 20 // of a budget
	requestsPerSecond = 500
)

// A cluster of 20,000 pods and 1,000 budgets, objects only: how long until all budgets say what they should,
// from the start of the controller and after 1,000 pods have changed, and what it takes. All have the same objects and,
// where the program has a flag for it, the same limit of requests.
func TestScale(t *testing.T) {
	if !*long {
		t.Skip("takes minutes: -long")
	}
	w := newWorld(t)
	started := time.Now()
	w.populate(t)
	t.Logf("%d pods after %.0f s", scaleNamespaces*budgetsEach*podsEach, time.Since(started).Seconds())
	limits := []string{fmt.Sprintf("-kube-api-qps=%d", requestsPerSecond), fmt.Sprintf("-kube-api-burst=%d", 2*requestsPerSecond)}
	for _, side := range []struct {
		name  string
		start func() *manager
	}{
		{"clientgo", func() *manager {
			return w.start(t, clientGo, "clientgo", w.Endpoint(), append(limits, clientGo.alone...)...)
		}},
		{"controllerruntime", func() *manager {
			return w.start(t, controllerRuntime, "controllerruntime", w.Endpoint(), controllerRuntime.alone...)
		}},
		{"kube-controller-manager", func() *manager { return w.startUpstream(t, w.Endpoint(), "-"+limits[0], "-"+limits[1]) }},
	} {
		w.createBudgets(t)
		started := time.Now()
		m := side.start()
		w.budgetsAre(t, podsEach, 1)
		first := time.Since(started)
		atStart := m.usage(t)

		w.everyBudget(t, func(ctx context.Context, ns, app string) error { return w.ready(ctx, ns, app+"-0", false) })
		started = time.Now()
		w.budgetsAre(t, podsEach-1, 0)
		second := time.Since(started)
		after := m.usage(t)
		t.Logf("%s: at rest %.1f s after its start (%s), and %.1f s after the last of %d changes (%s)",
			side.name, first.Seconds(), atStart, second.Seconds(), scaleNamespaces*budgetsEach, after)
		require.NoError(t, m.Stop())
		w.everyBudget(t, func(ctx context.Context, ns, app string) error {
			return errors.Join(w.ready(ctx, ns, app+"-0", true), w.PolicyV1().PodDisruptionBudgets(ns).Delete(ctx, app, metav1.DeleteOptions{}))
		})
	}
}

// everyBudget does something for each of the thousand, many at a time.
func (w *world) everyBudget(t *testing.T, do func(ctx context.Context, ns, app string) error) {
	t.Helper()
	type place struct{ ns, app string }
	places := make(chan place)
	var workers sync.WaitGroup
	for range 32 {
		workers.Go(func() {
			for p := range places {
				if err := do(t.Context(), p.ns, p.app); err != nil {
					t.Errorf("%s/%s: %v", p.ns, p.app, err)
				}
			}
		})
	}
	for n := range scaleNamespaces {
		for b := range budgetsEach {
			places <- place{fmt.Sprint("scale-", n), fmt.Sprint("app-", b)}
		}
	}
	close(places)
	workers.Wait()
	require.False(t, t.Failed())
}

func (w *world) populate(t *testing.T) {
	t.Helper()
	for n := range scaleNamespaces {
		w.namespace(t, fmt.Sprint("scale-", n))
	}
	w.everyBudget(t, func(ctx context.Context, ns, app string) error {
		owner := w.createReplicaSet(t, ns, app, podsEach)
		for i := range podsEach {
			name := fmt.Sprintf("%s-%d", app, i)
			w.createPod(t, ns, name, app, owner)
			if err := w.ready(ctx, ns, name, true); err != nil {
				return err
			}
		}
		return nil
	})
}

// ready writes a pod's readiness without reading it first.
func (w *world) ready(ctx context.Context, ns, name string, ready bool) error {
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	body := fmt.Sprintf(`{"status":{"phase":"Running","conditions":[{"type":"Ready","status":%q}]}}`, status)
	_, err := w.CoreV1().Pods(ns).Patch(ctx, name, "application/strategic-merge-patch+json", []byte(body), metav1.PatchOptions{}, "status")
	return err
}

func (w *world) createBudgets(t *testing.T) {
	t.Helper()
	w.everyBudget(t, func(_ context.Context, ns, app string) error {
		w.createBudget(t, ns, app, policyv1.PodDisruptionBudgetSpec{MaxUnavailable: ptr.To(intstr.FromInt32(1))})
		return nil
	})
}

// budgetsAre waits until every budget has that status.
func (w *world) budgetsAre(t *testing.T, healthy, allowed int32) {
	t.Helper()
	eventually(t, 10*time.Minute, "all budgets are right", func(ctx context.Context) error {
		list, err := w.PolicyV1().PodDisruptionBudgets("").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		wrong := 0
		for _, b := range list.Items {
			if b.Status.CurrentHealthy != healthy || b.Status.DisruptionsAllowed != allowed || b.Status.ExpectedPods != podsEach {
				wrong++
			}
		}
		return expect("number of budgets that are wrong", 0, wrong)
	})
}
