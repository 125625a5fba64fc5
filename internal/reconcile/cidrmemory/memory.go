// Package cidrmemory is what a controller of package servicecidr remembers beyond its Index, and when it forgets that.
// Package clientgo runs it, and the model checker of internal/test searches it.
package cidrmemory

import (
	"sync"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/servicecidr"
)

// Memory is the deletions that a controller has seen. The grace period counts from then, so that no other clock
// decides. Its methods are for the handlers of ServiceCIDRs, and for the field Confirm of clientgo.Options.
type Memory struct {
	mu sync.Mutex
	// Seen are the deletions of ServiceCIDRs that are there, by UID.
	Seen map[types.UID]Deletion
}

// Deletion is one deletion of a ServiceCIDR. After a restore of etcd, the same ServiceCIDR may be deleted again.
type Deletion struct {
	Timestamp, Seen time.Time
}

// See returns a ServiceCIDR as the Index takes it.
func (m *Memory) See(now time.Time, c *networkingv1.ServiceCIDR) servicecidr.Snapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := servicecidr.Snapshot{ServiceCIDRs: []*networkingv1.ServiceCIDR{c}}
	if c.DeletionTimestamp == nil {
		delete(m.Seen, c.UID)
		return s
	}
	if !m.knows(c) {
		if m.Seen == nil {
			m.Seen = map[types.UID]Deletion{}
		}
		m.Seen[c.UID] = Deletion{c.DeletionTimestamp.Time, now}
	}
	s.DeletionSeen = map[types.UID]time.Time{c.UID: m.Seen[c.UID].Seen}
	return s
}

// knows reports whether it has seen this deletion.
func (m *Memory) knows(c *networkingv1.ServiceCIDR) bool {
	d, seen := m.Seen[c.UID]
	return seen && d.Timestamp.Equal(c.DeletionTimestamp.Time)
}

// Gone is told of a ServiceCIDR that is gone, after its last See.
func (m *Memory) Gone(c *networkingv1.ServiceCIDR) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.Seen, c.UID)
}

// Confirm returns what to plan with again: what the API server has, asked for at now. Deletions have the order in which
// they were seen (D-1). A deletion that was not seen yet is not over, and nothing relies on its ServiceCIDR.
func (m *Memory) Confirm(now time.Time, s servicecidr.Snapshot) servicecidr.Snapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.Now, s.DeletionSeen = now, map[types.UID]time.Time{} // which says that deletions are recorded
	for _, c := range s.ServiceCIDRs {
		if c != nil && c.DeletionTimestamp != nil && m.knows(c) {
			s.DeletionSeen[c.UID] = m.Seen[c.UID].Seen
		}
	}
	return s
}
