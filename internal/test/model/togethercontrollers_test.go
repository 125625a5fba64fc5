package model

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/test/apiserver"
	"github.com/purekube/purekube/rbacaggregate"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/resourceclaim/memory"
	"github.com/purekube/purekube/servicecidr"
	"github.com/purekube/purekube/ttl"
)

// looped is a controller in the loop.
type looped struct {
	name  string
	kinds []schema.GroupVersionResource
	// restart makes everything new from the objects, and returns all keys.
	restart func(v *View) (keys []string)
	// changed puts a change into the Index, and returns the keys that it affects.
	changed func(oldObj, newObj Object) (keys []string)
	plan    func(key string, live *View) Decision
	// returned hears of what a write returned.
	returned func(o runtime.Object)

	queue  []string
	timers map[string]time.Time
	caches map[schema.GroupVersionResource]map[types.NamespacedName]Object
	// pending are the changes that a cache does not show yet.
	pending map[schema.GroupVersionResource][]heard
}

type heard struct {
	object Object
	gone   bool
	at     time.Time
}

// deliver shows the oldest pending change of a kind.
func (c *looped) deliver(resource schema.GroupVersionResource) {
	h := c.pending[resource][0]
	c.pending[resource] = c.pending[resource][1:]
	name := types.NamespacedName{Namespace: h.object.GetNamespace(), Name: h.object.GetName()}
	oldObj := c.caches[resource][name]
	var newObj Object
	if h.gone {
		delete(c.caches[resource], name)
	} else {
		newObj = h.object
		c.caches[resource][name] = newObj
	}
	if oldObj != nil || newObj != nil {
		c.enqueue(c.changed(oldObj, newObj)...)
	}
}

func (c *looped) enqueue(keys ...string) {
	for _, k := range keys {
		if !slices.Contains(c.queue, k) {
			c.queue = append(c.queue, k)
		}
	}
}

// index is what the packages' Indexes have in common.
type index[S, K, X any] interface {
	With(changed S) (X, []K)
	Without(gone S) (X, []K)
}

// changeIndex puts a change of an object into an Index, and returns the keys that it affects.
func changeIndex[S, K any, X index[S, K, X]](x *X, snapshot func(Object) S, oldObj, newObj Object) (keys []K) {
	if newObj == nil {
		*x, keys = (*x).Without(snapshot(oldObj))
	} else {
		*x, keys = (*x).With(snapshot(newObj))
	}
	return keys
}

func serviceCIDRLoop() *looped {
	var x *servicecidr.Index
	return &looped{
		name: "servicecidr", kinds: []schema.GroupVersionResource{serviceCIDRs, ipAddresses},
		restart: func(v *View) (keys []string) {
			x = servicecidr.NewIndex(servicecidr.Snapshot{Now: v.Now, ServiceCIDRs: All[*networkingv1.ServiceCIDR](v), IPAddresses: All[*networkingv1.IPAddress](v)}, servicecidr.Options{})
			for _, c := range All[*networkingv1.ServiceCIDR](v) {
				keys = append(keys, c.Name)
			}
			return keys
		},
		changed: func(oldObj, newObj Object) []string { return namesOf(changeIndex(&x, rangesOf, oldObj, newObj)) },
		plan: func(key string, live *View) Decision {
			now, _ := x.With(servicecidr.Snapshot{Now: live.Now})
			r, err := now.Plan(servicecidr.Key(key))
			return Decision{Actions(r.Actions), r.Needs, r.RecheckAt, err}
		},
	}
}

func clusterRoleLoop() *looped {
	var x *rbacaggregate.Index
	snapshot := func(o Object) rbacaggregate.Snapshot {
		return rbacaggregate.Snapshot{ClusterRoles: []*rbacv1.ClusterRole{o.(*rbacv1.ClusterRole)}}
	}
	return &looped{
		name: "rbacaggregate", kinds: []schema.GroupVersionResource{clusterRoles},
		restart: func(v *View) (keys []string) {
			x = rbacaggregate.NewIndex(rbacaggregate.Snapshot{ClusterRoles: All[*rbacv1.ClusterRole](v)}, rbacaggregate.Options{})
			for _, r := range All[*rbacv1.ClusterRole](v) {
				keys = append(keys, r.Name)
			}
			return keys
		},
		changed: func(oldObj, newObj Object) []string { return namesOf(changeIndex(&x, snapshot, oldObj, newObj)) },
		plan: func(key string, _ *View) Decision {
			r, err := x.Plan(rbacaggregate.Key(key))
			return Decision{Actions(r.Actions), r.Needs, r.RecheckAt, err}
		},
	}
}

func nodeLoop() *looped {
	var x *ttl.Index
	snapshot := func(o Object) ttl.Snapshot { return ttl.Snapshot{Nodes: []*corev1.Node{o.(*corev1.Node)}} }
	return &looped{
		name: "ttl", kinds: []schema.GroupVersionResource{nodesResource},
		restart: func(v *View) (keys []string) {
			nodes := All[*corev1.Node](v)
			x = ttl.NewIndex(ttl.Snapshot{Step: ttl.Table{}.Recover(nodes), Nodes: nodes}, ttl.Options{})
			for _, n := range nodes {
				keys = append(keys, ttl.KeyOf(n).String())
			}
			return keys
		},
		changed: func(oldObj, newObj Object) []string { return texts(changeIndex(&x, snapshot, oldObj, newObj)) },
		plan: func(key string, _ *View) Decision {
			k, err := purekube.ParseKey(key)
			if err != nil {
				panic(err)
			}
			r, err := x.Plan(k)
			return Decision{Actions(r.Actions), r.Needs, r.RecheckAt, err}
		},
	}
}

// nodesResource is the resource of nodes.
var nodesResource = corev1.SchemeGroupVersion.WithResource("nodes")

func budgetLoop() *looped {
	var x *disruption.Index
	return &looped{
		name: "disruption", kinds: []schema.GroupVersionResource{budgets, pods, deployments, replicaSets, statefulSets},
		restart: func(v *View) (keys []string) {
			x = disruption.NewIndex(disruption.Snapshot{Now: v.Now, Budgets: All[*policyv1.PodDisruptionBudget](v), Pods: All[*corev1.Pod](v),
				Deployments: All[*appsv1.Deployment](v), ReplicaSets: All[*appsv1.ReplicaSet](v), StatefulSets: All[*appsv1.StatefulSet](v)}, disruption.Options{})
			return budgetController(disruption.Options{}).Keys(v)
		},
		changed: func(oldObj, newObj Object) []string { return texts(changeIndex(&x, budgetObject, oldObj, newObj)) },
		plan: func(key string, live *View) Decision {
			k, err := purekube.ParseKey(key)
			if err != nil {
				panic(err)
			}
			answered, _ := x.With(disruption.Snapshot{Now: live.Now})
			r, err := answered.Plan(k)
			for rounds := 0; len(r.Needs) > 0 && rounds < 5; rounds++ {
				s := disruption.Snapshot{Answers: map[purekube.Need]purekube.Answer{}}
				for _, n := range r.Needs {
					s.Answers[n] = answerOf(live, n)
				}
				answered, _ = answered.With(s)
				r, err = answered.Plan(k)
			}
			return Decision{Actions(r.Actions), r.Needs, r.RecheckAt, err}
		},
	}
}

func claimLoop(l *loop) *looped {
	var x *resourceclaim.Index
	var assumed *memory.AssumedClaims
	var deleted *memory.DeletedPods
	return &looped{
		name: "resourceclaim", kinds: []schema.GroupVersionResource{pods, apiserver.PodGroups, claims, templates},
		restart: func(v *View) (keys []string) {
			assumed, deleted = &memory.AssumedClaims{}, &memory.DeletedPods{}
			x = resourceclaim.NewIndex(resourceclaim.Snapshot{Now: v.Now, Pods: All[*corev1.Pod](v), PodGroups: podGroupsOf(v), Claims: All[*resourcev1.ResourceClaim](v),
				Templates: All[*resourcev1.ResourceClaimTemplate](v)}, resourceclaim.Options{PodGroupOf: podGroupOf})
			return claimController(resourceclaim.Options{}).Keys(v)
		},
		changed: func(oldObj, newObj Object) []string {
			if oldObj != nil && (newObj == nil || oldObj.GetUID() != newObj.GetUID()) {
				switch oldObj.(type) {
				case *corev1.Pod:
					dropped := deleted.Add(oldObj.GetUID())
					x, _ = x.With(resourceclaim.Snapshot{Deleted: sets.New(oldObj.GetUID())})
					x, _ = x.Without(resourceclaim.Snapshot{Deleted: dropped})
				case *resourcev1.ResourceClaim:
					assumed.Forget(oldObj.GetUID())
				}
			}
			return texts(changeIndex(&x, part, oldObj, newObj))
		},
		plan: func(key string, live *View) Decision {
			k, err := purekube.ParseKey(key)
			if err != nil {
				panic(err)
			}
			answered, _ := x.With(resourceclaim.Snapshot{Assumed: assumed.ListFor(l.now, x)})
			r, err := answered.Plan(k)
			for rounds := 0; len(r.Needs) > 0 && rounds < 5; rounds++ {
				var s resourceclaim.Snapshot
				confirm(&s, r.Needs, live)
				answered, _ = answered.With(s)
				r, err = answered.Plan(k)
			}
			return Decision{Actions(r.Actions), r.Needs, r.RecheckAt, err}
		},
		returned: func(o runtime.Object) { assumed.Add(o, l.now) },
	}
}
