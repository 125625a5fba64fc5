package bounds

import (
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/purekube/purekube/internal/test/largecluster"
	"github.com/purekube/purekube/resourceclaim"
)

var resourceClaims = Subject{Name: "resourceclaim", Cluster: func(n int) Cluster {
	c := largecluster.Claims(n/2, 0)
	s := resourceclaim.Snapshot{Now: largecluster.Now, Pods: c.Pods, Claims: c.Claims, Templates: c.Templates}
	x := resourceclaim.NewIndex(s, resourceclaim.Options{})
	done := largecluster.Claims(n/2, 10)
	y := resourceclaim.NewIndex(resourceclaim.Snapshot{Now: s.Now, Pods: done.Pods, Claims: done.Claims, Templates: done.Templates}, resourceclaim.Options{})
	pods := func(p ...*corev1.Pod) resourceclaim.Snapshot { return resourceclaim.Snapshot{Pods: p} }
	claims := func(c ...*resourcev1.ResourceClaim) resourceclaim.Snapshot { return resourceclaim.Snapshot{Claims: c} }
	pod := func(i int) *corev1.Pod { return s.Pods[at(i, len(s.Pods))] }
	claim := func(i int) *resourcev1.ResourceClaim { return s.Claims[at(i, len(s.Claims))] }
	return Cluster{
		Objects:  n,
		NewIndex: func() any { x := resourceclaim.NewIndex(s, resourceclaim.Options{}); all(x); return x },
		Updated: func() any {
			x := resourceclaim.NewIndex(s, resourceclaim.Options{})
			all(x)
			for i := range s.Pods {
				x, _ = x.With(pods(s.Pods[i]))
				x, _ = x.With(claims(s.Claims[i]))
			}
			return x
		},
		Questions: []Question{
			{Name: "a pod ends", Growth: Logarithmic, Event: true, Ask: func(i int) (int, int) {
				ended := *pod(i)
				ended.Status.Phase = corev1.PodSucceeded
				return event(x, pods(&ended))
			}},
			{Name: "a pod goes, and returns", Growth: Logarithmic, Event: true, Ask: func(i int) (int, int) { return returns(x, pods(pod(i))) }},
			{Name: "a claim goes, and returns", Growth: Logarithmic, Event: true, Ask: func(i int) (int, int) { return returns(x, claims(claim(i))) }},
			{Name: "a claim is assumed", Growth: Logarithmic, Event: true, Ask: func(i int) (int, int) {
				return event(x, resourceclaim.Snapshot{Assumed: []*resourcev1.ResourceClaim{claim(i)}})
			}},
			{Name: "Plan of a pod", Growth: Logarithmic, Ask: func(i int) (int, int) { return one(x, resourceclaim.KeyOf(pod(i))) }},
			{Name: "Plan of a claim", Growth: Logarithmic, Ask: func(i int) (int, int) { return one(x, resourceclaim.KeyOf(claim(i))) }},
			{Name: "Explain of a claim", Growth: Logarithmic, Ask: func(i int) (int, int) {
				return explained(x.Explain(resourceclaim.KeyOf(claim(i))))
			}},
			{Name: "ListedClaims", Growth: Logarithmic, Ask: func(i int) (int, int) {
				return len(x.ListedClaims(resourceclaim.KeyOf(claim(i)).NamespacedName())), 0
			}},
			{Name: "NewIndex", Growth: Linearithmic, Once: true, Ask: func(int) (int, int) {
				resourceclaim.NewIndex(s, resourceclaim.Options{})
				return 0, 0
			}},
			{Name: "PlanAll, idle", Growth: Linearithmic, Once: true, Ask: func(int) (int, int) { return all(x) }},
			{Name: "PlanAll, one pod in ten has ended", Growth: Linearithmic, Once: true, Ask: func(int) (int, int) { return all(y) }},
		},
	}
}}
