package controller

import (
	"fmt"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/clientgo/leaderelection" // registers the metrics of client-go
	_ "k8s.io/component-base/metrics/prometheus/restclient"
	_ "k8s.io/component-base/metrics/prometheus/workqueue"
)

var (
	plans = metrics.NewCounterVec(&metrics.CounterOpts{
		Name: "purekube_plans_total",
		Help: "Plans made, by controller and result: empty, actions, or error.",
	}, []string{"controller", "result"})
	planSeconds = metrics.NewHistogramVec(&metrics.HistogramOpts{
		Name:    "purekube_plan_duration_seconds",
		Help:    "Time to make a plan, its lookups at the API server included and its actions excluded.",
		Buckets: metrics.ExponentialBuckets(1e-5, 4, 12),
	}, []string{"controller"})
	actions = metrics.NewCounterVec(&metrics.CounterOpts{
		Name: "purekube_actions_total",
		Help: "Actions carried out, by controller, kind of action, and the API server's answer: OK, or the reason of the refusal.",
	}, []string{"controller", "action", "answer"})
)

func init() { legacyregistry.MustRegister(plans, planSeconds, actions) }

func observePlan(controller string, took time.Duration, actions int, err error) {
	result := "empty"
	switch {
	case err != nil:
		result = "error"
	case actions > 0:
		result = "actions"
	}
	plans.WithLabelValues(controller, result).Inc()
	planSeconds.WithLabelValues(controller).Observe(took.Seconds())
}

func observeAction(controller string, action fmt.Stringer, err error) {
	answer := "OK"
	if err != nil {
		answer = string(apierrors.ReasonForError(err))
	}
	if answer == "" {
		answer = "NoAnswer"
	}
	actions.WithLabelValues(controller, reflect.TypeOf(action).Name(), answer).Inc()
}
