// Package metrics counts what the controllers of package clientgo do, in metrics of Prometheus.
//
//	hooks, err := metrics.Register(prometheus.DefaultRegisterer, clientgo.Hooks{})
//	clientgo.New(config, clientgo.SetOptions{Hooks: hooks, …})
//
// The metrics about the controllers have the label controller. Names and results follow controller-runtime's
// (controller_runtime_reconcile_total and the others):
//
//   - purekube_plan_total, by result: success, requeue_after (the plan says when to plan again) or error
//   - purekube_plan_errors_total: failures after which a key is planned again
//   - purekube_plan_time_seconds: a histogram of the time to make a plan, without lookups and requests
//   - purekube_actions_total, by action (the kind of the action: "SetTTL") and answer: see
//     [clientgo.ActionResult.Answer]
//   - purekube_lookups_total, by result: success or error
//
// About the cluster, with the labels of kube-state-metrics:
//
//   - purekube_poddisruptionbudget_never_allows_disruption, by namespace and poddisruptionbudget: 1 for each budget
//     that allows no eviction of a healthy pod even when every pod is healthy. It says the same as Never of
//     disruption.BudgetExplanation, while the controller "disruption" of this replica plans. Hooks.Filter hides no
//     budget.
//
// The queues of the controllers are workqueues of client-go with the names of the controllers. Their metrics
// (workqueue_depth and the others) are registered by controller-runtime, and by
// k8s.io/component-base/metrics/prometheus/workqueue.
package metrics

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/purekube/purekube/clientgo"
)

var errNoRegisterer = errors.New("no registerer of metrics")

// Register registers the metrics, unless they are registered, and returns hooks that count and then call the hooks h.
// It is an error if the registerer has other metrics of the same names.
func Register(r prometheus.Registerer, h clientgo.Hooks) (clientgo.Hooks, error) {
	if r == nil {
		return h, errNoRegisterer
	}
	var failed error
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return register(r, &failed,
			prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, append([]string{"controller"}, labels...)))
	}
	plans := counter("purekube_plan_total", "Total number of plans per controller and result", "result")
	planErrors := counter("purekube_plan_errors_total",
		"Total number of failures per controller after which a key is planned again")
	planTime := register(r, &failed, prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "purekube_plan_time_seconds",
		Help:    "Length of time per plan per controller, without lookups and requests",
		Buckets: prometheus.ExponentialBuckets(1e-5, 4, 12),
	}, []string{"controller"}))
	actions := counter("purekube_actions_total",
		"Total number of actions per controller, kind of action and answer of the API server", "action", "answer")
	lookups := counter("purekube_lookups_total", "Total number of lookups at the API server per controller and result",
		"result")
	never := register(r, &failed, newNeverAllowed())
	if failed != nil {
		return h, failed
	}
	return clientgo.Hooks{
		Filter:     h.Filter,
		BeforeSend: h.BeforeSend,
		OnStart: func(c clientgo.Runner) {
			if d, ok := c.(disruptionIndex); ok {
				never.add(d)
			}
			call(h.OnStart, c)
		},
		OnPlan: func(p clientgo.PlanResult) {
			plans.WithLabelValues(p.Controller, planResult(p)).Inc()
			planTime.WithLabelValues(p.Controller).Observe(p.Took.Seconds())
			call(h.OnPlan, p)
		},
		OnAction: func(a clientgo.ActionResult) {
			actions.WithLabelValues(a.Controller, a.Action.Type(), a.Answer()).Inc()
			call(h.OnAction, a)
		},
		OnLookup: func(l clientgo.LookupResult) {
			lookups.WithLabelValues(l.Controller, result(l.Err)).Inc()
			call(h.OnLookup, l)
		},
		OnRetry: func(r clientgo.Retry) {
			planErrors.WithLabelValues(r.Controller).Inc()
			call(h.OnRetry, r)
		},
	}, nil
}

// register returns the collector that counts. If one is registered already, it is that one.
func register[C prometheus.Collector](r prometheus.Registerer, failed *error, c C) C {
	err := r.Register(c)
	var registered prometheus.AlreadyRegisteredError
	if errors.As(err, &registered) {
		if before, same := registered.ExistingCollector.(C); same {
			return before
		}
	}
	*failed = errors.Join(*failed, err)
	return c
}

func planResult(p clientgo.PlanResult) string {
	if p.Err == nil && !p.RecheckAt.IsZero() {
		return "requeue_after"
	}
	return result(p.Err)
}

func result(err error) string {
	if err != nil {
		return "error"
	}
	return "success"
}

func call[R any](hook func(R), r R) {
	if hook != nil {
		hook(r)
	}
}
