package servicecidr_test

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"go4.org/netipx"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube/internal/test/seed"
	"github.com/purekube/purekube/servicecidr"
)

// forSeeds runs the test for n seeds, or a quarter as many if seed.Short.
func forSeeds(t *testing.T, n int, f func(t *testing.T, seed uint64, r *rand.Rand)) {
	t.Helper()
	if seed.Short() {
		n /= 4
	}
	for seed := range seed.Each(t, n) {
		f(t, seed, newRand(seed))
	}
}

// nasty says what a random snapshot may have wrong with it.
type nasty struct{ specs, objects bool }

func randomSnapshot(r *rand.Rand, n nasty) servicecidr.Snapshot {
	s := servicecidr.Snapshot{Now: now}
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	v4 := func() string {
		bits := 22 + r.IntN(11)
		p := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(r.IntN(4)), byte(r.IntN(4) * 64)}), bits)
		if n.specs && r.IntN(5) == 0 {
			return p.String()
		}
		return p.Masked().String()
	}
	v6 := func() string {
		last := [16]byte{0: 0xfd, 15: byte(r.IntN(8) * 32)}
		return netip.PrefixFrom(netip.AddrFrom16(last), 118+r.IntN(11)).Masked().String()
	}
	names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}[:1+r.IntN(8)]
	for _, name := range names {
		spec := [][]string{{v4()}, {v6()}, {v4(), v6()}, {v6(), v4()}}[r.IntN(4)]
		if n.specs {
			switch r.IntN(10) {
			case 0:
				spec = nil
			case 1:
				spec = append(spec, pick("10.0.0.0/33", "nonsense", ""))
			case 2:
				spec = append(spec, v4())
			case 3:
				spec = append(spec, spec[0])
			}
		}
		c := cidr(name, spec)
		switch r.IntN(6) {
		case 0:
			c.Finalizers = nil
		case 1:
			c.Finalizers = []string{"example.com/mine"}
		}
		if r.IntN(5) < 3 {
			at := []time.Time{first, second, third, now.Add(-10 * time.Second), now.Add(-9 * time.Second), now, now.Add(time.Minute)}[r.IntN(7)]
			c.DeletionTimestamp = &metav1.Time{Time: at}
		}
		switch r.IntN(4) {
		case 0:
			c.Status.Conditions = nil
		case 1:
			c.Status.Conditions = []metav1.Condition{{Type: "Other", Status: "True"}, terminating(longAgo)}
		}
		s.ServiceCIDRs = append(s.ServiceCIDRs, c)
	}
	unusable := unusableOf(s.ServiceCIDRs)
	for range r.IntN(6) {
		a := netip.AddrFrom4([4]byte{10, 0, byte(r.IntN(4)), byte(r.IntN(256))})
		if r.IntN(2) == 0 {
			a = netip.AddrFrom16([16]byte{0: 0xfd, 14: byte(r.IntN(3)), 15: byte(r.IntN(256))})
		}
		if len(unusable) > 0 && r.IntN(3) == 0 {
			a = unusable[r.IntN(len(unusable))]
		}
		address := ip(a.String())
		switch r.IntN(12) {
		case 0:
			delete(address.Labels, "ipaddress.kubernetes.io/managed-by")
		case 1:
			address.Labels["ipaddress.kubernetes.io/ip-family"] = pick("", "IPv4", "IPv6", "ipv4")
		}
		s.IPAddresses = append(s.IPAddresses, address)
	}
	if n.objects {
		if r.IntN(3) == 0 {
			s.ServiceCIDRs = append(s.ServiceCIDRs, nil)
		}
		if r.IntN(3) == 0 {
			s.IPAddresses = append(s.IPAddresses, nil)
		}
		if r.IntN(3) == 0 {
			duplicate := s.ServiceCIDRs[0].DeepCopy()
			duplicate.Spec.CIDRs = []string{v4()}
			s.ServiceCIDRs = append(s.ServiceCIDRs, duplicate)
		}
		if r.IntN(3) == 0 {
			s.IPAddresses = append(s.IPAddresses, ip(pick("10.0.0.01", "nonsense", "", "fe80::1%eth0", "::ffff:10.0.0.1")))
		}
		if r.IntN(6) == 0 {
			s.ServiceCIDRs = append(s.ServiceCIDRs, cidr("", of(v4())))
		}
		if r.IntN(6) == 0 {
			s.ServiceCIDRs[0].UID = uid("b")
		}
	}
	if r.IntN(3) == 0 {
		s.DeletionSeen = randomSightings(r)
	}
	return s
}

// unusableOf returns the network and broadcast addresses of the prefixes.
func unusableOf(cidrs []*networkingv1.ServiceCIDR) (unusable []netip.Addr) {
	for _, c := range cidrs {
		for _, text := range c.Spec.CIDRs {
			p, err := netip.ParsePrefix(text)
			if err != nil {
				continue
			}
			unusable = append(unusable, p.Masked().Addr())
			if p.Addr().Is4() {
				unusable = append(unusable, netipx.PrefixLastIP(p))
			}
		}
	}
	return unusable
}

// randomSightings are of some of the ServiceCIDRs that randomSnapshot makes.
func randomSightings(r *rand.Rand) sightings {
	seen := sightings{}
	for _, name := range of("a", "b", "c", "d", "e", "f", "g", "h") {
		if r.IntN(4) > 0 {
			seen[uid(name)] = []time.Time{first, second, now.Add(-10 * time.Second), now.Add(-9 * time.Second), now, {}}[r.IntN(6)]
		}
	}
	return seen
}

func modes() []servicecidr.Options {
	return []servicecidr.Options{careful, upstream}
}

// Carried out, a plan leaves nothing to do; and step by step, in any order of objects and with
// addresses coming and going, no address is ever orphaned, and in the end all that can go is gone.
func TestConverges(t *testing.T) {
	forSeeds(t, 1500, func(t *testing.T, seed uint64, r *rand.Rand) {
		s := randomSnapshot(r, nasty{})
		// Others' finalizers would be others' decisions.
		for _, x := range s.ServiceCIDRs {
			x.Finalizers = slices.DeleteFunc(x.Finalizers, func(f string) bool { return f != servicecidr.Finalizer })
		}
		s.ServiceCIDRs = slices.DeleteFunc(s.ServiceCIDRs, func(x *networkingv1.ServiceCIDR) bool {
			return x.DeletionTimestamp != nil && len(x.Finalizers) == 0
		})
		s.IPAddresses = slices.DeleteFunc(s.IPAddresses, func(a *networkingv1.IPAddress) bool {
			return !cmp.Equal(a.Labels, ip(a.Name).Labels) // does not count
		})
		for step := 0; ; step++ {
			require.Less(t, step, 100, "seed %d", seed)
			if s.DeletionSeen != nil { // who records deletions does it before each plan
				for _, x := range s.ServiceCIDRs {
					if x.DeletionTimestamp != nil && s.DeletionSeen[x.UID].IsZero() {
						s.DeletionSeen[x.UID] = s.Now
					}
				}
			}
			outcomes := planAll(s, careful)
			r.Shuffle(len(outcomes), func(i, j int) { outcomes[i], outcomes[j] = outcomes[j], outcomes[i] })
			var later time.Time
			wrote := false
			for _, o := range outcomes {
				require.NoError(t, o.Err)
				later = earliest(later, o.Result.RecheckAt)
				for _, a := range o.Result.Actions {
					covered := coveredAddresses(s)
					s.ServiceCIDRs = carryOut(s.ServiceCIDRs, o.Key.Name, a)
					require.Equal(t, covered, coveredAddresses(s), "seed %d: %v orphans", seed, a)
					wrote = true
				}
				// A plan is carried out in part now and then.
				if r.IntN(4) == 0 {
					break
				}
			}
			switch {
			case wrote:
			case !later.IsZero():
				require.True(t, later.After(s.Now))
				s.Now = later
			case len(s.IPAddresses) > 0:
				require.Empty(t, outcomes, "nothing to do, and nothing said")
				s.IPAddresses = s.IPAddresses[1:]
			default:
				for _, x := range s.ServiceCIDRs {
					require.Nil(t, x.DeletionTimestamp, "seed %d: %s could go", seed, x.Name)
				}
				return
			}
		}
	})
}

func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func coveredAddresses(s servicecidr.Snapshot) (covered []string) {
	for _, ip := range s.IPAddresses {
		contains := func(p netip.Prefix) bool { return servicecidr.PrefixContainsIP(p, netip.MustParseAddr(ip.Name)) }
		if slices.ContainsFunc(s.ServiceCIDRs, func(x *networkingv1.ServiceCIDR) bool { return anyPrefix(x, contains) }) {
			covered = append(covered, ip.Name)
		}
	}
	return covered
}

// carryOut does what the API server does: an object without a finalizer that is to go is gone.
func carryOut(cidrs []*networkingv1.ServiceCIDR, name string, a servicecidr.Action) []*networkingv1.ServiceCIDR {
	var after []*networkingv1.ServiceCIDR
	for _, x := range cidrs {
		if x.Name == name {
			x = a.(interface {
				Apply(*networkingv1.ServiceCIDR) *networkingv1.ServiceCIDR
			}).Apply(x)
		}
		if x.DeletionTimestamp == nil || len(x.Finalizers) > 0 {
			after = append(after, x)
		}
	}
	return after
}

// On what an API server accepts, the default differs from upstream in the UIDs (D-3, D-26), and where
// one that is being deleted overlaps another that is (D-1) or has no finalizer (D-25); in nothing
// else.
func TestPropNoOtherDivergence(t *testing.T) {
	joint := 0
	forSeeds(t, 3000, func(t *testing.T, seed uint64, r *rand.Rand) {
		s := randomSnapshot(r, nasty{})
		s.DeletionSeen = nil // upstream has no such record
		for _, x := range s.ServiceCIDRs {
			got, err := servicecidr.Plan(s, servicecidr.Key(x.Name), careful)
			require.NoError(t, err)
			want, err := servicecidr.Plan(s, servicecidr.Key(x.Name), upstream)
			require.NoError(t, err)
			for i, a := range got.Actions {
				got.Actions[i] = withoutUID(a)
			}
			if diff(want, got) == "" {
				continue
			}
			joint++
			require.NotNil(t, x.DeletionTimestamp, "seed %d, %s", seed, x.Name)
			together := slices.ContainsFunc(s.ServiceCIDRs, func(y *networkingv1.ServiceCIDR) bool {
				unreliable := y.DeletionTimestamp != nil || !slices.Contains(y.Finalizers, servicecidr.Finalizer)
				return y != x && unreliable && slices.ContainsFunc(x.Spec.CIDRs, func(p string) bool {
					return anyPrefix(y, netip.MustParsePrefix(p).Overlaps)
				})
			})
			require.True(t, together, "seed %d, %s", seed, x.Name)
			for _, a := range got.Actions {
				require.IsType(t, servicecidr.SetCondition{}, a, "seed %d: the default never lets more go", seed)
			}
			require.Zero(t, got.RecheckAt, "seed %d", seed)
		}
	})
	if !seed.Single() {
		require.Greater(t, joint, 50)
	}
}

func withoutUID(a servicecidr.Action) servicecidr.Action {
	switch a := a.(type) {
	case servicecidr.AddFinalizer:
		a.UID = ""
		return a
	case servicecidr.SetCondition:
		a.UID = ""
		return a
	case servicecidr.RemoveFinalizer:
		a.UID = ""
		return a
	}
	return a
}
