package samplecluster

import (
	"maps"
	"math/rand/v2"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// WithTemplates gives some of the ReplicaSets and StatefulSets a template: with the labels of their pods, or without a
// label that somebody gave the pods by hand.
func (c Cluster) WithTemplates(r *rand.Rand) {
	labels := map[types.UID]map[string]string{}
	for _, p := range c.Pods {
		if ref := metav1.GetControllerOf(p); ref != nil {
			labels[ref.UID] = p.Labels
		}
	}
	template := func(of types.UID) map[string]string {
		own := maps.Clone(labels[of])
		if own == nil || r.IntN(2) == 0 {
			return nil
		}
		own["workload"] = string(of) // what the selector of the workload matches
		if r.IntN(2) == 0 {
			delete(own, []string{"app", "tier"}[r.IntN(2)])
		}
		return own
	}
	for _, rs := range c.ReplicaSets {
		rs.Spec.Template.Labels = template(rs.UID)
	}
	for _, ss := range c.StatefulSets {
		ss.Spec.Template.Labels = template(ss.UID)
	}
}
