package controllerruntime

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/purekube/purekube/clientgo"
)

// The metrics have the names and labels of the metrics in examples/manager.
var (
	plans = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "purekube_plans_total",
		Help: "Plans made, by controller and result: empty, actions, or error.",
	}, []string{"controller", "result"})
	planSeconds = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "purekube_plan_duration_seconds",
		Help:    "Time to make a plan, without its lookups and its actions.",
		Buckets: prometheus.ExponentialBuckets(1e-5, 4, 12),
	}, []string{"controller"})
	actions = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "purekube_actions_total",
		Help: "Requests sent, by controller, kind of action, and the API server's answer: OK, the reason or the HTTP code of the refusal, NoAnswer, or Vetoed.",
	}, []string{"controller", "action", "answer"})
	lookups = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "purekube_lookups_total",
		Help: "Lookups at the API server, by controller and result: answered or error.",
	}, []string{"controller", "result"})
	retries = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "purekube_retries_total",
		Help: "Failures after which a key is planned again, by controller.",
	}, []string{"controller"})
)

func init() { metrics.Registry.MustRegister(plans, planSeconds, actions, lookups, retries) }

// measured counts what controllers do, and tells the hooks of the user.
func measured(h clientgo.Hooks) clientgo.Hooks {
	user := h
	h.OnPlan = func(r clientgo.PlanResult) {
		result := "empty"
		switch {
		case r.Err != nil:
			result = "error"
		case r.Actions > 0:
			result = "actions"
		}
		plans.WithLabelValues(r.Controller, result).Inc()
		planSeconds.WithLabelValues(r.Controller).Observe(r.Took.Seconds())
		call(user.OnPlan, r)
	}
	h.OnAction = func(r clientgo.ActionResult) {
		actions.WithLabelValues(r.Controller, r.Action.Type(), r.Answer()).Inc()
		call(user.OnAction, r)
	}
	h.OnLookup = func(r clientgo.LookupResult) {
		result := "answered"
		if r.Err != nil {
			result = "error"
		}
		lookups.WithLabelValues(r.Controller, result).Inc()
		call(user.OnLookup, r)
	}
	h.OnRetry = func(r clientgo.Retry) {
		retries.WithLabelValues(r.Controller).Inc()
		call(user.OnRetry, r)
	}
	return h
}

func call[R any](hook func(R), r R) {
	if hook != nil {
		hook(r)
	}
}
