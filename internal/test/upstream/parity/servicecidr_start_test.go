package parity

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/controller/servicecidrs"
)

// startServiceCIDR builds the real controller. Its errors come to light after fifteen tries
// only, so that there are none in a trace.
func startServiceCIDR(ctx context.Context, w *World) (func(context.Context), error) {
	networking := w.Informers.Networking().V1()
	c := servicecidrs.NewController(ctx, networking.ServiceCIDRs(), networking.IPAddresses(), w.Client)
	return func(ctx context.Context) { c.Run(ctx, w.Workers) }, nil
}

func TestServiceCIDRStarts(t *testing.T) {
	cidr := &networkingv1.ServiceCIDR{
		ObjectMeta: metav1.ObjectMeta{Name: "a"},
		Spec:       networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.0.0.0/24"}},
	}
	Run(t, []runtime.Object{cidr}, startServiceCIDR, func(t *testing.T, w *World) {
		require.Equal(t, `patch servicecidrs a (application/strategic-merge-patch+json): {"metadata":{"finalizers":["networking.k8s.io/service-cidr-finalizer"]}}
apply servicecidrs/status a by service-cidr-controller with force: {"apiVersion":"networking.k8s.io/v1","kind":"ServiceCIDR","metadata":{"name":"a"},"status":{"conditions":[{"lastTransitionTime":"2000-01-01T00:00:00Z","message":"Kubernetes Service CIDR is ready","reason":"","status":"True","type":"Ready"}]}}`,
			w.Settle().String())
	})
}
