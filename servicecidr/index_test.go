package servicecidr_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/servicecidr"
)

func namesIn(s servicecidr.Snapshot, names ...string) []string {
	for _, x := range s.ServiceCIDRs {
		if x != nil {
			names = append(names, x.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// With so many addresses that they fill many chunks, in order and in disorder, of both families, with
// names that are no canonical form.
func TestIndexManyAddresses(t *testing.T) {
	r := newRand(5)
	s := snapshotOf(cidrs(cidr("x", of("10.0.0.0/16", "fd00::/112"), deletedAt(longAgo))))
	names := map[string]bool{}
	random := func() string {
		if r.IntN(2) == 0 {
			return netip.AddrFrom4([4]byte{10, 0, byte(r.IntN(16)), byte(1 + r.IntN(255))}).String()
		}
		return fmt.Sprintf([]string{"fd00::%x", "fd00:0::%X"}[r.IntN(2)], 1+r.IntN(4095))
	}
	for range 3000 {
		names[random()] = true
	}
	for name := range names {
		s.IPAddresses = append(s.IPAddresses, ip(name))
	}
	x := servicecidr.NewIndex(s, careful)
	check := func(x *servicecidr.Index, s servicecidr.Snapshot) {
		t.Helper()
		want, err := servicecidr.NewIndex(s, careful).CheckDeletion(servicecidr.Key("x"), 0)
		require.NoError(t, err)
		got, err := x.CheckDeletion(servicecidr.Key("x"), 0)
		require.NoError(t, err)
		require.Empty(t, diff(want, got))
	}
	check(x, s)
	first, firstSnapshot := x, s
	for round := range 30 {
		var changed servicecidr.Snapshot
		for range 200 {
			changed.IPAddresses = append(changed.IPAddresses, ip(random()))
		}
		if round%3 == 2 {
			x, _ = x.Without(changed)
			s = theContract.Without(s, changed)
		} else {
			// Each name once.
			slices.SortFunc(changed.IPAddresses, func(a, b *networkingv1.IPAddress) int { return cmpString(a.Name, b.Name) })
			changed.IPAddresses = slices.CompactFunc(changed.IPAddresses, func(a, b *networkingv1.IPAddress) bool { return a.Name == b.Name })
			x, _ = x.With(changed)
			s = theContract.With(s, changed)
		}
		check(x, s)
	}
	check(first, firstSnapshot)
	// One by one until nothing is left.
	for len(s.IPAddresses) > 0 {
		last := len(s.IPAddresses) - 1
		gone := servicecidr.Snapshot{IPAddresses: s.IPAddresses[last:]}
		var affected []purekube.Key
		x, affected = x.Without(gone)
		require.Equal(t, keys("x"), affected)
		s.IPAddresses = s.IPAddresses[:last]
		r, err := x.Plan(servicecidr.Key("x"))
		require.NoError(t, err)
		_, removed := r.Actions[0].(servicecidr.RemoveFinalizer)
		require.Equal(t, last == 0, removed, "%d addresses are left", last)
	}
}

func cmpString(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func TestIndexBadInput(t *testing.T) {
	s := snapshotOf(cidrs(cidr("x", of("10.0.0.0/24"), deletedAt(longAgo)), cidr("y", of("10.1.0.0/24"))))
	x := servicecidr.NewIndex(s, careful)
	require.NoError(t, x.Err())

	same, affected := x.Without(servicecidr.Snapshot{
		ServiceCIDRs: cidrs(nil, cidr("not there", of("10.0.0.0/8")), cidr("", nil)), IPAddresses: []*networkingv1.IPAddress{nil, ip("10.0.0.9"), ip("nonsense")},
	})
	require.Empty(t, affected, "what is not there changes nothing")
	theContract.CheckSame(t, "Without of what is not there", x, same, s)

	for _, tc := range []struct {
		name, reason string
		changed      servicecidr.Snapshot
		affected     []purekube.Key
		problems     []string
	}{
		{"a nil ServiceCIDR", "it is no key's", servicecidr.Snapshot{ServiceCIDRs: cidrs(nil, cidr("z", of("10.2.0.0/24")))}, keys("z"),
			[]string{"ServiceCIDR: nil object in the snapshot"}},
		{"a nameless ServiceCIDR", "it is no key's", servicecidr.Snapshot{ServiceCIDRs: cidrs(cidr("", of("10.2.0.0/24")))}, nil,
			[]string{"ServiceCIDR: metadata.name: required"}},
		{"a nil IPAddress", "it may be an address of x", servicecidr.Snapshot{IPAddresses: []*networkingv1.IPAddress{nil, ip("fd00::7")}}, keys("x"),
			[]string{"IPAddress: nil object in the snapshot"}},
		{"a nameless IPAddress", "it may be an address of x", servicecidr.Snapshot{IPAddresses: ips("")}, keys("x"),
			[]string{`IPAddress: metadata.name: ParseAddr(""): unable to parse IP`}},
		{"a name that is no address", "it may be an address of what is being deleted", servicecidr.Snapshot{IPAddresses: ips("10.0.0.007")}, keys("x"),
			[]string{`IPAddress 10.0.0.007: metadata.name: ParseAddr("10.0.0.007"): IPv4 field has octet with leading zero`}},
		{"two of a name", "which one is real?", servicecidr.Snapshot{ServiceCIDRs: cidrs(cidr("y", of("10.1.0.0/24")), cidr("y", of("10.0.0.0/8")))}, keys("x", "y"),
			[]string{"ServiceCIDR y: several objects in the snapshot have this name"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			next, affected := x.With(tc.changed)
			require.Equal(t, tc.affected, affected, tc.reason)
			require.Equal(t, tc.problems, problemsOf(t, next.Err()), tc.reason)
			after := theContract.With(s, tc.changed)
			theContract.CheckSame(t, tc.name, servicecidr.NewIndex(after, careful), next, after)
			unnamed := servicecidr.Snapshot{ServiceCIDRs: cidrs(nil, cidr("", nil)), IPAddresses: []*networkingv1.IPAddress{nil, ip("")}}
			same, affected := next.Without(unnamed)
			require.Empty(t, affected, "what has no name stays")
			require.Equal(t, tc.problems, problemsOf(t, same.Err()), "what has no name stays")
		})
	}

	other := purekube.Key{Kind: "IPAddress", Name: "x"}
	r, err := x.Plan(other)
	require.NoError(t, err)
	require.Empty(t, r, "a key of another kind")
	_, err = x.CheckDeletion(other, 0)
	require.ErrorIs(t, err, purekube.ErrNotFound)

	// Both IPAddresses of one name count, wherever they are in the slice.
	next, _ := x.With(servicecidr.Snapshot{IPAddresses: []*networkingv1.IPAddress{ip("10.0.0.7"), ip("10.9.0.1"), labelled("10.0.0.7", nil)}})
	d, err := next.CheckDeletion(servicecidr.Key("x"), 0)
	require.NoError(t, err)
	require.Equal(t, orphans("10.0.0.7"), d.Orphans)

	twice, _ := x.With(servicecidr.Snapshot{ServiceCIDRs: cidrs(cidr("y", of("10.1.0.0/24")), cidr("y", of("10.0.0.0/8")))})
	once, affected := twice.With(servicecidr.Snapshot{ServiceCIDRs: cidrs(cidr("y", of("10.1.0.0/24")))})
	require.NoError(t, once.Err(), "one object takes the place of both")
	require.Equal(t, keys("x", "y"), affected, "x overlaps one of those that were there")
}

// Time is no event of an object. It affects the ServiceCIDRs whose grace period ends in it, or has another end then.
func TestTimeAffectsWhoseGracePeriodEnds(t *testing.T) {
	net := of("10.0.0.0/24")
	s := snapshotOf(cidrs(
		cidr("old", net, deletedAt(longAgo)), cidr("stays", net),
		cidr("later", net, deletedAt(now.Add(time.Second))), cidr("young", net, deletedAt(now)),
	))
	for _, tc := range []struct {
		name, reason string
		seen         sightings
		at           time.Time
		want         []purekube.Key
	}{
		{"none", "the time stays", nil, time.Time{}, nil},
		{"the same", "nothing ends", nil, now, nil},
		{"within the grace period", "nothing ends", nil, now.Add(10*time.Second - 1), nil},
		{"the end of one", "it loses its finalizer", nil, now.Add(10 * time.Second), keys("young")},
		{"the end of two", "both lose their finalizers", nil, now.Add(time.Minute), keys("later", "young")},
		{"backwards", "old has to wait again", nil, longAgo, keys("old")},
		{"the same, without a record", "the end stays where it is", sightings{uid("old"): longAgo}, now, nil},
		{"without a record", "the end moves with the time", sightings{uid("old"): longAgo}, now.Add(2 * time.Second), keys("later", "young")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s.DeletionSeen = tc.seen
			next, affected := servicecidr.NewIndex(s, careful).With(servicecidr.Snapshot{Now: tc.at})
			require.Equal(t, tc.want, affected, tc.reason)
			after := theContract.With(s, servicecidr.Snapshot{Now: tc.at})
			theContract.CheckSame(t, tc.name, servicecidr.NewIndex(after, careful), next, after)
		})
	}
}
