package clientgo

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/pager"

	"github.com/purekube/purekube/rbacaggregate"
	"github.com/purekube/purekube/servicecidr"
)

const (
	// pageOfAList is how many objects one request of a list is for.
	pageOfAList = 500
	// anyPages: a list may have any number of pages.
	anyPages = -1
)

var (
	errTooLong  = errors.New("too many objects")
	errNotAList = errors.New("the answer is no list of an API server: it has no resourceVersion")
	errEndless  = errors.New("the answer is no page of a list: the next page would be the same")
	errMoments  = errors.New("the list changed between two pages")
)

// ListServiceCIDRs returns a function that lists all ServiceCIDRs and IPAddresses of a cluster, past every cache. Its
// Snapshot has nothing else. An error of the API server, an expired list, an answer without a resourceVersion and the
// end of the context are errors: then there is no Snapshot, since an object that is missing from a list would count as
// gone. For tests, package fake makes lists with a resourceVersion; client-go's own fake does not.
func ListServiceCIDRs(client kubernetes.Interface) func(context.Context) (servicecidr.Snapshot, error) {
	return func(ctx context.Context) (servicecidr.Snapshot, error) {
		if client == nil {
			return servicecidr.Snapshot{}, errNoClient
		}
		return listServiceCIDRs(ctx, client, anyPages)
	}
}

func listServiceCIDRs(ctx context.Context, client kubernetes.Interface, pages int) (s servicecidr.Snapshot, err error) {
	networking := client.NetworkingV1()
	// The addresses come first, so that the list of ServiceCIDRs is the newer one. After the grace period of a
	// ServiceCIDR, no Service gets an address of it, unless another ServiceCIDR contains the address, too. So an old list
	// of addresses only blocks a deletion, while a ServiceCIDR of an old list may be gone although a plan relies on it.
	// The list of addresses is the longer one by far.
	if s.IPAddresses, err = listAll[networkingv1.IPAddress](ctx, pages, networking.IPAddresses().List); err != nil {
		return servicecidr.Snapshot{}, fmt.Errorf("list IPAddresses: %w", err)
	}
	if s.ServiceCIDRs, err = listAll[networkingv1.ServiceCIDR](ctx, pages, networking.ServiceCIDRs().List); err != nil {
		return servicecidr.Snapshot{}, fmt.Errorf("list ServiceCIDRs: %w", err)
	}
	return s, nil
}

func listClusterRoles(
	ctx context.Context, client kubernetes.Interface, pages int,
) (s rbacaggregate.Snapshot, err error) {
	if s.ClusterRoles, err = listAll[rbacv1.ClusterRole](ctx, pages, client.RbacV1().ClusterRoles().List); err != nil {
		return rbacaggregate.Snapshot{}, fmt.Errorf("list ClusterRoles: %w", err)
	}
	return s, nil
}

// listAll lists all objects of a kind as they are now, in at most that many pages. All pages show the objects at the
// moment of the first page. If the API server no longer has that moment, listAll fails, and does not begin again with
// another one.
func listAll[T any, P interface {
	*T
	runtime.Object
}, L runtime.Object](ctx context.Context, most int, list func(context.Context, metav1.ListOptions) (L, error)) (all []P,
	err error) {
	asked, version := 0, ""
	pages := pager.ListPager{PageSize: pageOfAList,
		PageFn: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			if asked == most {
				return nil, fmt.Errorf("%w: more than %d", errTooLong, most*pageOfAList)
			}
			asked++
			page, err := list(ctx, o)
			if err != nil {
				return nil, err
			}
			// Client-go takes an answer of another kind for an empty list, for example the answer of a proxy.
			of, err := meta.ListAccessor(page)
			if err != nil || of.GetResourceVersion() == "" {
				return nil, errNotAList
			}
			if o.Continue != "" && of.GetContinue() == o.Continue {
				return nil, errEndless
			}
			// What was recreated under another name between two moments may be on no page.
			if version = cmp.Or(version, of.GetResourceVersion()); of.GetResourceVersion() != version {
				return nil, errMoments
			}
			return page, nil
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
