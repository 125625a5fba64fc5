package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/resourceclaim"
)

// claimGraph has the claims with their consumers and the pods that wait for them, sorted by namespace and name.
type claimGraph []claimNode

// claimNode is one ResourceClaim.
type claimNode struct {
	name                types.NamespacedName
	allocated, deleting bool
	consumers           []claimUser
}

// claimUser is a consumer in a claim's status, or a pod whose spec names the claim.
type claimUser struct {
	// kind is Pod, or the resource of another consumer.
	kind, name string
	// reserved: the claim's status has it. Otherwise it is a pod that waits.
	reserved bool
	// state and code are what the core says of it.
	state, code string
}

// newClaimGraph asks the core what each consumer is worth.
func newClaimGraph(c *cluster, set settings) claimGraph {
	snapshot, options := claimSnapshot(c, set)
	index := resourceclaim.NewIndex(snapshot, options)
	waiting := map[types.NamespacedName][]string{}
	for _, pod := range c.Pods {
		for i := range pod.Spec.ResourceClaims {
			name, state := resourceclaim.ClaimName(pod, &pod.Spec.ResourceClaims[i])
			if state == resourceclaim.NameKnown {
				key := types.NamespacedName{Namespace: pod.Namespace, Name: name}
				waiting[key] = append(waiting[key], pod.Name)
			}
		}
	}
	graph := map[types.NamespacedName]claimNode{}
	for _, claim := range c.Claims {
		// What is wrong is among the problems of the report.
		e, _ := index.Explain(resourceclaim.KeyOf(claim))
		reasons := map[string]resourceclaim.Reason{}
		for _, r := range e.Reasons {
			reasons[r.Field] = r
		}
		node := claimNode{
			name:      types.NamespacedName{Namespace: claim.Namespace, Name: claim.Name},
			allocated: claim.Status.Allocation != nil,
			deleting:  claim.DeletionTimestamp != nil,
		}
		reserved := map[string]bool{}
		for i, ref := range claim.Status.ReservedFor {
			r := reasons[fmt.Sprintf("status.reservedFor[%d]", i)]
			user := claimUser{kind: ref.Resource, name: ref.Name, reserved: true, state: r.Message, code: string(r.Code)}
			if ref.APIGroup == "" && ref.Resource == "pods" {
				user.kind = "Pod"
				reserved[ref.Name] = true
			}
			node.consumers = append(node.consumers, user)
		}
		pods := waiting[node.name]
		slices.Sort(pods)
		for _, pod := range slices.Compact(pods) {
			if !reserved[pod] {
				node.consumers = append(node.consumers,
					claimUser{kind: "Pod", name: pod, state: "names the claim and has no reservation"})
			}
		}
		graph[node.name] = node
	}
	return slices.SortedFunc(maps.Values(graph), func(a, b claimNode) int {
		return cmp.Or(cmp.Compare(a.name.Namespace, b.name.Namespace), cmp.Compare(a.name.Name, b.name.Name))
	})
}
