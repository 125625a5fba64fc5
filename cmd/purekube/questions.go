package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/purekube/purekube/internal/restson"
)

// question is what the program is asked. Its answer rests on the objects of some kinds: with fewer of them it could be
// more permissive. So it is refused, not answered, when objects of these kinds may be missing.
type question struct {
	// name begins the line that refuses it.
	name string
	// seen are the kinds of which the input must have objects, unless --none says that the cluster has none. A list of one
	// kind counts, empty or not.
	seen []string
	// whole are the kinds of which every object must have been read.
	whole []string
	// apart are the kinds of which an object that was not read concerns its own namespace: what rests on that is left out.
	apart []string
	// dump are the kinds that the answer reads. The kubectl command for them is part of the message.
	dump []string
}

// questionOf is the question that a core's plan answers. It is nil for a core without an object in the input.
//
//	core           must be in the input      must have been read     otherwise
//	servicecidr    IPAddress                 IPAddress               a ServiceCIDR in use could go
//	resourceclaim  Pod (--assume-complete)    Pod, ResourceClaim      a claim in use is released, or created again
//	ttl            -                         -                       -
//	rbacaggregate  -                         ClusterRole             rules are missing from the aggregated roles
//	disruption     -                         Pod                     pods that are not healthy do not count
//
// A workload that is missing makes no answer of a plan more permissive: its scale is a lookup.
func (c core) questionOf(objects *cluster, set settings) *question {
	q := question{name: c.name, dump: c.reads}
	about := c.reads[0]
	switch c.name {
	case "servicecidr":
		q.seen, q.whole = []string{"IPAddress"}, []string{"IPAddress"}
	case "resourceclaim":
		// A template that could not be read is left out, unless nothing says which ones there are.
		q.whole, q.apart = []string{"Pod", "ResourceClaim"}, []string{"ResourceClaimTemplate"}
		if set.assumeComplete && len(objects.Claims) > 0 {
			q.seen = []string{"Pod"}
		}
		if len(objects.Pods) > 0 {
			about = "Pod"
		}
	case "rbacaggregate":
		q.whole = []string{"ClusterRole"}
	case "disruption":
		q.whole = []string{"Pod"}
	}
	if objects.count(about) == 0 {
		return nil
	}
	return &q
}

// drainQuestion is the question of the command drain: a budget, a pod or a workload that is missing can make a node
// drain that does not. A kind of workload has to be in the input if the controller of a pod or a ReplicaSet is of that
// kind. A Node that could not be read may have taints, or not be ready.
func drainQuestion(name string, objects *cluster) question {
	return question{
		name: name, dump: drainDump,
		seen:  append([]string{"Pod", "PodDisruptionBudget"}, objects.controllerKinds()...),
		whole: []string{"Pod", "Node"}, apart: []string{"PodDisruptionBudget"},
	}
}

// drainDump are the kinds that say how a drain goes.
var drainDump = append(append([]string{"PodDisruptionBudget"}, drainReads...), "Node")

// drainReads are the kinds beside the budgets and the nodes that say how a drain goes.
var drainReads = []string{"Pod", "ReplicaSet", "Deployment", "StatefulSet", "ReplicationController"}

// neverQuestion is the question of --fail-on never: no budget that never allows a disruption. Budgets without pods are
// the answer's part.
var neverQuestion = question{
	name: "--fail-on never", dump: append([]string{"PodDisruptionBudget"}, drainReads...),
	seen: []string{"PodDisruptionBudget"}, whole: []string{"PodDisruptionBudget"},
}

// refusal says why the question is not answered. It is nil for a question that is.
func (c *cluster) refusal(q question) *problem {
	may := func(text string) *problem { return &problem{what: q.name + ": not answered: " + text} }
	for _, p := range c.problems {
		if p.unread {
			return may("the input was not read to its end")
		}
	}
	for _, kind := range q.whole {
		if c.hides(kind) {
			return may("an object that is " + article(kind) + ", or may be one, could not be read")
		}
	}
	unread := map[string]bool{}
	for _, kind := range q.apart {
		namespaces, known := c.HidesIn(kindNamed(kind))
		if !known {
			return may("an object that is " + article(kind) + ", or may be one, could not be read")
		}
		unread[kind] = len(namespaces) > 0
	}
	var missing, names []string
	for _, kind := range q.seen {
		if !c.saw(kind) && !unread[kind] { // the input has one, and decidable says of what it is
			missing = append(missing, kind)
			names = append(names, shortNames[kind])
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return may(
		fmt.Sprintf("the input has no %s. Get what the answer rests on with %q. If the cluster has none, add --none %s",
			strings.Join(missing, ", no "), getCommand(q.dump), strings.Join(names, ",")))
}

// article is the kind behind "a" or "an".
func article(kind string) string {
	if strings.ContainsRune("AEIOU", rune(kind[0])) {
		return "an " + kind
	}
	return "a " + kind
}

// controllerKinds are the kinds of workloads that control a pod or a ReplicaSet of the input.
func (c *cluster) controllerKinds() []string {
	var names []string
	for _, kind := range restson.ControllerKinds(c.Set) {
		names = append(names, kind.Kind)
	}
	return names
}

// getCommand prints objects of these kinds.
func getCommand(kinds []string) string {
	names := make([]string, len(kinds))
	for i, kind := range kinds {
		names[i] = shortNames[kind]
	}
	return "kubectl get " + strings.Join(names, ",") + " -A -o json"
}

// shortNames are how kubectl calls the kinds that the cores read.
var shortNames = map[string]string{
	"Node": "nodes", "Pod": "pods", "ReplicationController": "rc", "ReplicaSet": "rs", "Deployment": "deploy",
	"StatefulSet": "sts",
	"ClusterRole": "clusterroles", "ServiceCIDR": "servicecidrs", "IPAddress": "ipaddresses", "PodDisruptionBudget": "pdb",
	"ResourceClaim": "resourceclaims", "ResourceClaimTemplate": "resourceclaimtemplates",
}

// otherNames are what kubectl takes as well.
var otherNames = map[string]string{"no": "Node", "po": "Pod", "ip": "IPAddress"}

// parseKinds reads a list of kinds, each called as kubectl get allows.
func parseKinds(text string) ([]string, error) {
	var kinds []string
	for name := range strings.SplitSeq(text, ",") {
		kind, known := otherNames[strings.ToLower(name)]
		for k, short := range shortNames {
			singular := strings.ToLower(k)
			if slices.Contains([]string{short, singular, singular + "s", singular + "es"}, strings.ToLower(name)) {
				kind, known = k, true
			}
		}
		if !known {
			return nil, fmt.Errorf("unknown kind %q: known are %s", name, strings.Join(sortedValues(shortNames), ", "))
		}
		kinds = append(kinds, kind)
	}
	return kinds, nil
}
