package cores

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/examples/manager/controller"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/resourceclaim/memory"
)

func newResourceClaim(c *Cluster) Runner {
	type S = resourceclaim.Snapshot
	// There is no Snapshot.Deleted: after a restore from a backup a pod that was seen deleted may run again, and its claim
	// may be shown before it. So each consumer that the informer does not show costs one lookup.
	index := resourceclaim.NewIndex(S{}, c.ResourceClaim)
	var written memory.AssumedClaims // what the informer may not show yet
	var listing sync.Mutex           // a version that is read later is not compared earlier
	pods, claims := c.Informers.Core().V1().Pods(), c.Informers.Resource().V1().ResourceClaims()
	var r *controller.Controller[*resourceclaim.Index, S, purekube.Key, resourceclaim.Action]
	r = controller.New("resourceclaim", index, c.Client, c.Events, controller.Options[*resourceclaim.Index, S, purekube.Key]{
		Begin: func(x *resourceclaim.Index) []purekube.Key { return begin(x.PlanAll()) },
		At: func(now time.Time, index *resourceclaim.Index) S {
			listing.Lock()
			restored := written.CacheAt(claims.Informer().LastSyncResourceVersion())
			listing.Unlock()
			if restored { // etcd, from a backup
				r.PlanAll()
			}
			return S{Now: now, Assumed: written.ListFor(now, index)}
		},
		Lookup:  c.lookUpClaim,
		Answers: confirmed,
		Written: func(o runtime.Object) {
			// A claim that is being deleted may be gone by now, and would be believed in for an hour.
			if claim, ok := o.(*resourcev1.ResourceClaim); ok && claim.DeletionTimestamp == nil {
				written.Add(claim, time.Now())
			}
		},
		RetryProblems: true,
	})
	controller.Watch(r, pods.Informer(), func(o *corev1.Pod) S { return S{Pods: []*corev1.Pod{o}} })
	controller.Watch(r, claims.Informer(), func(o *resourcev1.ResourceClaim) S { return S{Claims: []*resourcev1.ResourceClaim{o}} },
		func(o *resourcev1.ResourceClaim) { written.Forget(o.UID) })
	controller.Watch(r, c.Informers.Resource().V1().ResourceClaimTemplates().Informer(), func(o *resourcev1.ResourceClaimTemplate) S {
		return S{Templates: []*resourcev1.ResourceClaimTemplate{o}}
	})
	return r
}

// confirmed are the answers as the core takes them. One that could not be looked up stays a need.
func confirmed(answers map[purekube.Need]controller.Answer) resourceclaim.Snapshot {
	s := resourceclaim.Snapshot{Answers: map[purekube.Need]purekube.Answer{}}
	for n, a := range answers {
		if a.Err != nil {
			continue
		}
		if a.Object == nil {
			s.Answers[n] = purekube.Answer{}
		} else {
			s.Answers[n] = purekube.Answer{Object: a.Object}
		}
	}
	return s
}
