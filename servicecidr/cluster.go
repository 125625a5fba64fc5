package servicecidr

import (
	"time"

	"github.com/purekube/purekube/internal/snapshot"
)

// cluster is what every question is answered from, those of the package's functions and those of an
// Index.
type cluster struct {
	now time.Time
	o   Options
	cidrs
	ips addresses
}

// clusterOf is the cluster of a snapshot whose addresses are in a list.
func clusterOf(s Snapshot, o Options) cluster {
	return cluster{s.Now, o, parseAll(s, o), addressList(s.IPAddresses)}
}

// reportNil adds the problems that every answer names: nil and nameless objects.
func (c cluster) reportNil(problems *snapshot.Problems) {
	c.cidrs.report(problems)
	if c.ips.anyNil() {
		problems.Add(nilAddress())
	}
}
