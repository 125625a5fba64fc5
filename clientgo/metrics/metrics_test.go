package metrics_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/clientgo"
	"github.com/purekube/purekube/clientgo/metrics"
	"github.com/purekube/purekube/ttl"
)

// Two Sets of one process count in the same metrics, and the hooks of the user are called, too.
func TestRegister(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	called := map[string]int{}
	hooks, err := metrics.Register(registry, clientgo.Hooks{
		Filter:     func(string, purekube.Key) bool { called["Filter"]++; return true },
		BeforeSend: func(context.Context, clientgo.Sending) error { called["BeforeSend"]++; return nil },
		OnStart:    func(clientgo.Runner) { called["OnStart"]++ },
		OnPlan:     func(clientgo.PlanResult) { called["OnPlan"]++ },
		OnAction:   func(clientgo.ActionResult) { called["OnAction"]++ },
		OnLookup:   func(clientgo.LookupResult) { called["OnLookup"]++ },
		OnRetry:    func(clientgo.Retry) { called["OnRetry"]++ },
	})
	require.NoError(t, err)
	second, err := metrics.Register(registry, clientgo.Hooks{})
	require.NoError(t, err)

	require.True(t, hooks.Filter("ttl", purekube.Key{}))
	require.NoError(t, hooks.BeforeSend(t.Context(), clientgo.Sending{}))
	for _, h := range []clientgo.Hooks{hooks, second} {
		h.OnStart(nil)
		h.OnPlan(clientgo.PlanResult{Controller: "ttl", Took: time.Millisecond})
		h.OnPlan(clientgo.PlanResult{Controller: "ttl", RecheckAt: time.Unix(1, 0)})
		h.OnPlan(clientgo.PlanResult{Controller: "ttl", RecheckAt: time.Unix(1, 0), Err: errors.New("no")})
		h.OnAction(clientgo.ActionResult{Controller: "ttl", Action: ttl.SetTTL{}})
		h.OnAction(clientgo.ActionResult{Controller: "ttl", Action: ttl.SetTTL{}, Err: apierrors.NewConflict(schema.GroupResource{}, "n1", nil)})
		h.OnLookup(clientgo.LookupResult{Controller: "disruption"})
		h.OnLookup(clientgo.LookupResult{Controller: "disruption", Err: errors.New("no")})
		h.OnRetry(clientgo.Retry{Controller: "ttl"})
	}
	require.Equal(t, map[string]int{"Filter": 1, "BeforeSend": 1, "OnStart": 1, "OnPlan": 3, "OnAction": 2, "OnLookup": 2, "OnRetry": 1}, called)
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP purekube_actions_total Total number of actions per controller, kind of action and answer of the API server
# TYPE purekube_actions_total counter
purekube_actions_total{action="SetTTL",answer="Conflict",controller="ttl"} 2
purekube_actions_total{action="SetTTL",answer="OK",controller="ttl"} 2
# HELP purekube_lookups_total Total number of lookups at the API server per controller and result
# TYPE purekube_lookups_total counter
purekube_lookups_total{controller="disruption",result="error"} 2
purekube_lookups_total{controller="disruption",result="success"} 2
# HELP purekube_plan_errors_total Total number of failures per controller after which a key is planned again
# TYPE purekube_plan_errors_total counter
purekube_plan_errors_total{controller="ttl"} 2
# HELP purekube_plan_total Total number of plans per controller and result
# TYPE purekube_plan_total counter
purekube_plan_total{controller="ttl",result="error"} 2
purekube_plan_total{controller="ttl",result="requeue_after"} 2
purekube_plan_total{controller="ttl",result="success"} 2
`), "purekube_actions_total", "purekube_lookups_total", "purekube_plan_errors_total", "purekube_plan_total"))
	times, err := testutil.GatherAndCount(registry, "purekube_plan_time_seconds")
	require.NoError(t, err)
	require.Equal(t, 1, times)
	problems, err := testutil.GatherAndLint(registry)
	require.NoError(t, err)
	require.Empty(t, problems)
}

func TestOtherMetricsOfTheName(t *testing.T) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewCounter(prometheus.CounterOpts{Name: "purekube_plan_total"}))
	_, err := metrics.Register(registry, clientgo.Hooks{})
	require.ErrorContains(t, err, "purekube_plan_total")
	_, err = metrics.Register(nil, clientgo.Hooks{})
	require.Error(t, err)
}
