package e2e

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// A budget with maxUnavailable covers 3,500 pods, each of a Job of its own. Jobs have no scale. The status that allows
// nothing is written all the same, the other controllers go on meanwhile, and the lookups come to an end.
func TestBudgetOverThousandsOfJobs(t *testing.T) {
	t.Parallel()
	const jobs = 3500
	forEachModule(t, func(t *testing.T, of module) {
		w := newWorld(t)
		p := newProxy(t, w)
		ns := w.namespace(t, "batch")
		w.createJobPods(t, ns, jobs)
		w.createBudget(t, ns, "batch", policyv1.PodDisruptionBudgetSpec{MaxUnavailable: ptr.To(intstr.FromInt32(1))})

		p.count()
		started := time.Now()
		m := w.start(t, of, "manager", p.Endpoint, of.elected...)
		rule := ruleFor("others")
		w.createRole(t, "others", nil, labelled("others"))
		w.createRole(t, "others-source", map[string]string{"others": "true"}, nil, rule)
		eventually(t, patience, "the others go on", w.roleIs("others", rule))
		t.Logf("A ClusterRole has its rules %.1f s after the start", time.Since(started).Seconds())
		eventually(t, patience, "nothing is allowed", w.budgetFails(ns, "batch", ""))
		t.Logf("The status is written %.1f s after the start", time.Since(started).Seconds())

		total := 0
		eventually(t, 3*time.Minute, "the lookups come to an end", func(context.Context) error {
			time.Sleep(5 * time.Second)
			recent := 0
			for request, times := range p.count() {
				method, path, _ := strings.Cut(request, " ")
				if method == http.MethodGet && !strings.Contains(path, "/leases") {
					recent += times
				}
			}
			total += recent
			if recent > 0 {
				return errors.New("there are lookups still")
			}
			return nil
		})
		t.Logf("%d requests to read, the last %.0f s after the start", total, time.Since(started).Seconds())
		require.LessOrEqual(t, total, 100, "Jobs have no scale, so that none is looked up for each of them")
		require.NoError(t, w.budgetFails(ns, "batch", "")(t.Context()))
		w.atRest(t, m)
		m.stop(t)
	})
}
