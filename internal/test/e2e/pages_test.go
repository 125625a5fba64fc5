package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube/clientgo"
	"github.com/purekube/purekube/internal/test/e2e/cluster"
)

// All pages of a list of a real API server are of one moment, and have its resourceVersion, while objects come and go: a
// list whose pages differ is an error of the confirmation and of the command.
func TestListsInPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	addresses := w.NetworkingV1().IPAddresses()
	create := func(ctx context.Context, i int) error {
		_, err := addresses.Create(ctx, &networkingv1.IPAddress{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("10.9.%d.%d", i/250, i%250)},
			Spec:       networkingv1.IPAddressSpec{ParentRef: &networkingv1.ParentReference{Resource: "services", Namespace: "shop", Name: fmt.Sprint("s", i)}},
		}, metav1.CreateOptions{})
		return err
	}
	const kept, moving = 1100, 1200
	var creators sync.WaitGroup
	for worker := range 8 {
		creators.Go(func() {
			for i := worker; i < kept; i += 8 {
				if err := create(t.Context(), i); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	creators.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	var changes sync.WaitGroup
	changes.Go(func() {
		for i := kept; ctx.Err() == nil; i = kept + (i+1-kept)%(moving-kept) {
			_ = create(ctx, i)
			_ = addresses.Delete(ctx, fmt.Sprintf("10.9.%d.%d", i/250, i%250), metav1.DeleteOptions{})
		}
	})
	defer changes.Wait()
	defer cancel()

	for range 20 {
		s, err := clientgo.ListServiceCIDRs(w.Clientset)(t.Context())
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(s.IPAddresses), kept)
		time.Sleep(50 * time.Millisecond)
	}
	admin, err := w.Kubeconfig(cluster.Admin, w.Endpoint())
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), w.buildCommand(t), "plan", "--core", "servicecidr")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+admin)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Regexp(t, `and 1[12]\d\d addresses`, string(out))
}
