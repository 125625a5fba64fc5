package cidrmemory

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/servicecidr"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }

// caches have everything up to a time that the test sets, and count how often somebody wants to know whether it is later.
type caches struct {
	upTo   time.Time
	wanted int
}

func (c *caches) UpTo() time.Time { return c.upTo }
func (c *caches) Want()           { c.wanted++ }
func (c *caches) Forget()         { c.upTo = time.Time{} }

func cidr(name string, deleting bool) *networkingv1.ServiceCIDR {
	c := &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	if deleting {
		c.DeletionTimestamp = &metav1.Time{Time: noon.Add(-time.Hour)} // by a clock that is behind
	}
	return c
}

func TestAt(t *testing.T) {
	for _, tc := range []struct {
		name, reason string
		play         func(*Memory, *caches)
		now, want    time.Time
		asks         int
	}{
		{"no deletion", "nothing depends on the caches", func(*Memory, *caches) {}, at(60), at(60), 0},
		{"within the grace period", "nothing is removed yet", func(m *Memory, _ *caches) { m.See(noon, cidr("a", true)) }, at(9), at(9), 0},
		{"the caches are behind", "an address may be in use that they do not show", func(m *Memory, c *caches) {
			m.See(noon, cidr("a", true))
			c.upTo = at(9)
		}, at(60), at(10).Add(-1), 1},
		{"the end of the grace period", "the finalizer would go at that time", func(m *Memory, c *caches) {
			m.See(noon, cidr("a", true))
			c.upTo = at(9)
		}, at(10), at(10).Add(-1), 1},
		{"the caches are up to date", "no allocator adds an address after the grace period", func(m *Memory, c *caches) {
			m.See(noon, cidr("a", true))
			c.upTo = at(10)
		}, at(60), at(60), 0},
		{"the caches were up to date after the grace period", "what they do not show since then only went", func(m *Memory, c *caches) {
			m.See(noon, cidr("a", true))
			c.upTo = at(10)
			m.At(at(20), nil)
			c.upTo = at(5)
		}, at(3600), at(3600), 0},
		{"the second of two deletions", "each has its own grace period", func(m *Memory, c *caches) {
			m.See(noon, cidr("a", true))
			m.See(at(5), cidr("b", true))
			c.upTo = at(12)
		}, at(60), at(15).Add(-1), 1},
		{"seen twice", "the first sight counts", func(m *Memory, c *caches) {
			m.See(noon, cidr("a", true))
			m.See(at(8), cidr("a", true))
			c.upTo = at(10)
		}, at(60), at(60), 0},
		{"a restore", "the caches showed another history", func(m *Memory, c *caches) {
			m.See(noon, cidr("a", true))
			c.upTo = at(10)
			m.At(at(20), nil)
			m.Restored(nil)
		}, at(60), at(10).Add(-1), 1},
		{"a restore after the ServiceCIDR went", "its deletion is over", func(m *Memory, _ *caches) {
			m.See(noon, cidr("a", true))
			m.Gone(cidr("a", true))
			m.Restored(nil)
		}, at(60), at(60), 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := &caches{}
			m := &Memory{Grace: servicecidr.DeletionGracePeriod, Caches: c}
			tc.play(m, c)
			c.wanted = 0
			require.Equal(t, servicecidr.Snapshot{Now: tc.want}, m.At(tc.now, nil), tc.reason)
			require.Equal(t, tc.asks, c.wanted)
		})
	}
}

// The clock of the process decides, and a deletion that was undone is none.
func TestSee(t *testing.T) {
	m := &Memory{Caches: &caches{}}
	require.Nil(t, m.See(noon, cidr("a", false)).DeletionSeen)
	require.Equal(t, map[types.UID]time.Time{"a": noon}, m.See(noon, cidr("a", true)).DeletionSeen)
	require.Equal(t, map[types.UID]time.Time{"a": noon}, m.See(at(5), cidr("a", true)).DeletionSeen)
	require.Nil(t, m.See(at(6), cidr("a", false)).DeletionSeen)
	require.Equal(t, map[types.UID]time.Time{"a": at(7)}, m.See(at(7), cidr("a", true)).DeletionSeen, "the next deletion is another one")
}
