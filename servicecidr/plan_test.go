package servicecidr_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/servicecidr"
)

type actions = []servicecidr.Action

func TestPlan(t *testing.T) {
	const x = "x"
	net24 := of("10.0.0.0/24")
	other := metav1.Condition{Type: "Other", Status: "True"}
	gone := servicecidr.RemoveFinalizer{Name: x, UID: uid(x)}
	blocked := servicecidr.SetCondition{Name: x, UID: uid(x), Condition: terminating(now)}
	settled := servicecidr.SetCondition{Name: x, UID: uid(x), Condition: ready(now)}
	protect := servicecidr.AddFinalizer{Name: x, UID: uid(x)}

	for _, tc := range []struct {
		name, reason string
		snapshot     servicecidr.Snapshot
		want         servicecidr.Result
		problems     []string
	}{{
		name: "BR-31-01 new", reason: "a new one gets the finalizer first, then Ready",
		snapshot: snapshotOf(cidrs(cidr(x, net24, finalizers(), conditions()))),
		want:     servicecidr.Result{Actions: actions{protect, settled}},
	}, {
		name: "BR-31-01 others' finalizer", reason: "only its own finalizer protects it",
		snapshot: snapshotOf(cidrs(cidr(x, net24, finalizers("example.com/mine")))),
		want:     servicecidr.Result{Actions: actions{protect}},
	}, {
		name: "BR-31-01 settled", reason: "what is there is not written again",
		snapshot: snapshotOf(cidrs(cidr(x, net24)), "10.0.0.7"),
	}, {
		name: "Ready says something else", reason: "status, reason and message are what is compared",
		snapshot: snapshotOf(cidrs(cidr(x, net24, conditions(other, terminating(longAgo))))),
		want:     servicecidr.Result{Actions: actions{settled}},
	}, {
		name: "Ready with another reason", reason: "an empty reason is part of the condition",
		snapshot: snapshotOf(cidrs(cidr(x, net24, conditions(metav1.Condition{Type: "Ready", Status: "True", Reason: "R", Message: readyMessage})))),
		want:     servicecidr.Result{Actions: actions{settled}},
	}, {
		name: "Ready with another message", reason: "the message is part of the condition",
		snapshot: snapshotOf(cidrs(cidr(x, net24, conditions(metav1.Condition{Type: "Ready", Status: "True", Message: "m"})))),
		want:     servicecidr.Result{Actions: actions{settled}},
	}, {
		name: "Ready with another status", reason: "the status is part of the condition",
		snapshot: snapshotOf(cidrs(cidr(x, net24, conditions(metav1.Condition{Type: "Ready", Status: "Unknown", Message: readyMessage})))),
		want:     servicecidr.Result{Actions: actions{settled}},
	}, {
		name: "a zero deletion timestamp", reason: "is none",
		snapshot: snapshotOf(cidrs(cidr(x, net24, deletedAt(time.Time{})))),
	}, {
		name: "BR-31-02 in use", reason: "its address would be orphaned",
		snapshot: snapshotOf(cidrs(cidr(x, net24, deletedAt(longAgo))), "10.0.0.7"),
		want:     servicecidr.Result{Actions: actions{blocked}},
	}, {
		name: "BR-31-02 in use and said so", reason: "no second write, and no timer: an event brings it back",
		snapshot: snapshotOf(cidrs(cidr(x, net24, deletedAt(longAgo), conditions(terminating(longAgo)))), "10.0.0.7"),
	}, {
		name: "BR-31-02 within the grace period", reason: "what blocks is said at once",
		snapshot: snapshotOf(cidrs(cidr(x, net24, deletedAt(now))), "10.0.0.7"),
		want:     servicecidr.Result{Actions: actions{blocked}},
	}, {
		name: "BR-31-02 without our finalizer", reason: "the condition is set all the same",
		snapshot: snapshotOf(cidrs(cidr(x, net24, deletedAt(longAgo), finalizers("example.com/mine"))), "10.0.0.7"),
		want:     servicecidr.Result{Actions: actions{blocked}},
	}, {
		name: "BR-31-02 not in use", reason: "addresses of other ranges do not matter",
		snapshot: snapshotOf(cidrs(cidr(x, net24, deletedAt(longAgo))), "10.0.1.7", "fd00::7"),
		want:     servicecidr.Result{Actions: actions{gone}},
	}, {
		name: "BR-31-02 covered by a shorter range inside", reason: "another one contains the address",
		snapshot: snapshotOf(cidrs(cidr(x, net24, deletedAt(longAgo)), cidr("inner", of("10.0.0.0/28"))), "10.0.0.7"),
		want:     servicecidr.Result{Actions: actions{gone}},
	}, {
		name: "BR-31-02 beside the shorter range inside", reason: "the other one does not contain this address",
		snapshot: snapshotOf(cidrs(cidr(x, net24, deletedAt(longAgo)), cidr("inner", of("10.0.0.0/28"))), "10.0.0.17"),
		want:     servicecidr.Result{Actions: actions{blocked}},
	}, {
		name: "BR-31-05 equal range", reason: "another one contains all of it",
		snapshot: snapshotOf(cidrs(cidr(x, net24, deletedAt(longAgo)), cidr("other", net24)), "10.0.0.7"),
		want:     servicecidr.Result{Actions: actions{gone}},
	}, {
		name: "BR-31-05 larger range", reason: "another one contains all of it",
		snapshot: snapshotOf(cidrs(cidr(x, net24, deletedAt(longAgo)), cidr("other", of("10.0.0.0/16"))), "10.0.0.7"),
		want:     servicecidr.Result{Actions: actions{gone}},
	}, {
		name: "BR-31-05 dual stack, each family by another one", reason: "each prefix on its own",
		snapshot: snapshotOf(cidrs(cidr(x, of("10.0.0.0/24", "fd00::/112"), deletedAt(longAgo)), cidr("four", of("10.0.0.0/16")), cidr("six", of("fd00::/64"))), "10.0.0.7", "fd00::7"),
		want:     servicecidr.Result{Actions: actions{gone}},
	}, {
		name: "BR-31-05 dual stack, one family only", reason: "the other family's address would be orphaned",
		snapshot: snapshotOf(cidrs(cidr(x, of("10.0.0.0/24", "fd00::/112"), deletedAt(longAgo)), cidr("four", of("10.0.0.0/16"))), "10.0.0.7", "fd00::7"),
		want:     servicecidr.Result{Actions: actions{blocked}},
	}, {
		name: "no finalizer left", reason: "nothing to remove",
		snapshot: snapshotOf(cidrs(cidr(x, net24, deletedAt(longAgo), finalizers("example.com/mine")))),
	}, {
		name: "not there", reason: "the object is gone",
		snapshot: snapshotOf(cidrs(cidr("other", net24))),
	}, {
		name: "D-2 does not parse", reason: "what it contains is not known: the finalizer stays",
		snapshot: snapshotOf(cidrs(cidr(x, of("10.0.0.0/33"), deletedAt(longAgo)))),
		problems: []string{`ServiceCIDR x: spec.cidrs[0]: netip.ParsePrefix("10.0.0.0/33"): prefix length out of range`},
	}, {
		name: "D-2 empty list", reason: "what it should contain is not known: the finalizer stays",
		snapshot: snapshotOf(cidrs(cidr(x, nil, deletedAt(longAgo)))),
		problems: []string{"ServiceCIDR x: spec.cidrs: no CIDR"},
	}, {
		name: "D-2 covered in part", reason: "the part that parses does not speak for the other",
		snapshot: snapshotOf(cidrs(cidr(x, of("10.0.0.0/24", "nonsense"), deletedAt(longAgo)), cidr("other", net24)), "10.0.0.7"),
		problems: []string{`ServiceCIDR x: spec.cidrs[1]: netip.ParsePrefix("nonsense"): no '/'`},
	}, {
		name: "D-2 in use in part", reason: "what is known to block is said, together with the error",
		snapshot: snapshotOf(cidrs(cidr(x, of("10.0.0.0/24", "nonsense"), deletedAt(longAgo))), "10.0.0.7"),
		want:     servicecidr.Result{Actions: actions{blocked}},
		problems: []string{`ServiceCIDR x: spec.cidrs[1]: netip.ParsePrefix("nonsense"): no '/'`},
	}, {
		name: "D-2 not being deleted", reason: "protected and Ready as upstream has it, and the error is found early",
		snapshot: snapshotOf(cidrs(cidr(x, of("10.0.0.0/33"), finalizers()))),
		want:     servicecidr.Result{Actions: actions{protect}},
		problems: []string{`ServiceCIDR x: spec.cidrs[0]: netip.ParsePrefix("10.0.0.0/33"): prefix length out of range`},
	}, {
		name: "a prefix with a zone", reason: "does not parse (D-2)",
		snapshot: snapshotOf(cidrs(cidr(x, of("fe80::%eth0/64"), deletedAt(longAgo)))),
		problems: []string{`ServiceCIDR x: spec.cidrs[0]: netip.ParsePrefix("fe80::%eth0/64"): IPv6 zones cannot be present in a prefix`},
	}, {
		name: "another one's CIDR does not parse", reason: "it covers nothing, and the error is its own",
		snapshot: snapshotOf(cidrs(cidr(x, net24, deletedAt(longAgo)), cidr("other", of("10.0.0.0/33"))), "10.0.0.7"),
		want:     servicecidr.Result{Actions: actions{blocked}},
	}, {
		name: "not canonical", reason: "10.0.0.5/24 is 10.0.0.0/24",
		snapshot: snapshotOf(cidrs(cidr(x, of("10.0.0.5/24"), deletedAt(longAgo))), "10.0.0.2"),
		want:     servicecidr.Result{Actions: actions{blocked}},
	}, {
		name: "the address before the host bits", reason: "10.0.0.5 is no network address there",
		snapshot: snapshotOf(cidrs(cidr(x, of("10.0.0.5/24"), deletedAt(longAgo))), "10.0.0.5"),
		want:     servicecidr.Result{Actions: actions{blocked}},
	}, {
		name: "a nil ServiceCIDR", reason: "reported; it covers nothing",
		snapshot: snapshotOf(cidrs(nil, cidr(x, net24, deletedAt(longAgo))), "10.0.0.7"),
		want:     servicecidr.Result{Actions: actions{blocked}},
		problems: []string{"ServiceCIDR: nil object in the snapshot"},
	}, {
		name: "a ServiceCIDR without a name", reason: "reported; it covers nothing",
		snapshot: snapshotOf(cidrs(cidr("", net24), cidr(x, net24, deletedAt(longAgo))), "10.0.0.7"),
		want:     servicecidr.Result{Actions: actions{blocked}},
		problems: []string{"ServiceCIDR: metadata.name: required"},
	}, {
		name: "two of its name", reason: "nothing is planned: which one is real?",
		snapshot: snapshotOf(cidrs(cidr(x, net24, deletedAt(longAgo)), cidr(x, net24, finalizers()))),
		problems: []string{"ServiceCIDR x: several objects in the snapshot have this name"},
	}, {
		name: "two of a name around it", reason: "neither covers it, and both are named since they may",
		snapshot: snapshotOf(cidrs(cidr(x, net24, deletedAt(longAgo)), cidr("two", of("10.0.0.0/8")), cidr("two", of("10.0.0.0/16")), cidr("far", of("11.0.0.0/8")), cidr("far", of("11.0.0.0/8"))), "10.0.0.7"),
		want:     servicecidr.Result{Actions: actions{blocked}},
		problems: []string{"ServiceCIDR two: several objects in the snapshot have this name"},
	}, {
		name: "two of a name around a free one", reason: "the decision does not rest on them",
		snapshot: snapshotOf(cidrs(cidr(x, net24, deletedAt(longAgo)), cidr("two", of("10.0.0.0/8")), cidr("two", of("10.0.0.0/16")))),
		want:     servicecidr.Result{Actions: actions{gone}},
	}, {
		name: "a nil IPAddress", reason: "it may be an address of this one: the finalizer stays",
		snapshot: servicecidr.Snapshot{Now: now, ServiceCIDRs: cidrs(cidr(x, net24, deletedAt(longAgo))), IPAddresses: []*networkingv1.IPAddress{nil}},
		problems: []string{"IPAddress: nil object in the snapshot"},
	}, {
		name: "a nil IPAddress, covered", reason: "whatever it is, another one contains it as well",
		snapshot: servicecidr.Snapshot{Now: now, ServiceCIDRs: cidrs(cidr(x, net24, deletedAt(longAgo)), cidr("other", net24)), IPAddresses: []*networkingv1.IPAddress{nil}},
		want:     servicecidr.Result{Actions: actions{gone}},
		problems: []string{"IPAddress: nil object in the snapshot"},
	}, {
		name: "a nil IPAddress, not being deleted", reason: "reported always",
		snapshot: servicecidr.Snapshot{Now: now, ServiceCIDRs: cidrs(cidr(x, net24)), IPAddresses: []*networkingv1.IPAddress{nil}},
		problems: []string{"IPAddress: nil object in the snapshot"},
	}, {
		name: "a managed name that is no address", reason: "it may be an address of this one: the finalizer stays",
		snapshot: snapshotOf(cidrs(cidr(x, net24, deletedAt(longAgo))), "10.0.0.007"),
		problems: []string{`IPAddress 10.0.0.007: metadata.name: ParseAddr("10.0.0.007"): IPv4 field has octet with leading zero`},
	}, {
		name: "the same, covered", reason: "whatever it is, another one contains it as well",
		snapshot: snapshotOf(cidrs(cidr(x, net24, deletedAt(longAgo)), cidr("other", net24)), "10.0.0.007"),
		want:     servicecidr.Result{Actions: actions{gone}},
	}, {
		name: "the same, of the other family", reason: "its label says that it is IPv4",
		snapshot: snapshotOf(cidrs(cidr(x, of("fd00::/112"), deletedAt(longAgo))), "10.0.0.007"),
		want:     servicecidr.Result{Actions: actions{gone}},
	}, {
		name: "an unmanaged name that is no address", reason: "not ours to read",
		snapshot: servicecidr.Snapshot{Now: now, ServiceCIDRs: cidrs(cidr(x, net24, deletedAt(longAgo))), IPAddresses: []*networkingv1.IPAddress{labelled("nonsense", nil)}},
		want:     servicecidr.Result{Actions: actions{gone}},
	}, {
		name: "two IPAddresses of one name", reason: "they count as one",
		snapshot: snapshotOf(cidrs(cidr(x, net24, deletedAt(longAgo))), "10.0.0.7", "10.0.0.7"),
		want:     servicecidr.Result{Actions: actions{blocked}},
	}} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := servicecidr.Plan(tc.snapshot, servicecidr.Key(x), careful)
			require.Empty(t, diff(tc.want, got), tc.reason)
			require.Equal(t, tc.problems, problemsOf(t, err), tc.reason)
			// The same from PlanAll, and whatever is wrong is said by one of its outcomes.
			all, whole := servicecidr.PlanAll(tc.snapshot, careful)
			require.Empty(t, diff(tc.want, outcomeOf(all, x).Result), "PlanAll: %s", tc.reason)
			said := append(problemsOf(t, outcomeOf(all, x).Err), problemsOf(t, whole)...)
			require.Subset(t, said, tc.problems, "PlanAll: %s", tc.reason)
		})
	}
}

// problemsOf takes a joined error apart; each part is to be an ObjectError.
func problemsOf(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	require.True(t, ok, "%T", err)
	var texts []string
	for _, e := range joined.Unwrap() {
		require.IsType(t, &purekube.ObjectError{}, e)
		texts = append(texts, e.Error())
	}
	return texts
}

func TestBR3102_OnlyTheAllocatorsAddressesCount(t *testing.T) {
	const managed, family = "ipaddress.kubernetes.io/managed-by", "ipaddress.kubernetes.io/ip-family"
	for _, tc := range []struct {
		name, reason string
		cidr         []string
		address      string
		labels       map[string]string
		counts       bool
	}{
		{"both labels", "as the API server makes it", of("10.0.0.0/24"), "10.0.0.7", map[string]string{managed: "ipallocator.k8s.io", family: "IPv4"}, true},
		{"none", "someone else's object", of("10.0.0.0/24"), "10.0.0.7", nil, false},
		{"another manager", "someone else's address", of("10.0.0.0/24"), "10.0.0.7", map[string]string{managed: "me", family: "IPv4"}, false},
		{"no manager", "someone else's address", of("10.0.0.0/24"), "10.0.0.7", map[string]string{family: "IPv4"}, false},
		{"no family", "upstream asks for both labels", of("10.0.0.0/24"), "10.0.0.7", map[string]string{managed: "ipallocator.k8s.io"}, false},
		{"an empty family", "is not IPv4", of("10.0.0.0/24"), "10.0.0.7", map[string]string{managed: "ipallocator.k8s.io", family: ""}, false},
		{"the other family", "single stack asks for its own family only", of("10.0.0.0/24"), "10.0.0.7", map[string]string{managed: "ipallocator.k8s.io", family: "IPv6"}, false},
		{"the other family, dual stack", "upstream asks for both, and goes by the address then", of("10.0.0.0/24", "fd00::/64"), "10.0.0.7", map[string]string{managed: "ipallocator.k8s.io", family: "IPv6"}, true},
		{"a family of its own", "no such family", of("10.0.0.0/24"), "10.0.0.7", map[string]string{managed: "ipallocator.k8s.io", family: "ipv4"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := snapshotOf(cidrs(cidr("x", tc.cidr, deletedAt(longAgo))))
			s.IPAddresses = []*networkingv1.IPAddress{labelled(tc.address, tc.labels)}
			for _, o := range []servicecidr.Options{careful, upstream} {
				d, err := servicecidr.NewIndex(s, o).CheckDeletion(servicecidr.Key("x"), 0)
				require.NoError(t, err)
				require.Equal(t, tc.counts, !d.Safe, tc.reason)
				require.Equal(t, tc.counts, len(removed(planAll(s, o))) == 0, tc.reason)
			}
		})
	}
}

func TestBR3103_GracePeriod(t *testing.T) {
	zero, minute, negative := time.Duration(0), time.Minute, -time.Minute
	deletion := now
	for _, tc := range []struct {
		name, reason string
		at           time.Time
		period       *time.Duration
		want         time.Time // zero: the finalizer is removed
	}{
		{"at once", "ten seconds to wait", deletion, nil, deletion.Add(10 * time.Second)},
		{"a nanosecond early", "not yet", deletion.Add(10*time.Second - 1), nil, deletion.Add(10 * time.Second)},
		{"the moment itself", "over", deletion.Add(10 * time.Second), nil, time.Time{}},
		{"a nanosecond late", "over", deletion.Add(10*time.Second + 1), nil, time.Time{}},
		{"a deletion in the future", "clocks differ: the period begins when it says", deletion.Add(-time.Hour), nil, deletion.Add(10 * time.Second)},
		{"a zero Now", "before everything", time.Time{}, nil, deletion.Add(10 * time.Second)},
		{"centuries later", "a difference of times would overflow", deletion.AddDate(400, 0, 0), nil, time.Time{}},
		{"another zone", "the moment counts, not the clock face", deletion.Add(10*time.Second - 1).In(time.FixedZone("", 3600)), nil, deletion.Add(10 * time.Second)},
		{"none, at once", "the caller's period", deletion, &zero, time.Time{}},
		{"none, a nanosecond before the deletion", "not begun yet", deletion.Add(-1), &zero, deletion},
		{"a minute", "the caller's period", deletion.Add(time.Minute - 1), &minute, deletion.Add(time.Minute)},
		{"negative", "is none, and even less", deletion.Add(-time.Minute), &negative, time.Time{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, release := range []purekube.Upstream{"", purekube.V1_36} {
				s := servicecidr.Snapshot{Now: tc.at, ServiceCIDRs: cidrs(cidr("x", of("10.0.0.0/24"), deletedAt(deletion)))}
				r, err := servicecidr.Plan(s, servicecidr.Key("x"), servicecidr.Options{MatchUpstream: release, GracePeriod: tc.period})
				require.NoError(t, err)
				require.True(t, tc.want.Equal(r.RecheckAt), "%s: want %v, got %v", tc.reason, tc.want, r.RecheckAt)
				require.Equal(t, tc.want.IsZero(), len(r.Actions) == 1, tc.reason)
				if !r.RecheckAt.IsZero() {
					require.True(t, r.RecheckAt.After(tc.at), "RecheckAt is always later than Now")
				}
			}
		})
	}
}

func TestBR3103_AZeroNowDatesTheConditionWithTheZeroTime(t *testing.T) {
	s := servicecidr.Snapshot{ServiceCIDRs: cidrs(cidr("x", of("10.0.0.0/24"), conditions()))}
	r, err := servicecidr.Plan(s, servicecidr.Key("x"), careful)
	require.NoError(t, err)
	require.Equal(t, actions{servicecidr.SetCondition{Name: "x", UID: uid("x"), Condition: ready(time.Time{})}}, r.Actions)
}

func TestD1_EqualOnesDoNotCoverEachOther(t *testing.T) {
	s := snapshotOf(cidrs(
		cidr("a", of("10.70.0.0/28"), deletedAt(first)),
		cidr("b", of("10.70.0.0/28"), deletedAt(first)),
	), "10.70.0.2")
	require.Equal(t, []string{"a", "b"}, removed(planAll(s, upstream)), "upstream lets both go")
	require.Equal(t, []string{"a"}, removed(planAll(s, careful)), "the last one, by name, stays")

	s.ServiceCIDRs[0].DeletionTimestamp = &metav1.Time{Time: second}
	require.Equal(t, []string{"b"}, removed(planAll(s, careful)), "the last one, by time, stays")

	s.IPAddresses = nil
	require.Equal(t, []string{"a", "b"}, removed(planAll(s, careful)), "nothing is left: both go")
}

func TestD1_TheNameDecidesWithinASecond(t *testing.T) {
	for n := 2; n <= 60; n++ {
		s := snapshotOf(nil, "10.70.0.2")
		for i := range n {
			// Deletion timestamps in some disorder, each of them twice or more.
			at := longAgo.Add(time.Duration(i*7%5) * time.Second)
			s.ServiceCIDRs = append(s.ServiceCIDRs, cidr(fmt.Sprintf("equal-%02d", i), of("10.70.0.0/28"), deletedAt(at)))
		}
		stays := slices.MaxFunc(s.ServiceCIDRs, func(a, b *networkingv1.ServiceCIDR) int {
			return cmp.Or(a.DeletionTimestamp.Compare(b.DeletionTimestamp.Time), cmp.Compare(a.Name, b.Name))
		})
		goes := removed(planAll(s, careful))
		require.Len(t, goes, n-1)
		require.NotContains(t, goes, stays.Name)
	}
}

func TestD1_WhichCoversWhich(t *testing.T) {
	net := of("10.0.0.0/24")
	for _, tc := range []struct {
		name, reason string
		cidrs        []*networkingv1.ServiceCIDR
		goes         []string
	}{{
		name: "three", reason: "all but the last",
		cidrs: cidrs(cidr("a", net, deletedAt(third)), cidr("b", net, deletedAt(second)), cidr("c", net, deletedAt(first))),
		goes:  []string{"b", "c"},
	}, {
		name: "covered jointly", reason: "each address has its own last one: .7 is b's and .200 is c's",
		cidrs: cidrs(cidr("a", net, deletedAt(first)), cidr("b", of("10.0.0.0/25"), deletedAt(second)), cidr("c", of("10.0.0.128/25"), deletedAt(second))),
		goes:  []string{"a"},
	}, {
		name: "the larger is last", reason: "it contains both addresses",
		cidrs: cidrs(cidr("a", net, deletedAt(third)), cidr("b", of("10.0.0.0/25"), deletedAt(second)), cidr("c", of("10.0.0.128/25"), deletedAt(second))),
		goes:  []string{"b", "c"},
	}, {
		name: "one stays", reason: "it covers everybody",
		cidrs: cidrs(cidr("a", net, deletedAt(first)), cidr("b", net, deletedAt(second)), cidr("c", net)),
		goes:  []string{"a", "b"},
	}, {
		name: "the last one is not protected by us", reason: "it may vanish at any moment, so it covers nothing",
		cidrs: cidrs(cidr("a", net, deletedAt(first)), cidr("b", net, deletedAt(second)), cidr("c", net, deletedAt(third), finalizers("example.com/mine"))),
		goes:  []string{"a"},
	}, {
		name: "D-25 one that stays is not protected yet", reason: "it may be gone before its finalizer is there, so it covers nothing",
		cidrs: cidrs(cidr("a", net, deletedAt(first)), cidr("b", net, deletedAt(second)), cidr("c", net, finalizers())),
		goes:  []string{"a"},
	}, {
		name: "a later one whose CIDR does not parse", reason: "the prefix that does parse covers: its finalizer stays anyhow (D-2)",
		cidrs: cidrs(cidr("a", net, deletedAt(first)), cidr("b", of("10.0.0.0/24", "nonsense"), deletedAt(second))),
		goes:  []string{"a"},
	}} {
		t.Run(tc.name, func(t *testing.T) {
			s := snapshotOf(tc.cidrs, "10.0.0.7", "10.0.0.200")
			require.Equal(t, tc.goes, removed(planAll(s, careful)), tc.reason)
		})
	}
}

func TestD1_AnUnprotectedOneIsBlockedLikeAnyOther(t *testing.T) {
	net := of("10.0.0.0/24")
	u := finalizers("example.com/mine")
	s := snapshotOf(cidrs(
		cidr("a", net, deletedAt(first), u), cidr("b", net, deletedAt(second)), cidr("c", net, deletedAt(third), u), cidr("d", net, deletedAt(third), u),
	), "10.0.0.7")
	says := map[string]bool{}
	for _, o := range planAll(s, careful) {
		says[o.Key.Name] = len(o.Result.Actions) == 1 && o.Result.Actions[0] == servicecidr.Action(servicecidr.SetCondition{Name: o.Key.Name, UID: uid(o.Key.Name), Condition: terminating(now)})
	}
	require.Equal(t, map[string]bool{"b": true, "c": true, "d": true}, says,
		"a leans on b; nobody comes after b that it may rely on; c and d may not lean on each other")
}

func TestD2_UpstreamTakesItForContained(t *testing.T) {
	for _, spec := range [][]string{of("10.0.0.0/33"), nil, of("nonsense", "10.0.0.0/24/24")} {
		s := snapshotOf(cidrs(cidr("x", spec, deletedAt(longAgo))), "10.0.0.7")
		r, err := servicecidr.Plan(s, servicecidr.Key("x"), upstream)
		require.NoError(t, err, "upstream does not notice")
		require.Equal(t, actions{servicecidr.RemoveFinalizer{Name: "x"}}, r.Actions)
		r, err = servicecidr.Plan(s, servicecidr.Key("x"), careful)
		require.Error(t, err)
		require.True(t, r.Empty())
	}
}

func TestMatchUpstream_ANameThatIsNoAddressIsSkipped(t *testing.T) {
	s := snapshotOf(cidrs(cidr("x", of("10.0.0.0/24"), deletedAt(longAgo))), "10.0.0.007")
	r, err := servicecidr.Plan(s, servicecidr.Key("x"), upstream)
	require.NoError(t, err)
	require.Equal(t, actions{servicecidr.RemoveFinalizer{Name: "x"}}, r.Actions)
	_, err = servicecidr.PlanAll(s, upstream)
	require.NoError(t, err)
}

func TestMatchUpstream_TwoOverlappingPrefixesOfOneObject(t *testing.T) {
	// Only a manifest can hold such an object: the API takes one prefix a family.
	s := snapshotOf(cidrs(cidr("x", of("10.0.0.0/16", "10.0.0.0/24"), deletedAt(longAgo))), "10.0.0.7")
	require.Equal(t, []string{"x"}, removed(planAll(s, upstream)), "upstream finds the address in two places")
	require.Empty(t, removed(planAll(s, careful)), "both are x: no other contains the address")

	s.IPAddresses = ips("10.0.1.7")
	require.Empty(t, removed(planAll(s, upstream)), "in the larger one only")
}

func TestPlanAll_OutcomesAndErrors(t *testing.T) {
	dying := deletedAt(longAgo)
	s := servicecidr.Snapshot{
		Now: now,
		ServiceCIDRs: cidrs(
			nil,
			cidr("settled", of("10.9.0.0/24")),
			cidr("six", of("fd00::/64"), dying),
			cidr("twice", of("10.1.0.0/24")), cidr("twice", of("10.1.0.0/24"), dying),
			cidr("bad", of("10.2.0.0/24", "x")),
			cidr("", of("10.3.0.0/24")),
			cidr("fresh", of("10.4.0.0/24"), deletedAt(now)),
		),
		IPAddresses: []*networkingv1.IPAddress{nil, ip("10.9.0.9"), labelled("zero", map[string]string{"ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io", "ipaddress.kubernetes.io/ip-family": ""})},
	}
	all, whole := servicecidr.PlanAll(s, careful)
	var names []string
	texts := map[string][]string{}
	for _, o := range all {
		names = append(names, o.Key.Name)
		texts[o.Key.Name] = problemsOf(t, o.Err)
		require.Empty(t, o.Result.Actions, o.Key)
	}
	require.Equal(t, []string{"bad", "fresh", "six", "twice"}, names, "sorted, only those with something to say")
	unknown := []string{"IPAddress: nil object in the snapshot"}
	require.Equal(t, map[string][]string{
		"bad":   {`ServiceCIDR bad: spec.cidrs[1]: netip.ParsePrefix("x"): no '/'`},
		"fresh": unknown,
		"six":   unknown,
		"twice": {"ServiceCIDR twice: several objects in the snapshot have this name"},
	}, texts)
	require.Equal(t, []string{
		"IPAddress: nil object in the snapshot",
		`IPAddress zero: metadata.name: ParseAddr("zero"): unable to parse IP`,
		"ServiceCIDR: nil object in the snapshot",
		"ServiceCIDR: metadata.name: required",
	}, problemsOf(t, whole), "what is wrong with the snapshot as a whole")
}
