// Package wholecluster answers the lookups of a plan for input that has every object of the cluster: what the input
// lacks does not exist.
package wholecluster

import (
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/purekube/purekube"
)

// Answers says of each pod that a claim names, and of each claim that a pod's status names, that it is as in the input
// or does not exist. Of several pods with one name, the first counts. The answers are for a plan of these pods and
// claims.
func Answers(pods []*corev1.Pod, claims []*resourcev1.ResourceClaim) map[purekube.Need]purekube.Answer {
	answers := map[purekube.Need]purekube.Answer{}
	need := func(apiVersion, kind, namespace, name string) purekube.Need {
		return purekube.Need{APIVersion: apiVersion, Kind: kind, Namespace: namespace, Name: name}
	}
	for _, p := range pods {
		if p == nil {
			continue
		}
		if n := need("v1", "Pod", p.Namespace, p.Name); answers[n].Object == nil {
			answers[n] = purekube.Answer{Object: p}
		}
		for _, status := range p.Status.ResourceClaimStatuses {
			if name := status.ResourceClaimName; name != nil {
				answers[need("resource.k8s.io/v1", "ResourceClaim", p.Namespace, *name)] = purekube.Answer{}
			}
		}
	}
	for _, c := range claims {
		if c == nil {
			continue
		}
		named := make([]string, 0, len(c.Status.ReservedFor)+len(c.OwnerReferences))
		for _, r := range c.Status.ReservedFor {
			named = append(named, r.Name)
		}
		for _, r := range c.OwnerReferences {
			named = append(named, r.Name)
		}
		for _, name := range named {
			if n := need("v1", "Pod", c.Namespace, name); answers[n].Object == nil {
				answers[n] = purekube.Answer{}
			}
		}
		if n := need("resource.k8s.io/v1", "ResourceClaim", c.Namespace, c.Name); answers[n].Object == nil {
			answers[n] = purekube.Answer{Object: c}
		}
	}
	return answers
}
