package servicecidr_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/servicecidr"
)

func TestExplain(t *testing.T) {
	const x = "x"
	net := of("10.0.0.0/24")
	dying := deletedAt(second)
	for _, tc := range []struct {
		name, reason string
		snapshot     servicecidr.Snapshot
		o            servicecidr.Options
		want         []string // code, field, object
	}{
		{"BR-31-01 not protected", "the plan adds the finalizer and the condition", snapshotOf(cidrs(cidr(x, net, finalizers(), conditions()))), careful,
			[]string{"Unprotected metadata.finalizers", "ConditionDiffers status.conditions", "NoAddresses spec.cidrs[0]"}},
		{"at rest", "nothing to write", snapshotOf(cidrs(cidr(x, net))), careful, []string{"UpToDate", "NoAddresses spec.cidrs[0]"}},
		{"BR-31-02 in use", "the first address is named", snapshotOf(cidrs(cidr(x, net, dying)), "10.0.0.9", "10.0.0.7"), careful,
			[]string{"Blocked", "ConditionDiffers status.conditions", "AddressesOrphaned spec.cidrs[0] 10.0.0.7"}},
		{"BR-31-02 in use and said so", "the condition is there", snapshotOf(cidrs(cidr(x, net, dying, conditions(terminating(longAgo)))), "10.0.0.7"), careful,
			[]string{"Blocked", "AddressesOrphaned spec.cidrs[0] 10.0.0.7"}},
		{"BR-31-03", "the grace period is not over", snapshotOf(cidrs(cidr(x, net, deletedAt(now)))), careful,
			[]string{"GracePeriod metadata.deletionTimestamp", "NoAddresses spec.cidrs[0]"}},
		{"removable", "the grace period is over", snapshotOf(cidrs(cidr(x, net, dying))), careful, []string{"Removable metadata.finalizers", "NoAddresses spec.cidrs[0]"}},
		{"released", "others' finalizers hold it", snapshotOf(cidrs(cidr(x, net, dying, finalizers("a")))), careful, []string{"Released metadata.finalizers", "NoAddresses spec.cidrs[0]"}},
		{"BR-31-05", "each prefix has its own cover", snapshotOf(cidrs(cidr(x, of("10.0.0.0/24", "fd00::/112"), dying), cidr("six", of("fd00::/64")), cidr("four", of("10.0.0.0/8")), cidr("same", net)), "10.0.0.7"), careful,
			[]string{"Removable metadata.finalizers", "Contained spec.cidrs[0] four", "Contained spec.cidrs[0] same", "Contained spec.cidrs[1] six"}},
		{"D-1", "one that goes first does not count", snapshotOf(cidrs(cidr(x, net, dying), cidr("a", net, deletedAt(first))), "10.0.0.7"), careful,
			[]string{"Blocked", "ConditionDiffers status.conditions", "ContainedByDeleting spec.cidrs[0] a", "AddressesOrphaned spec.cidrs[0] 10.0.0.7"}},
		{"D-1 upstream", "it does", snapshotOf(cidrs(cidr(x, net, dying), cidr("a", net, deletedAt(first))), "10.0.0.7"), upstream,
			[]string{"Removable metadata.finalizers", "Contained spec.cidrs[0] a"}},
		{"D-25", "one without the finalizer does not count", snapshotOf(cidrs(cidr(x, net, dying), cidr("a", net, finalizers())), "10.0.0.7"), careful,
			[]string{"Blocked", "ConditionDiffers status.conditions", "ContainedByUnprotected spec.cidrs[0] a", "AddressesOrphaned spec.cidrs[0] 10.0.0.7"}},
		{"in part", "a prefix inside covers some", snapshotOf(cidrs(cidr(x, net, dying), cidr("low", of("10.0.0.0/25")), cidr("tiny", of("10.0.0.2/31"))), "10.0.0.7"), careful,
			[]string{"Removable metadata.finalizers", "ContainedInPart spec.cidrs[0] low", "NoAddresses spec.cidrs[0]"}},
		{"D-2", "what does not parse may be anything", snapshotOf(cidrs(cidr(x, of("nonsense", "10.0.0.0/24"), dying))), careful,
			[]string{"Uncertain", "Unparsable spec.cidrs[0]", "NoAddresses spec.cidrs[1]"}},
		{"D-2 empty", "no prefix at all", snapshotOf(cidrs(cidr(x, nil, dying))), careful, []string{"Uncertain", "Unparsable spec.cidrs"}},
		{"unknown addresses", "they may be its own", servicecidr.Snapshot{Now: now, ServiceCIDRs: cidrs(cidr(x, net, dying)), IPAddresses: []*networkingv1.IPAddress{ip("zero"), nil}}, careful,
			[]string{"Uncertain", "NoAddresses spec.cidrs[0]", "AddressUnknown", "AddressUnknown zero"}},
		{"a duplicate around it", "one of the two may be the cover", snapshotOf(cidrs(cidr(x, net, dying), cidr("two", net), cidr("two", net)), "10.0.0.7"), careful,
			[]string{"Blocked", "ConditionDiffers status.conditions", "AddressesOrphaned spec.cidrs[0] 10.0.0.7", "Duplicate two"}},
		{"a duplicate beside a cover", "the cover counts", snapshotOf(cidrs(cidr(x, net, dying), cidr("two", net), cidr("two", net), cidr("wide", of("10.0.0.0/16"))), "10.0.0.7"), careful,
			[]string{"Removable metadata.finalizers", "Contained spec.cidrs[0] wide"}},
		{"a cover with a second prefix", "the first one contains it all", snapshotOf(cidrs(cidr(x, net, dying), cidr("wide", of("10.0.0.0/16", "10.0.0.0/28"))), "10.0.0.77"), careful,
			[]string{"Removable metadata.finalizers", "Contained spec.cidrs[0] wide"}},
		{"a nil ServiceCIDR", "an error, as everywhere", snapshotOf(cidrs(cidr(x, net), nil)), careful, []string{"UpToDate", "NoAddresses spec.cidrs[0]"}},
		{"a duplicate", "nothing is decided", snapshotOf(cidrs(cidr(x, net), cidr(x, net))), careful, []string{"Duplicate x"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e, err := servicecidr.NewIndex(tc.snapshot, tc.o).Explain(servicecidr.Key(x))
			require.Equal(t, servicecidr.Key(x), e.Key)
			var got []string
			for _, r := range e.Reasons {
				text := string(r.Code)
				for _, more := range []string{r.Field, r.Object.Name} {
					if more != "" {
						text += " " + more
					}
				}
				got = append(got, text)
				require.NotEmpty(t, r.Message)
				require.Equal(t, r.Object.Name == "", r.Object == purekube.Key{}, "there is another object, or there is none: %s", r)
			}
			require.Equal(t, tc.want, got, tc.reason)
			d, checkErr := servicecidr.NewIndex(tc.snapshot, tc.o).CheckDeletion(servicecidr.Key(x), 0)
			require.Empty(t, diff(d, e.Deletion))
			require.Equal(t, problemsOf(t, checkErr), problemsOf(t, err))
		})
	}
}

func TestExplainSentences(t *testing.T) {
	net := of("10.0.0.0/24")
	const noAddress = "spec.cidrs[0]: no address of 10.0.0.0/24 would be orphaned"
	for _, tc := range []struct {
		name, reason string
		snapshot     servicecidr.Snapshot
		want         []string
	}{
		{"not protected", "it is to be Ready", snapshotOf(cidrs(cidr("x", net, finalizers(), conditions()))), []string{
			"metadata.finalizers: the finalizer networking.k8s.io/service-cidr-finalizer is missing: the ServiceCIDR can be deleted while it is in use",
			"status.conditions: the condition Ready=True is missing or different", noAddress}},
		{"in use", "it is to be Ready no longer; each entry has its own addresses",
			snapshotOf(cidrs(cidr("x", of("10.0.0.0/24", "10.0.1.0/24"), deletedAt(longAgo))), "10.0.0.7", "10.0.1.7", "10.0.1.8"), []string{
				"3 addresses would be orphaned", "status.conditions: the condition Ready=False is missing or different",
				"spec.cidrs[0]: 1 address would be orphaned: 10.0.0.7 (Service shop/s-10.0.0.7)",
				"spec.cidrs[1]: 2 addresses would be orphaned: 10.0.1.7 (Service shop/s-10.0.1.7), 10.0.1.8 (Service shop/s-10.0.1.8)"}},
		{"the grace period", "its end", snapshotOf(cidrs(cidr("x", net, deletedAt(now)))), []string{
			"metadata.deletionTimestamp: no address blocks the deletion; the grace period ends at 2026-11-21T01:11:40Z", noAddress}},
		{"a deletion without a record", "its end is not known",
			servicecidr.Snapshot{Now: now, ServiceCIDRs: cidrs(cidr("x", net, deletedAt(now))), DeletionSeen: sightings{}}, []string{
				"metadata.deletionTimestamp: no address blocks the deletion; the grace period begins when Snapshot.DeletionSeen has an entry for it",
				noAddress}},
		{"unreadable addresses", "each with what is wrong with it", servicecidr.Snapshot{Now: now,
			ServiceCIDRs: cidrs(cidr("x", net, deletedAt(longAgo))), IPAddresses: []*networkingv1.IPAddress{ip("zero"), nil}}, []string{
			"no address is known to block the deletion, but some objects could not be read: the finalizer stays", noAddress,
			"an IPAddress is nil: it may be an address of this ServiceCIDR",
			`the name of the IPAddress "zero" is not an address: it may be an address of this ServiceCIDR`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e, _ := servicecidr.NewIndex(tc.snapshot, careful).Explain(servicecidr.Key("x"))
			var got []string
			for _, r := range e.Reasons {
				got = append(got, r.String())
			}
			require.Equal(t, tc.want, got, tc.reason)
		})
	}
}

func TestExplainNamesTwentyAddresses(t *testing.T) {
	s := snapshotOf(cidrs(cidr("x", of("10.0.0.0/24"), deletedAt(now))))
	for i := range 25 {
		s.IPAddresses = append(s.IPAddresses, ip(addressAt(netip.MustParseAddr("10.0.0.1"), i).String()))
	}
	s.IPAddresses[0].Spec.ParentRef = nil
	s.IPAddresses[1].Spec.ParentRef = &networkingv1.ParentReference{Group: "example.com", Resource: "gateways", Name: "g"}
	e, err := servicecidr.NewIndex(s, careful).Explain(servicecidr.Key("x"))
	require.NoError(t, err)
	require.Contains(t, e.Reasons[2].Message, "25 addresses would be orphaned: 10.0.0.1, 10.0.0.2 (gateways.example.com g), 10.0.0.3 (Service shop/s-10.0.0.3), ")
	require.Contains(t, e.Reasons[2].Message, ", 10.0.0.20 (Service shop/s-10.0.0.20), and 5 more")
	require.Len(t, e.Deletion.Orphans, 25, "the data has them all")

	s.IPAddresses = s.IPAddresses[:21]
	e, err = servicecidr.NewIndex(s, careful).Explain(servicecidr.Key("x"))
	require.NoError(t, err)
	require.Contains(t, e.Reasons[2].Message, ", 10.0.0.20 (Service shop/s-10.0.0.20), and 1 more")
}

func TestExplain_NotFound(t *testing.T) {
	e, err := servicecidr.NewIndex(snapshotOf(nil), careful).Explain(servicecidr.Key("x"))
	require.ErrorIs(t, err, purekube.ErrNotFound)
	require.Empty(t, e)
}

func TestOrphan_Service(t *testing.T) {
	for _, tc := range []struct {
		name, reason string
		parent       networkingv1.ParentReference
		want         string
		is           bool
	}{
		{"a Service", "the core group, resource services", networkingv1.ParentReference{Resource: "services", Namespace: "n", Name: "s"}, "n/s", true},
		{"another group", "not the Services of the core group", networkingv1.ParentReference{Group: "g", Resource: "services", Namespace: "n", Name: "s"}, "/", false},
		{"another resource", "no Service", networkingv1.ParentReference{Resource: "gateways", Name: "s"}, "/", false},
		{"none", "the IPAddress names no parent", networkingv1.ParentReference{}, "/", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			service, is := servicecidr.Orphan{Parent: tc.parent}.Service()
			require.Equal(t, tc.is, is, tc.reason)
			require.Equal(t, tc.want, service.String(), tc.reason)
		})
	}
}
