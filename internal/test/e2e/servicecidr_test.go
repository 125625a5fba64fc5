package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube/servicecidr"
)

// deletion is how long a test waits for a ServiceCIDR to go. A watch shows once a minute that nothing is new, and a look
// at the API server that fails costs another of these minutes.
const deletion = 2 * patience

// ServiceCIDR stories: BR-31-01 … BR-31-05 as the API server shows them.
func init() {
	stories["servicecidr held by an address"] = addressHoldsServiceCIDR
	stories["servicecidr twins"] = twinServiceCIDRs
	stories["servicecidr made again"] = serviceCIDRMadeAgain
}

// A ServiceCIDR gets its finalizer and Ready, serves addresses, stays while one of them lives, and goes
// once it is gone and the grace period over.
func addressHoldsServiceCIDR(t *testing.T, w *world) {
	ns := w.namespace(t, "held")
	w.createServiceCIDR(t, "held", "10.20.0.0/28")
	w.createService(t, ns, "service", "10.20.0.5")

	require.NoError(t, w.NetworkingV1().ServiceCIDRs().Delete(t.Context(), "held", metav1.DeleteOptions{}))
	w.disturb()
	eventually(t, patience, "Terminating", w.serviceCIDRIs("held", metav1.ConditionFalse, networkingv1.ServiceCIDRReasonTerminating))
	throughout(t, servicecidr.DeletionGracePeriod+2*time.Second, "held by its address", func(ctx context.Context) error {
		_, err := w.NetworkingV1().ServiceCIDRs().Get(ctx, "held", metav1.GetOptions{})
		return err
	})
	w.disturb()
	require.NoError(t, w.CoreV1().Services(ns).Delete(t.Context(), "service", metav1.DeleteOptions{}))
	eventually(t, deletion, "gone with its address", w.noServiceCIDR("held"))
}

// Of two ServiceCIDRs of one range, both deleted, the last stays while an address lives (D-1).
func twinServiceCIDRs(t *testing.T, w *world) {
	ns := w.namespace(t, "twins")
	w.createServiceCIDR(t, "twin-a", "10.21.0.0/28")
	w.createServiceCIDR(t, "twin-b", "10.21.0.0/28")
	w.createService(t, ns, "service", "10.21.0.5")

	cidrs := w.NetworkingV1().ServiceCIDRs()
	require.NoError(t, cidrs.Delete(t.Context(), "twin-a", metav1.DeleteOptions{}))
	require.NoError(t, cidrs.Delete(t.Context(), "twin-b", metav1.DeleteOptions{}))
	w.disturb()
	left := func(ctx context.Context) (n int, err error) {
		for _, name := range []string{"twin-a", "twin-b"} {
			_, err := cidrs.Get(ctx, name, metav1.GetOptions{})
			if err == nil {
				n++
			} else if !apierrors.IsNotFound(err) {
				return 0, err
			}
		}
		return n, nil
	}
	one := func(ctx context.Context) error {
		n, err := left(ctx)
		return errors.Join(err, expect("number of twins left", 1, n))
	}
	eventually(t, deletion, "one of the twins goes", one)
	throughout(t, 12*time.Second, "the last one stays", one)
	w.disturb()
	require.NoError(t, w.CoreV1().Services(ns).Delete(t.Context(), "service", metav1.DeleteOptions{}))
	eventually(t, deletion, "the last one goes", func(ctx context.Context) error {
		n, err := left(ctx)
		return errors.Join(err, expect("number of twins left", 0, n))
	})
}

// A ServiceCIDR that is made again under its name starts anew.
func serviceCIDRMadeAgain(t *testing.T, w *world) {
	w.createServiceCIDR(t, "again", "10.22.0.0/28")
	require.NoError(t, w.NetworkingV1().ServiceCIDRs().Delete(t.Context(), "again", metav1.DeleteOptions{}))
	w.disturb()
	eventually(t, deletion, "the first one goes", w.noServiceCIDR("again"))
	w.createServiceCIDR(t, "again", "10.22.0.0/28")
	w.disturb()
	throughout(t, servicecidr.DeletionGracePeriod+2*time.Second, "the second one stays", w.serviceCIDRIs("again", metav1.ConditionTrue, ""))
	require.NoError(t, w.NetworkingV1().ServiceCIDRs().Delete(t.Context(), "again", metav1.DeleteOptions{}))
	eventually(t, deletion, "the second one goes", w.noServiceCIDR("again"))
}

// createServiceCIDR returns when the ServiceCIDR is ready.
func (w *world) createServiceCIDR(t *testing.T, name, cidr string) {
	t.Helper()
	eventually(t, patience, "create ServiceCIDR "+name, func(ctx context.Context) error {
		_, err := w.NetworkingV1().ServiceCIDRs().Create(ctx, &networkingv1.ServiceCIDR{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{cidr}},
		}, metav1.CreateOptions{})
		return err
	})
	w.disturb()
	eventually(t, patience, "ServiceCIDR "+name+" is ready", w.serviceCIDRIs(name, metav1.ConditionTrue, ""))
}

func (w *world) serviceCIDRIs(name string, ready metav1.ConditionStatus, reason string) func(context.Context) error {
	return func(ctx context.Context) error {
		c, err := w.NetworkingV1().ServiceCIDRs().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if !slices.Contains(c.Finalizers, servicecidr.Finalizer) {
			return fmt.Errorf("no finalizer: %v", c.Finalizers)
		}
		condition := meta.FindStatusCondition(c.Status.Conditions, networkingv1.ServiceCIDRConditionReady)
		if condition == nil {
			return errors.New("no condition Ready")
		}
		return errors.Join(expect("Ready", ready, condition.Status), expect("the reason", reason, condition.Reason))
	}
}

func (w *world) noServiceCIDR(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := w.NetworkingV1().ServiceCIDRs().Get(ctx, name, metav1.GetOptions{})
		return missing(err)
	}
}

// missing is nil if the error says that there is no such object.
func missing(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil {
		return errors.New("it is there")
	}
	return err
}

// createService makes a Service with that address. The API server's allocator learns of a new ServiceCIDR
// from a watch, so it may take a moment.
func (w *world) createService(t *testing.T, ns, name, address string) {
	t.Helper()
	eventually(t, patience, "a Service gets "+address, func(ctx context.Context) error {
		_, err := w.CoreV1().Services(ns).Create(ctx, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       corev1.ServiceSpec{ClusterIP: address, Ports: []corev1.ServicePort{{Port: 80}}},
		}, metav1.CreateOptions{})
		return err
	})
	_, err := w.NetworkingV1().IPAddresses().Get(t.Context(), address, metav1.GetOptions{})
	require.NoError(t, err)
}
