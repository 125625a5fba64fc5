package clientgo

import (
	"context"
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/pager"

	"github.com/purekube/purekube/servicecidr"
)

// pageOfAList is how many objects one request of a list is for.
const pageOfAList = 500

// ListServiceCIDRs returns a function that lists all ServiceCIDRs and IPAddresses of a cluster, past every cache. Its
// Snapshot has nothing else. An error of the API server, an expired list and the end of the context are errors: then there
// is no Snapshot, since an object that is missing from a list would count as gone.
func ListServiceCIDRs(client kubernetes.Interface) func(context.Context) (servicecidr.Snapshot, error) {
	return func(ctx context.Context) (s servicecidr.Snapshot, err error) {
		if client == nil {
			return s, errNoClient
		}
		networking := client.NetworkingV1()
		// The addresses come first: what they are in is newer than they are. From the end of a grace period on, the addresses
		// of a ServiceCIDR only go, unless another one contains them, too. So an old address is in the way of a deletion, and
		// an old ServiceCIDR could be gone while a plan relies on it. The addresses are the longer list by far.
		if s.IPAddresses, err = listAll[networkingv1.IPAddress](ctx, networking.IPAddresses().List); err != nil {
			return servicecidr.Snapshot{}, fmt.Errorf("list IPAddresses: %w", err)
		}
		if s.ServiceCIDRs, err = listAll[networkingv1.ServiceCIDR](ctx, networking.ServiceCIDRs().List); err != nil {
			return servicecidr.Snapshot{}, fmt.Errorf("list ServiceCIDRs: %w", err)
		}
		return s, nil
	}
}

// listAll lists all objects of a kind as they are now, in pages. All pages show the moment of the first one. It does not
// begin again with a list of another moment where that one has expired.
func listAll[T any, P interface {
	*T
	runtime.Object
}, L runtime.Object](ctx context.Context, list func(context.Context, metav1.ListOptions) (L, error)) (all []P, err error) {
	pages := pager.ListPager{PageSize: pageOfAList, PageFn: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return list(ctx, o)
	}}
	// Without a resourceVersion, a list is of now.
	err = pages.EachListItem(ctx, metav1.ListOptions{}, func(o runtime.Object) error {
		_, _ = trim(o) // which has no error
		all = append(all, o.(P))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}
