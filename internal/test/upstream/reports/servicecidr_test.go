package reports

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/kubernetes/pkg/controller/servicecidrs"
)

// With the defect fixed, the last list has a ServiceCIDR: canDeleteCIDR does not count on one that is being deleted.
func TestServiceCIDRsDeletedTogether(t *testing.T) {
	deleted := func(name, cidr string) *networkingv1.ServiceCIDR {
		now := metav1.Now()
		return &networkingv1.ServiceCIDR{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, DeletionTimestamp: &now, Finalizers: []string{servicecidrs.ServiceCIDRProtectionFinalizer},
			},
			Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{cidr}},
		}
	}
	for name, cidrs := range map[string][2]string{
		"the same range":       {"10.97.0.0/24", "10.97.0.0/24"},
		"one inside the other": {"10.97.0.0/24", "10.97.0.0/16"},
	} {
		t.Run(name, func(t *testing.T) {
			expectDefect(t, "D-1.md", func(t *testing.T) error {
				address := &networkingv1.IPAddress{ObjectMeta: metav1.ObjectMeta{Name: "10.97.0.7", Labels: map[string]string{
					networkingv1.LabelIPAddressFamily: "IPv4", networkingv1.LabelManagedBy: "ipallocator.k8s.io",
				}}}
				address.Spec.ParentRef = &networkingv1.ParentReference{Resource: "services", Namespace: "default", Name: "web"}
				client := newCluster(t, nil, deleted("first", cidrs[0]), deleted("second", cidrs[1]), address)
				start(t, client, func(ctx context.Context, f informers.SharedInformerFactory) func(context.Context) {
					networking := f.Networking().V1()
					c := servicecidrs.NewController(ctx, networking.ServiceCIDRs(), networking.IPAddresses(), client)
					return func(ctx context.Context) { c.Run(ctx, 5) }
				})

				time.Sleep(time.Minute)
				left, err := client.NetworkingV1().ServiceCIDRs().List(t.Context(), metav1.ListOptions{})
				require.NoError(t, err)
				if len(left.Items) == 0 {
					return errors.New("10.97.0.7 belongs to a Service, and no ServiceCIDR contains it")
				}
				return nil
			})
		})
	}
}
