package metrics

import (
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/disruption"
)

// disruptionIndex is a [clientgo.DisruptionController], or another controller with its Index.
type disruptionIndex interface {
	Index() (*disruption.Index, bool)
}

// pause is the shortest pause after a reading of the budgets, as a multiple of the time that the reading took. However
// often somebody scrapes, the readings take at most a tenth of one core.
const pause = 9

// neverAllowed is a gauge of the budgets that never allow a disruption. Each scrape asks the controllers that plan, so
// that no series has to be removed: neither when a budget goes, nor when the replica does not lead any more. Plans
// alone would not do, since a budget whose status is right is not planned at the start.
type neverAllowed struct {
	desc *prometheus.Desc

	mu      sync.Mutex
	started map[disruptionIndex]reading
}

// reading is what a controller's Index said last, how long that took, and when it ended.
type reading struct {
	names []types.NamespacedName
	took  time.Duration
	at    time.Time
}

func newNeverAllowed() *neverAllowed {
	return &neverAllowed{
		desc: prometheus.NewDesc("purekube_poddisruptionbudget_never_allows_disruption",
			"Whether a PodDisruptionBudget allows no eviction of a healthy pod even when every pod is healthy",
			[]string{"namespace", "poddisruptionbudget"}, nil),
		started: map[disruptionIndex]reading{},
	}
}

// add adds a controller that begins to plan. It forgets controllers that have ended, with their whole Index, also where
// nobody scrapes.
func (c *neverAllowed) add(d disruptionIndex) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.started, func(d disruptionIndex, _ reading) bool {
		_, planning := d.Index()
		return !planning
	})
	c.started[d] = reading{}
}

// Describe is part of prometheus.Collector.
func (c *neverAllowed) Describe(descs chan<- *prometheus.Desc) { descs <- c.desc }

// Collect is part of prometheus.Collector. One scrape at a time reads budgets.
func (c *neverAllowed) Collect(collected chan<- prometheus.Metric) {
	for name := range c.read() {
		// What is wrong with one name must not fail the scrape. The API server admits no such name.
		if m, err := prometheus.NewConstMetric(c.desc, prometheus.GaugeValue, 1, name.Namespace, name.Name); err == nil {
			collected <- m
		}
	}
}

// read returns the budgets of all controllers, each once: a series that is there twice fails the whole scrape.
func (c *neverAllowed) read() map[types.NamespacedName]struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[types.NamespacedName]struct{}{}
	for d, r := range c.started {
		index, planning := d.Index()
		if !planning {
			delete(c.started, d) // a controller runs once
			continue
		}
		if time.Since(r.at) >= pause*r.took {
			before := time.Now()
			r.names, _ = index.NeverAllowed() // an unknown option is the error of each plan, too
			r.at = time.Now()
			r.took = r.at.Sub(before)
			c.started[d] = r
		}
		for _, name := range r.names {
			all[name] = struct{}{}
		}
	}
	return all
}
