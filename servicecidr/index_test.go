package servicecidr_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/aliasing"
	"github.com/purekube/purekube/internal/test/seed"
	"github.com/purekube/purekube/servicecidr"
)

// put is what With makes of a snapshot.
func put(s, changed servicecidr.Snapshot) servicecidr.Snapshot {
	s = remove(s, changed)
	s.ServiceCIDRs = append(s.ServiceCIDRs, changed.ServiceCIDRs...)
	s.IPAddresses = append(s.IPAddresses, changed.IPAddresses...)
	if !changed.Now.IsZero() {
		s.Now = changed.Now
	}
	if changed.DeletionSeen != nil {
		s.DeletionSeen = maps.Clone(s.DeletionSeen)
		if s.DeletionSeen == nil {
			s.DeletionSeen = sightings{}
		}
		maps.Copy(s.DeletionSeen, changed.DeletionSeen)
	}
	return s
}

// remove is what Without makes of a snapshot.
func remove(s, gone servicecidr.Snapshot) servicecidr.Snapshot {
	s.ServiceCIDRs = slices.DeleteFunc(slices.Clone(s.ServiceCIDRs), func(x *networkingv1.ServiceCIDR) bool {
		return x != nil && x.Name != "" && slices.ContainsFunc(gone.ServiceCIDRs, func(y *networkingv1.ServiceCIDR) bool { return y != nil && x.Name == y.Name })
	})
	s.IPAddresses = slices.DeleteFunc(slices.Clone(s.IPAddresses), func(x *networkingv1.IPAddress) bool {
		return x != nil && x.Name != "" && slices.ContainsFunc(gone.IPAddresses, func(y *networkingv1.IPAddress) bool { return y != nil && x.Name == y.Name })
	})
	s.DeletionSeen = maps.Clone(s.DeletionSeen)
	for uid := range gone.DeletionSeen {
		delete(s.DeletionSeen, uid)
	}
	return s
}

// someChange is a few objects that are new or take the place of others.
func someChange(r *rand.Rand, s servicecidr.Snapshot, n nasty) servicecidr.Snapshot {
	var changed servicecidr.Snapshot
	other := randomSnapshot(r, n)
	if r.IntN(8) == 0 {
		changed.DeletionSeen = randomSightings(r)
		maps.DeleteFunc(changed.DeletionSeen, func(types.UID, time.Time) bool { return r.IntN(4) > 0 })
	}
	for range 1 + r.IntN(2) {
		switch r.IntN(6) {
		case 0, 1:
			changed.ServiceCIDRs = append(changed.ServiceCIDRs, other.ServiceCIDRs[r.IntN(len(other.ServiceCIDRs))])
		case 2:
			// One that is there, a little different.
			if i := r.IntN(len(s.ServiceCIDRs) + 1); i < len(s.ServiceCIDRs) && s.ServiceCIDRs[i] != nil {
				x := s.ServiceCIDRs[i].DeepCopy()
				switch r.IntN(4) {
				case 0:
					x.Finalizers = []string{servicecidr.Finalizer}
				case 1:
					x.Finalizers = nil
				case 2:
					x.Status.Conditions = []metav1.Condition{ready(longAgo)}
				default:
					x.DeletionTimestamp = &metav1.Time{Time: second}
				}
				changed.ServiceCIDRs = append(changed.ServiceCIDRs, x)
			}
		case 3:
			if i := r.IntN(len(s.IPAddresses) + 1); i < len(s.IPAddresses) && s.IPAddresses[i] != nil {
				x := s.IPAddresses[i].DeepCopy()
				if r.IntN(2) == 0 {
					x.Labels = ip(x.Name).Labels
				}
				changed.IPAddresses = append(changed.IPAddresses, x)
			}
		default:
			if len(other.IPAddresses) > 0 {
				changed.IPAddresses = append(changed.IPAddresses, other.IPAddresses[r.IntN(len(other.IPAddresses))])
			}
		}
	}
	return changed
}

// sameAnswers holds every answer of the index to that of the function.
func sameAnswers(t *testing.T, x *servicecidr.Index, s servicecidr.Snapshot, o servicecidr.Options, what string) {
	t.Helper()
	wantAll, wantErr := servicecidr.PlanAll(s, o)
	gotAll, err := x.PlanAll()
	require.Empty(t, cmp.Diff(wantAll, gotAll, compareErrors), what)
	require.Equal(t, problemsOf(t, wantErr), problemsOf(t, err), what)
	wantReasons, wantErr := servicecidr.NewIndex(s, o).ExplainAll()
	gotReasons, err := x.ExplainAll()
	require.Empty(t, diff(wantReasons, gotReasons), what)
	require.Equal(t, problemsOf(t, wantErr), problemsOf(t, err), what)
	require.Subset(t, problemsOf(t, x.Err()), problemsOf(t, err), what)

	for _, name := range namesIn(s, "", "not there") {
		want, wantErr := servicecidr.Plan(s, servicecidr.Key(name), o)
		got, err := x.Plan(servicecidr.Key(name))
		require.Empty(t, diff(want, got), "%s: Plan(%s)", what, name)
		require.Equal(t, problemsOf(t, wantErr), problemsOf(t, err), "%s: Plan(%s)", what, name)
		wantDeletion, wantErr := servicecidr.NewIndex(s, o).CheckDeletion(servicecidr.Key(name), 0)
		gotDeletion, err := x.CheckDeletion(servicecidr.Key(name), 0)
		require.Empty(t, diff(wantDeletion, gotDeletion), "%s: CheckDeletion(%s)", what, name)
		require.Equal(t, problemsOf(t, wantErr), problemsOf(t, err), "%s: CheckDeletion(%s)", what, name)
		wantExplanation, wantErr := servicecidr.NewIndex(s, o).Explain(servicecidr.Key(name))
		gotExplanation, err := x.Explain(servicecidr.Key(name))
		require.Empty(t, diff(wantExplanation, gotExplanation), "%s: Explain(%s)", what, name)
		require.Equal(t, problemsOf(t, wantErr), problemsOf(t, err), "%s: Explain(%s)", what, name)
	}
}

func namesIn(s servicecidr.Snapshot, names ...string) []string {
	for _, x := range s.ServiceCIDRs {
		if x != nil {
			names = append(names, x.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// After any sequence of With and Without, an index answers what the functions answer for the snapshot
// that the sequence comes to; and so do the indexes on the way, still, at the end. The keys that
// With and Without return hold every one whose plan is another one now.
func TestIndexAnswersAsTheFunctions(t *testing.T) {
	steps, named, all := 0, 0, 0
	forSeeds(t, 160, func(t *testing.T, seed uint64, r *rand.Rand) {
		n := nasty{specs: seed%2 == 0, objects: seed%4 == 0}
		o := modes()[seed/4%2]
		type version struct {
			x *servicecidr.Index
			s servicecidr.Snapshot
		}
		s := randomSnapshot(r, n)
		versions := []version{{servicecidr.NewIndex(s, o), s}}
		before := deepCopy(s)
		for range 8 {
			from := versions[r.IntN(len(versions))]
			changed := someChange(r, from.s, n)
			var next version
			var affected []purekube.Key
			if r.IntN(3) == 0 {
				next.x, affected = from.x.Without(changed)
				next.s = remove(from.s, changed)
			} else {
				if r.IntN(4) == 0 {
					changed.Now = from.s.Now.Add(time.Duration(r.IntN(20)) * time.Second)
				}
				next.x, affected = from.x.With(changed)
				next.s = put(from.s, changed)
			}
			what := fmt.Sprintf("seed %d", seed)
			sameAnswers(t, next.x, next.s, o, what)
			require.True(t, slices.IsSortedFunc(affected, purekube.Key.Compare), what)
			require.Empty(t, aliasing.Shared(next.s, affected), what)

			names := slices.DeleteFunc(namesIn(servicecidr.Snapshot{ServiceCIDRs: slices.Concat(from.s.ServiceCIDRs, next.s.ServiceCIDRs)}),
				func(name string) bool { return name == "" })
			if o.MatchUpstream == "" {
				require.Empty(t, unnamedOutcome(from.x, next.x, affected), what)
			}
			steps, named, all = steps+1, named+len(affected), all+len(names)
			versions = append(versions, next)
		}
		for i, v := range versions {
			sameAnswers(t, v.x, v.s, o, fmt.Sprintf("seed %d, version %d again", seed, i))
		}
		require.Equal(t, before, versions[0].s, "seed %d: inputs are read only", seed)
	})
	if !seed.Single() {
		require.Less(t, named, all/2, "in %d steps not every name is affected", steps)
	}
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
			s = remove(s, changed)
		} else {
			// Each name once.
			slices.SortFunc(changed.IPAddresses, func(a, b *networkingv1.IPAddress) int { return cmpString(a.Name, b.Name) })
			changed.IPAddresses = slices.CompactFunc(changed.IPAddresses, func(a, b *networkingv1.IPAddress) bool { return a.Name == b.Name })
			x, _ = x.With(changed)
			s = put(s, changed)
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
	sameAnswers(t, same, s, careful, "Without of what is not there")

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
			sameAnswers(t, next, put(s, tc.changed), careful, tc.name)
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

// With and Without from many goroutines on one index, and questions to it meanwhile, are no race
// (go test -race), and each goroutine gets its own answers.
func TestIndexInManyGoroutines(t *testing.T) {
	s := largeCluster(40, 2_000, 2)
	x := servicecidr.NewIndex(s, careful)
	want, err := x.PlanAll()
	require.NoError(t, err)
	var wait sync.WaitGroup
	for g := range 8 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			own := x
			for i := range 40 {
				name := fmt.Sprintf("172.16.%d.%d", g, i+1)
				own, _ = own.With(snapshotOf(cidrs(cidr(fmt.Sprintf("own-%d-%d", g, i), of("172.16.0.0/16"), deletedAt(longAgo)))))
				own, _ = own.With(servicecidr.Snapshot{IPAddresses: ips(name)})
				own, _ = own.Without(servicecidr.Snapshot{IPAddresses: s.IPAddresses[i : i+1]})
				if d, err := own.CheckDeletion(servicecidr.Key(fmt.Sprintf("own-%d-%d", g, i)), 0); err != nil || d.Safe != (len(d.Orphans) == 0) {
					t.Errorf("goroutine %d: %v, %v", g, d, err)
				}
				if got, _ := x.PlanAll(); len(got) != len(want) {
					t.Errorf("goroutine %d: %d outcomes, want %d", g, len(got), len(want))
				}
			}
			d, _ := own.CheckDeletion(servicecidr.Key(fmt.Sprintf("own-%d-0", g)), 0)
			if len(d.Coverage[0].Unreliable)+len(d.Coverage[0].By) != 39 {
				t.Errorf("goroutine %d sees the ServiceCIDRs of others: %v", g, d.Coverage)
			}
		}()
	}
	wait.Wait()
	got, err := x.PlanAll()
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(want, got, compareErrors))
}
