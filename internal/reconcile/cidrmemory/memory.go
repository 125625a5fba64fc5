// Package cidrmemory is what a controller of package servicecidr remembers beyond its Index, and when it forgets that.
// Package clientgo runs it, and the model checker of internal/test searches it.
package cidrmemory

import (
	"maps"
	"slices"
	"sync"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/servicecidr"
)

// Caches are the caches of a controller.
type Caches interface {
	// UpTo is the time up to which all of them are known to have everything; zero where none is known.
	UpTo() time.Time
	// Want lets somebody find out whether that time is later by now.
	Want()
	// Forget takes nothing for known any more.
	Forget()
}

// Memory is the deletions that a controller has seen. The grace period counts from then, so that no other clock decides.
// Its methods are for the fields of reconcile.Options and for the handlers of ServiceCIDRs.
type Memory struct {
	Grace  time.Duration
	Caches Caches

	mu sync.Mutex
	// Seen are the times of the deletions by UID.
	Seen map[types.UID]time.Time
	// Doubtful are those times, the oldest first, for which the caches may not have everything up to the end of the grace
	// period. After that end no allocator adds an address.
	Doubtful []time.Time
}

// See returns a ServiceCIDR as the Index takes it. After a restore of etcd, it may not be being deleted any more: its next
// deletion is another one.
func (m *Memory) See(now time.Time, c *networkingv1.ServiceCIDR) servicecidr.Snapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := servicecidr.Snapshot{ServiceCIDRs: []*networkingv1.ServiceCIDR{c}}
	if c.DeletionTimestamp == nil {
		delete(m.Seen, c.UID)
		return s
	}
	if m.Seen[c.UID].IsZero() {
		if m.Seen == nil {
			m.Seen = map[types.UID]time.Time{}
		}
		m.Seen[c.UID], m.Doubtful = now, append(m.Doubtful, now)
	}
	s.DeletionSeen = map[types.UID]time.Time{c.UID: m.Seen[c.UID]}
	return s
}

// Gone is told of a ServiceCIDR that is gone, after its last See.
func (m *Memory) Gone(c *networkingv1.ServiceCIDR) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.Seen, c.UID)
}

// Restored doubts all deletions: the caches showed another history.
func (m *Memory) Restored(x *servicecidr.Index) *servicecidr.Index {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Caches.Forget()
	m.Doubtful = slices.SortedFunc(maps.Values(m.Seen), time.Time.Compare)
	return x
}

// At returns the time to plan for. While a deletion is doubtful, that is before the end of its grace period. A plan has
// one time, so the oldest doubtful deletion holds back all later deletions.
func (m *Memory) At(now time.Time, _ *servicecidr.Index) servicecidr.Snapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.Doubtful) > 0 {
		end := m.Doubtful[0].Add(m.Grace)
		if now.Before(end) {
			break
		}
		if m.Caches.UpTo().Before(end) {
			m.Caches.Want()
			return servicecidr.Snapshot{Now: end.Add(-1)}
		}
		m.Doubtful = m.Doubtful[1:]
	}
	return servicecidr.Snapshot{Now: now}
}
