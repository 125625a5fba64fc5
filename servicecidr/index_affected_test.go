package servicecidr_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/indextest"
	"github.com/purekube/purekube/servicecidr"
)

// unnamedOutcome is what differs between two indexes and is not named.
func unnamedOutcome(x, next *servicecidr.Index, affected []purekube.Key) string {
	before, _ := x.PlanAll()
	after, _ := next.PlanAll()
	return indextest.Unnamed(before, after, affected, cmpopts.IgnoreFields(metav1.Condition{}, "LastTransitionTime"))
}

// Random changes, with nil objects, ServiceCIDRs without a name and up to three of one name, and with time that
// passes: a key that is not named has the same outcome before and after.
func TestIndexNamesEveryChangedOutcome(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 42))
		n := nasty{specs: seed%2 == 0, objects: seed%4 == 0}
		s := randomSnapshot(r, n)
		x := servicecidr.NewIndex(s, careful)
		for range 12 {
			changed := someChange(r, s, n)
			for _, bad := range []*networkingv1.ServiceCIDR{nil, cidr("", of("10.0.0.0/22")), cidr("a", of("10.0.0.0/23")), cidr("a", nil)} {
				if r.IntN(5) == 0 {
					changed.ServiceCIDRs = append(changed.ServiceCIDRs, bad)
				}
			}
			if r.IntN(5) == 0 {
				changed.IPAddresses = append(changed.IPAddresses, nil)
			}
			if r.IntN(4) == 0 {
				s.Now = s.Now.Add(time.Duration(r.IntN(20)-5) * time.Second)
				changed.Now = s.Now
			}
			change := x.With
			if r.IntN(3) == 0 {
				change = x.Without
			}
			next, affected := change(changed)
			require.Empty(t, unnamedOutcome(x, next, affected), "seed %d, %+v", seed, changed)
			x = next
		}
		_, affected := x.With(servicecidr.Snapshot{ServiceCIDRs: cidrs(nil, cidr("", of("10.0.0.0/22")))})
		require.Empty(t, affected, "they are no key's")
	}
}
