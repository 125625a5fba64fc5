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

// cidr is a ServiceCIDR that is deleted so many times, by a clock that is behind.
func cidr(name string, deletions int) *networkingv1.ServiceCIDR {
	c := &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	if deletions > 0 {
		c.DeletionTimestamp = &metav1.Time{Time: noon.Add(time.Duration(deletions-100) * time.Hour)}
	}
	return c
}

// The clock of the process decides, and a deletion that was undone is none.
func TestSee(t *testing.T) {
	m := &Memory{}
	seen := func(seconds, deletions int) map[types.UID]time.Time {
		return m.See(at(seconds), cidr("a", deletions)).DeletionSeen
	}
	require.Nil(t, seen(0, 0))
	require.Equal(t, map[types.UID]time.Time{"a": noon}, seen(0, 1))
	require.Equal(t, map[types.UID]time.Time{"a": noon}, seen(5, 1), "the first sight counts")
	require.Nil(t, seen(6, 0))
	require.Equal(t, map[types.UID]time.Time{"a": at(7)}, seen(7, 1), "the next deletion is another one")
	require.Equal(t, map[types.UID]time.Time{"a": at(8)}, seen(8, 2), "and one whose undoing was not seen")
	m.Gone(cidr("a", 2))
	require.Empty(t, m.Seen)
}

// A list is planned for the time when it was asked for, with the deletions that the handlers have seen.
func TestConfirm(t *testing.T) {
	m := &Memory{}
	m.See(noon, cidr("seen", 1))
	m.See(noon, cidr("again", 1))
	list := servicecidr.Snapshot{
		ServiceCIDRs: []*networkingv1.ServiceCIDR{nil, cidr("seen", 1), cidr("unseen", 1), cidr("again", 2), cidr("stays", 0)},
		IPAddresses:  []*networkingv1.IPAddress{{}},
	}
	want := list
	want.Now, want.DeletionSeen = at(10), map[types.UID]time.Time{"seen": noon}
	require.Equal(t, want, m.Confirm(at(10), list))
	require.NotNil(t, (&Memory{}).Confirm(noon, servicecidr.Snapshot{}).DeletionSeen, "nil means that deletions are not recorded")
}
