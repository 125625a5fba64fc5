package metrics

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/purekubetest"
)

// standing is a controller whose Index the test sets; nil: it does not plan.
type standing struct{ index *disruption.Index }

func (s *standing) Index() (*disruption.Index, bool) { return s.index, s.index != nil }

func of(budgets ...*policyv1.PodDisruptionBudget) *disruption.Index {
	return disruption.NewIndex(disruption.Snapshot{Budgets: budgets}, disruption.Options{})
}

// Frequent scrapes take a tenth of one core at most: after a reading that took a second, the next one is nine seconds
// later.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newNeverAllowed()
		s := &standing{index: of(purekubetest.MaxUnavailable("shop/web", "0"))}
		c.add(s)
		require.Equal(t, 1, testutil.CollectAndCount(c))
		r := c.started[s]
		r.took = time.Second
		c.started[s] = r
		s.index = of()
		time.Sleep(9*time.Second - 1)
		require.Equal(t, 1, testutil.CollectAndCount(c))
		time.Sleep(time.Nanosecond)
		require.Zero(t, testutil.CollectAndCount(c))
	})
}

// A controller that has ended is forgotten with its Index, with a scrape or without one.
func TestEndedControllersAreForgotten(t *testing.T) {
	c, s := newNeverAllowed(), &standing{index: of()}
	c.add(s)
	s.index = nil
	require.Zero(t, testutil.CollectAndCount(c))
	require.Empty(t, c.started)
	s.index = of()
	c.add(s)
	s.index = nil
	c.add(&standing{index: of()})
	require.Len(t, c.started, 1)
}

// A name that is no label value leaves the others, and the scrape.
func TestNamesThatAreNoLabels(t *testing.T) {
	c := newNeverAllowed()
	c.add(&standing{index: of(
		purekubetest.MaxUnavailable("shop/\xff", "0"), purekubetest.MaxUnavailable("shop/web", "0"))})
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	require.NoError(t, err)
	require.Len(t, families, 1)
	require.Len(t, families[0].GetMetric(), 1)
}
