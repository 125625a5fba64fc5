package servicecidr_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/servicecidr"
)

type coverages = []servicecidr.Coverage

func covered(p string, by ...string) servicecidr.Coverage {
	return servicecidr.Coverage{Prefix: netip.MustParsePrefix(p), By: by}
}

func unreliably(c servicecidr.Coverage, names ...string) servicecidr.Coverage {
	c.Unreliable = names
	return c
}

func TestCheckDeletion(t *testing.T) {
	const x = "x"
	dying := deletedAt(second)
	for _, tc := range []struct {
		name, reason string
		snapshot     servicecidr.Snapshot
		want         servicecidr.Deletion
		is           error  // what the error is, if there is one
		fails        string // the text of the error, where it has no name
	}{{
		name: "not there", reason: "a question about an object that is not there has no answer",
		snapshot: snapshotOf(nil, "10.0.0.7"),
		is:       purekube.ErrNotFound,
	}, {
		name: "alone and empty", reason: "none contains it, and nothing is lost",
		snapshot: snapshotOf(cidrs(cidr(x, of("10.0.0.0/24"), dying)), "10.1.0.7"),
		want:     servicecidr.Deletion{Safe: true, Coverage: coverages{covered("10.0.0.0/24")}},
	}, {
		name: "BR-31-02 in use", reason: "every IPAddress, sorted by address, each name once",
		snapshot: snapshotOf(cidrs(cidr(x, of("10.0.0.0/24", "fd00::/112"), dying)),
			"fd00::b", "10.0.0.10", "10.0.0.9", "FD00::B", "fd00:0::b", "10.0.0.9", "fd00::a"),
		want: servicecidr.Deletion{
			Coverage: coverages{covered("10.0.0.0/24"), covered("fd00::/112")},
			Orphans:  orphans("10.0.0.9", "10.0.0.10", "fd00::a", "FD00::B", "fd00:0::b", "fd00::b"),
		},
	}, {
		name: "BR-31-05 coverage", reason: "the names of all that contain the prefix, sorted",
		snapshot: snapshotOf(cidrs(cidr(x, of("10.0.0.0/24", "fd00::/112"), dying),
			cidr("wide", of("10.0.0.0/8")), cidr("same", of("10.0.0.0/24")), cidr("inner", of("10.0.0.0/25")), cidr("far", of("11.0.0.0/8"))),
			"10.0.0.9", "fd00::1"),
		want: servicecidr.Deletion{
			Coverage: coverages{covered("10.0.0.0/24", "same", "wide"), covered("fd00::/112")},
			Orphans:  orphans("fd00::1"),
		},
	}, {
		name: "BR-31-05 the whole address space around it", reason: "the shortest prefix of all contains it; ::/0 is another family",
		snapshot: snapshotOf(cidrs(cidr(x, of("10.0.0.0/24"), dying), cidr("all", of("0.0.0.0/0")), cidr("six", of("::/0"))), "10.0.0.9"),
		want:     servicecidr.Deletion{Safe: true, Coverage: coverages{covered("10.0.0.0/24", "all")}},
	}, {
		name: "two halves", reason: "the network address of the one and the broadcast address of the other are in neither",
		snapshot: snapshotOf(cidrs(cidr(x, of("10.0.0.0/24"), dying), cidr("low", of("10.0.0.0/25")), cidr("high", of("10.0.0.128/25"))),
			"10.0.0.126", "10.0.0.127", "10.0.0.128", "10.0.0.129"),
		want: servicecidr.Deletion{Coverage: coverages{covered("10.0.0.0/24")}, Orphans: orphans("10.0.0.127", "10.0.0.128")},
	}, {
		name: "two halves, IPv6", reason: "no broadcast address: only the network address is in neither",
		snapshot: snapshotOf(cidrs(cidr(x, of("fd00::/120"), dying), cidr("low", of("fd00::/121")), cidr("high", of("fd00::80/121"))),
			"fd00::7e", "fd00::7f", "fd00::80", "fd00::81"),
		want: servicecidr.Deletion{Coverage: coverages{covered("fd00::/120")}, Orphans: orphans("fd00::80")},
	}, {
		name: "network and broadcast address", reason: "no Service has them from here",
		snapshot: snapshotOf(cidrs(cidr(x, of("10.0.0.0/24", "fd00::/112"), dying)), "10.0.0.0", "10.0.0.255", "fd00::"),
		want:     servicecidr.Deletion{Safe: true, Coverage: coverages{covered("10.0.0.0/24"), covered("fd00::/112")}},
	}, {
		name: "/31 and /127", reason: "a /31 contains nothing, a /127 its second address",
		snapshot: snapshotOf(cidrs(cidr(x, of("10.0.0.2/31", "fd00::2/127"), dying)), "10.0.0.2", "10.0.0.3", "fd00::2", "fd00::3"),
		want: servicecidr.Deletion{Coverage: coverages{covered("10.0.0.2/31"), covered("fd00::2/127")},
			Orphans: orphans("fd00::3")},
	}, {
		name: "/32 and /128", reason: "contain nothing",
		snapshot: snapshotOf(cidrs(cidr(x, of("10.0.0.2/32", "fd00::2/128"), dying)), "10.0.0.2", "fd00::2"),
		want:     servicecidr.Deletion{Safe: true, Coverage: coverages{covered("10.0.0.2/32"), covered("fd00::2/128")}},
	}, {
		name: "the whole address space", reason: "the last address of all is in it for IPv6",
		snapshot: snapshotOf(cidrs(cidr(x, of("0.0.0.0/0", "::/0"), dying)),
			"0.0.0.0", "0.0.0.1", "255.255.255.254", "255.255.255.255", "::", "::1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
		want: servicecidr.Deletion{Coverage: coverages{covered("0.0.0.0/0"), covered("::/0")},
			Orphans: orphans("0.0.0.1", "255.255.255.254", "::1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff")},
	}, {
		name: "the end of the address space", reason: "nothing follows it",
		snapshot: snapshotOf(cidrs(cidr(x, of("255.255.255.252/30", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffc/126"), dying), cidr("last", of("ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe/127"))),
			"255.255.255.253", "255.255.255.255", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffd", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
		want: servicecidr.Deletion{Coverage: coverages{covered("255.255.255.252/30"), covered("ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffc/126")},
			Orphans: orphans("255.255.255.253", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffd")},
	}, {
		name: "not canonical", reason: "reported in canonical form",
		snapshot: snapshotOf(cidrs(cidr(x, of("10.0.0.5/24"), dying), cidr("same", of("10.0.0.77/24"))), "10.0.0.7"),
		want:     servicecidr.Deletion{Safe: true, Coverage: coverages{covered("10.0.0.0/24", "same")}},
	}, {
		name: "IPv4-mapped address", reason: "is IPv6, and in no IPv4 prefix",
		snapshot: snapshotOf(cidrs(cidr(x, of("10.0.0.0/24", "fd00::/64"), dying)), "::ffff:10.0.0.7"),
		want:     servicecidr.Deletion{Safe: true, Coverage: coverages{covered("10.0.0.0/24"), covered("fd00::/64")}},
	}, {
		name: "IPv4-mapped prefix", reason: "is IPv6: it covers no IPv4 address",
		snapshot: snapshotOf(cidrs(cidr(x, of("10.0.0.0/24"), dying), cidr("mapped", of("::ffff:10.0.0.0/120"))), "10.0.0.7"),
		want:     servicecidr.Deletion{Coverage: coverages{covered("10.0.0.0/24")}, Orphans: orphans("10.0.0.7")},
	}, {
		name: "an address with a zone", reason: "is in no prefix",
		snapshot: snapshotOf(cidrs(cidr(x, of("fe80::/64"), dying)), "fe80::7%eth0"),
		want:     servicecidr.Deletion{Safe: true, Coverage: coverages{covered("fe80::/64")}},
	}, {
		name: "the same prefix twice", reason: "it does not contain itself, and the address is listed once",
		snapshot: snapshotOf(cidrs(cidr(x, of("10.0.0.0/24", "10.0.0.0/24"), dying)), "10.0.0.7"),
		want:     servicecidr.Deletion{Coverage: coverages{covered("10.0.0.0/24"), covered("10.0.0.0/24")}, Orphans: orphans("10.0.0.7")},
	}, {
		name: "D-1 those being deleted", reason: "only those that go later count",
		snapshot: snapshotOf(cidrs(cidr(x, of("10.0.0.0/24"), dying),
			cidr("earlier", of("10.0.0.0/24"), deletedAt(first)), cidr("same-time-before", of("10.0.0.0/24"), dying),
			cidr("y-same-time-after", of("10.0.0.0/24"), dying), cidr("later", of("10.0.0.0/16"), deletedAt(third)),
			cidr("unprotected", of("10.0.0.0/24"), deletedAt(third), finalizers())), "10.0.0.7"),
		want: servicecidr.Deletion{Safe: true, Coverage: coverages{unreliably(covered("10.0.0.0/24", "later", "y-same-time-after"), "earlier", "same-time-before", "unprotected")}},
	}, {
		name: "D-1 if it were deleted now", reason: "the newest deletion relies on none that is being deleted, not even on one that says it comes later",
		snapshot: snapshotOf(cidrs(cidr(x, of("10.0.0.0/24")),
			cidr("earlier", of("10.0.0.0/24"), deletedAt(first)), cidr("z-same-time", of("10.0.0.0/24"), deletedAt(now)),
			cidr("in-the-future", of("10.0.0.0/24"), deletedAt(now.Add(1e9)))), "10.0.0.7"),
		want: servicecidr.Deletion{Coverage: coverages{unreliably(covered("10.0.0.0/24"), "earlier", "in-the-future", "z-same-time")}, Orphans: orphans("10.0.0.7")},
	}, {
		name: "D-1 if it were deleted now, and another stays", reason: "the one that stays covers",
		snapshot: snapshotOf(cidrs(cidr(x, of("10.0.0.0/24")), cidr("stays", of("10.0.0.0/24"))), "10.0.0.7"),
		want:     servicecidr.Deletion{Safe: true, Coverage: coverages{covered("10.0.0.0/24", "stays")}},
	}, {
		name: "D-25 another one without the finalizer", reason: "it is not being deleted, but nothing here holds it until its finalizer is there",
		snapshot: snapshotOf(cidrs(cidr(x, of("10.0.0.0/24"), dying), cidr("new", of("10.0.0.0/16"), finalizers("example.com/mine"))), "10.0.0.7"),
		want:     servicecidr.Deletion{Coverage: coverages{unreliably(covered("10.0.0.0/24"), "new")}, Orphans: orphans("10.0.0.7")},
	}, {
		name: "D-25 inside", reason: "a prefix inside covers nothing either without the finalizer",
		snapshot: snapshotOf(cidrs(cidr(x, of("10.0.0.0/24")), cidr("new", of("10.0.0.0/25"), finalizers())), "10.0.0.7"),
		want:     servicecidr.Deletion{Coverage: coverages{covered("10.0.0.0/24")}, Orphans: orphans("10.0.0.7")},
	}, {
		name: "D-2 does not parse", reason: "not safe, and the coverage is of what does parse",
		snapshot: snapshotOf(cidrs(cidr(x, of("10.0.0.0/33", "fd00::/64")), cidr("same", of("fd00::/64")))),
		want:     servicecidr.Deletion{Coverage: coverages{covered("fd00::/64", "same")}},
		fails:    `ServiceCIDR x: spec.cidrs[0]: netip.ParsePrefix("10.0.0.0/33"): prefix length out of range`,
	}, {
		name: "two of its name", reason: "which one is meant cannot be known",
		snapshot: snapshotOf(cidrs(cidr(x, of("10.0.0.0/24")), cidr(x, of("10.1.0.0/24")))),
		is:       purekube.ErrDuplicate,
	}, {
		name: "two of a name around it", reason: "neither counts",
		snapshot: snapshotOf(cidrs(cidr(x, of("10.0.0.0/24")), cidr("two", of("10.0.0.0/16")), cidr("two", of("10.0.0.0/16"))), "10.0.0.7"),
		want:     servicecidr.Deletion{Coverage: coverages{covered("10.0.0.0/24")}, Orphans: orphans("10.0.0.7")},
		is:       purekube.ErrDuplicate,
	}, {
		name: "a nil ServiceCIDR", reason: "one more could only cover more, and nothing is in the way; the snapshot is wrong all the same",
		snapshot: snapshotOf(cidrs(nil, cidr(x, of("10.0.0.0/24")))),
		want:     servicecidr.Deletion{Safe: true, Coverage: coverages{covered("10.0.0.0/24")}},
		is:       purekube.ErrNil,
	}, {
		name: "a nil IPAddress", reason: "it may be one more",
		snapshot: servicecidr.Snapshot{ServiceCIDRs: cidrs(cidr(x, of("10.0.0.0/24"))), IPAddresses: []*networkingv1.IPAddress{nil, ip("10.0.0.7")}},
		want:     servicecidr.Deletion{Coverage: coverages{covered("10.0.0.0/24")}, Orphans: orphans("10.0.0.7")},
		is:       purekube.ErrNil,
	}, {
		name: "a managed name that is no address", reason: "it may be one of these",
		snapshot: snapshotOf(cidrs(cidr(x, of("10.0.0.0/24"))), "nonsense"),
		want:     servicecidr.Deletion{Coverage: coverages{covered("10.0.0.0/24")}},
		fails:    `IPAddress nonsense: metadata.name: ParseAddr("nonsense"): unable to parse IP`,
	}} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := servicecidr.NewIndex(tc.snapshot, careful).CheckDeletion(servicecidr.Key(x), 0)
			require.Empty(t, diff(tc.want, got), tc.reason)
			switch {
			case tc.is != nil:
				require.ErrorIs(t, err, tc.is, tc.reason)
			case tc.fails != "":
				require.EqualError(t, err, tc.fails, tc.reason)
			default:
				require.NoError(t, err, tc.reason)
			}
		})
	}
}

func TestCheckDeletion_MatchUpstream(t *testing.T) {
	net := of("10.0.0.0/24")
	for _, tc := range []struct {
		name, reason string
		snapshot     servicecidr.Snapshot
		want         servicecidr.Deletion
	}{{
		name: "D-1 two equal ones", reason: "the other one counts whatever becomes of it",
		snapshot: snapshotOf(cidrs(cidr("x", net, deletedAt(second)), cidr("a", net, deletedAt(first), finalizers()), cidr("b", net, deletedAt(third))), "10.0.0.7"),
		want:     servicecidr.Deletion{Safe: true, Coverage: coverages{covered("10.0.0.0/24", "a", "b")}},
	}, {
		name: "D-2 does not parse", reason: "taken for contained",
		snapshot: snapshotOf(cidrs(cidr("x", of("10.0.0.0/33"))), "10.0.0.7"),
		want:     servicecidr.Deletion{Safe: true},
	}, {
		name: "D-2 one of two does not parse", reason: "the addresses of the other are looked for",
		snapshot: snapshotOf(cidrs(cidr("x", of("10.0.0.0/33", "10.0.0.0/24"))), "10.0.0.7"),
		want:     servicecidr.Deletion{Coverage: coverages{covered("10.0.0.0/24")}, Orphans: orphans("10.0.0.7")},
	}, {
		name: "D-2 leading zeros", reason: "do not parse, but upstream sees IPv4 in them: an address of that label counts, one without family does not",
		snapshot: servicecidr.Snapshot{ServiceCIDRs: cidrs(cidr("x", of("10.00.0.0/24", "fd00::/64"))), IPAddresses: []*networkingv1.IPAddress{
			labelled("fd00::4", map[string]string{networkingv1.LabelManagedBy: "ipallocator.k8s.io", networkingv1.LabelIPAddressFamily: "IPv4"}),
			labelled("fd00::5", map[string]string{networkingv1.LabelManagedBy: "ipallocator.k8s.io", networkingv1.LabelIPAddressFamily: ""}),
		}},
		want: servicecidr.Deletion{Coverage: coverages{covered("fd00::/64")}, Orphans: orphans("fd00::4")},
	}, {
		name: "D-2 no family at all", reason: "an address that is labelled with the empty family counts then, and one without that label does not",
		snapshot: servicecidr.Snapshot{ServiceCIDRs: cidrs(cidr("x", of("10.0.0.0/33", "fd00::/64"))), IPAddresses: []*networkingv1.IPAddress{
			labelled("fd00::6", map[string]string{networkingv1.LabelManagedBy: "ipallocator.k8s.io"}),
			labelled("fd00::4", map[string]string{networkingv1.LabelManagedBy: "ipallocator.k8s.io", networkingv1.LabelIPAddressFamily: "IPv4"}),
			labelled("fd00::5", map[string]string{networkingv1.LabelManagedBy: "ipallocator.k8s.io", networkingv1.LabelIPAddressFamily: ""}),
		}},
		want: servicecidr.Deletion{Coverage: coverages{covered("fd00::/64")}, Orphans: orphans("fd00::5")},
	}, {
		name: "two overlapping prefixes of its own", reason: "upstream counts the one for the other",
		snapshot: snapshotOf(cidrs(cidr("x", of("10.0.0.0/24", "10.0.0.0/16"))), "10.0.0.7", "10.0.1.7"),
		want:     servicecidr.Deletion{Coverage: coverages{covered("10.0.0.0/24", "x"), covered("10.0.0.0/16")}, Orphans: orphans("10.0.1.7")},
	}, {
		name: "in use", reason: "no divergence",
		snapshot: snapshotOf(cidrs(cidr("x", net)), "10.0.0.7"),
		want:     servicecidr.Deletion{Coverage: coverages{covered("10.0.0.0/24")}, Orphans: orphans("10.0.0.7")},
	}} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := servicecidr.NewIndex(tc.snapshot, upstream).CheckDeletion(servicecidr.Key("x"), 0)
			require.NoError(t, err)
			require.Empty(t, diff(tc.want, got), tc.reason)
		})
	}
}
