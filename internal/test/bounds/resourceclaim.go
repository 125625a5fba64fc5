package bounds

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/purekube/purekube/internal/test/largecluster"
	"github.com/purekube/purekube/resourceclaim"
)

func ended(p *corev1.Pod) *corev1.Pod {
	changed := *p
	changed.Status.Phase = corev1.PodSucceeded
	return &changed
}

var resourceClaims = Subject{Name: "resourceclaim", Cluster: func(n int) Cluster {
	c := largecluster.Claims(n/2, 0)
	s := resourceclaim.Snapshot{
		Now: largecluster.Now, Pods: shuffled(c.Pods), Claims: shuffled(c.Claims), Templates: c.Templates,
	}
	x := resourceclaim.NewIndex(s, resourceclaim.Options{})
	someEnded := s
	someEnded.Pods = slices.Clone(s.Pods)
	for i := 0; i < len(s.Pods); i += 10 {
		someEnded.Pods[i] = ended(s.Pods[i])
	}
	y := resourceclaim.NewIndex(someEnded, resourceclaim.Options{})
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
			change("a pod ends", func(i int) (int, int) {
				return event(x, pods(ended(pod(i))))
			}),
			change("a pod goes, and returns", func(i int) (int, int) { return returns(x, pods(pod(i))) }),
			change("a claim goes, and returns", func(i int) (int, int) { return returns(x, claims(claim(i))) }),
			change("a claim is assumed", func(i int) (int, int) {
				return event(x, resourceclaim.Snapshot{Assumed: []*resourcev1.ResourceClaim{claim(i)}})
			}),
			about("Plan of a pod", func(i int) (int, int) { return one(x, resourceclaim.KeyOf(pod(i))) }),
			about("Plan of a claim", func(i int) (int, int) { return one(x, resourceclaim.KeyOf(claim(i))) }),
			about("Explain of a claim", func(i int) (int, int) {
				return explained(x.Explain(resourceclaim.KeyOf(claim(i))))
			}),
			about("ListedClaims", func(i int) (int, int) {
				return len(x.ListedClaims(resourceclaim.KeyOf(claim(i)).NamespacedName())), 0
			}),
			ofAll("NewIndex", func() (int, int) {
				resourceclaim.NewIndex(s, resourceclaim.Options{})
				return 0, 0
			}),
			ofAll("PlanAll, idle", func() (int, int) { return all(x) }),
			ofAll("PlanAll, one pod in ten has ended", func() (int, int) { return all(y) }),
		},
	}
}}
