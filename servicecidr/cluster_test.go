package servicecidr_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"

	"github.com/purekube/purekube/servicecidr"
)

// A real cluster, in which narrow lies in wide, solo is in use, and the equal twin-a and twin-b are too.
func TestARealCluster(t *testing.T) {
	s := readCluster(t, "testdata/drift.yaml")
	s.Now = time.Date(2026, 11, 21, 1, 11, 16, 0, time.UTC)
	require.Equal(t, []string{
		"narrow [] 01:11:17",
		"solo [SetCondition solo: Ready=False Terminating]",
		"twin-a [] 01:11:17",
		"twin-b [SetCondition twin-b: Ready=False Terminating]",
	}, described(planAll(s, careful)), "within the grace period")

	s.Now = s.Now.Add(time.Second)
	require.Equal(t, []string{
		"narrow [RemoveFinalizer narrow]",
		"solo [SetCondition solo: Ready=False Terminating]",
		"twin-a [RemoveFinalizer twin-a]",
		"twin-b [SetCondition twin-b: Ready=False Terminating]",
	}, described(planAll(s, careful)), "after it")
	require.Equal(t, []string{
		"narrow [RemoveFinalizer narrow]",
		"solo [SetCondition solo: Ready=False Terminating]",
		"twin-a [RemoveFinalizer twin-a]",
		"twin-b [RemoveFinalizer twin-b]",
	}, described(planAll(s, upstream)), "D-1: upstream lets both equal ones go")

	d, err := servicecidr.NewIndex(s, careful).CheckDeletion(servicecidr.Key("solo"), 0)
	require.NoError(t, err)
	require.Empty(t, diff(servicecidr.Deletion{
		Coverage: coverages{covered("10.60.0.0/24")},
		Orphans: []servicecidr.Orphan{
			{Address: netip.MustParseAddr("10.60.0.10"), IPAddress: "10.60.0.10", Parent: networkingv1.ParentReference{Resource: "services", Namespace: "shop", Name: "solo-1"}},
			{Address: netip.MustParseAddr("10.60.0.11"), IPAddress: "10.60.0.11", Parent: networkingv1.ParentReference{Resource: "services", Namespace: "shop", Name: "solo-2"}},
		},
	}, d))
}

func described(outcomes []servicecidr.Outcome) (lines []string) {
	for _, o := range outcomes {
		line := fmt.Sprint(o.Key.Name, " ", o.Result.Actions)
		if !o.Result.RecheckAt.IsZero() {
			line += o.Result.RecheckAt.UTC().Format(" 15:04:05")
		}
		lines = append(lines, line)
	}
	return lines
}

func readCluster(t *testing.T, path string) (s servicecidr.Snapshot) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var list struct{ Items []json.RawMessage }
	require.NoError(t, yaml.Unmarshal(text, &list))
	for _, item := range list.Items {
		var kind struct{ Kind string }
		require.NoError(t, json.Unmarshal(item, &kind))
		switch kind.Kind {
		case "ServiceCIDR":
			c := &networkingv1.ServiceCIDR{}
			require.NoError(t, json.Unmarshal(item, c))
			s.ServiceCIDRs = append(s.ServiceCIDRs, c)
		case "IPAddress":
			a := &networkingv1.IPAddress{}
			require.NoError(t, json.Unmarshal(item, a))
			s.IPAddresses = append(s.IPAddresses, a)
		}
	}
	require.Len(t, s.ServiceCIDRs, 6)
	require.Len(t, s.IPAddresses, 6)
	return s
}
