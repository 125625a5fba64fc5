package clientgo

import (
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/rbacaggregate"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/servicecidr"
	"github.com/purekube/purekube/ttl"
)

// Roles plans for one ClusterRole from the informer's cache.
func Roles(factory informers.SharedInformerFactory, name string) (rbacaggregate.Result, error) {
	roles, err := factory.Rbac().V1().ClusterRoles().Lister().List(labels.Everything())
	if err != nil {
		return rbacaggregate.Result{}, err
	}
	return rbacaggregate.Plan(rbacaggregate.Snapshot{ClusterRoles: roles}, rbacaggregate.Key(name),
		rbacaggregate.Options{})
}

// Claims plans for one key from the informers' caches.
func Claims(factory informers.SharedInformerFactory, key purekube.Key) (resourceclaim.Result, error) {
	pods, err := factory.Core().V1().Pods().Lister().List(labels.Everything())
	if err != nil {
		return resourceclaim.Result{}, err
	}
	claims, err := factory.Resource().V1().ResourceClaims().Lister().List(labels.Everything())
	if err != nil {
		return resourceclaim.Result{}, err
	}
	templates, err := factory.Resource().V1().ResourceClaimTemplates().Lister().List(labels.Everything())
	if err != nil {
		return resourceclaim.Result{}, err
	}
	return resourceclaim.Plan(resourceclaim.Snapshot{Pods: pods, Claims: claims, Templates: templates}, key,
		resourceclaim.Options{})
}

// Ranges answers for every ServiceCIDR whether it may be deleted.
func Ranges(factory informers.SharedInformerFactory) (safe map[string]bool, err error) {
	ranges, err := factory.Networking().V1().ServiceCIDRs().Lister().List(labels.Everything())
	if err != nil {
		return nil, err
	}
	addresses, err := factory.Networking().V1().IPAddresses().Lister().List(labels.Everything())
	if err != nil {
		return nil, err
	}
	s := servicecidr.Snapshot{Now: time.Now(), ServiceCIDRs: ranges, IPAddresses: addresses}
	safe = map[string]bool{}
	for _, r := range ranges {
		deletion, err := servicecidr.NewIndex(s, servicecidr.Options{}).CheckDeletion(servicecidr.KeyOf(r), 0)
		safe[r.Name] = err == nil && deletion.Safe
	}
	return safe, nil
}

// Nodes plans for every node.
func Nodes(factory informers.SharedInformerFactory) ([]ttl.Outcome, error) {
	nodes, err := factory.Core().V1().Nodes().Lister().List(labels.Everything())
	if err != nil {
		return nil, err
	}
	return ttl.PlanAll(ttl.Snapshot{Nodes: nodes}, ttl.Options{})
}
