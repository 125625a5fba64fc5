package main

// poolLabels name the pool of a node. A provider's label goes before the type of the machine.
var poolLabels = []string{
	"karpenter.sh/nodepool", "eks.amazonaws.com/nodegroup", "alpha.eksctl.io/nodegroup-name",
	"cloud.google.com/gke-nodepool", "kubernetes.azure.com/agentpool", "doks.digitalocean.com/node-pool",
	"node.kubernetes.io/instance-type",
}

// nodePoolName is the label of a pool. It is zero for a node without one.
type nodePoolName struct{ key, value string }

// title is the pool for people, where the nodes are grouped by the label key, or by poolLabels without a key.
func (n nodePoolName) title(key string) string {
	switch {
	case n.key != "":
		return n.value
	case key != "":
		return "no label " + key
	}
	return "no label of a pool"
}

// nodePools are the pools of the nodes by name: the value of the label key, or of the first of poolLabels that a node
// has.
func nodePools(c *cluster, key string) map[string]nodePoolName {
	keys := poolLabels
	if key != "" {
		keys = []string{key}
	}
	pools := map[string]nodePoolName{}
	for _, n := range c.Nodes {
		for _, key := range keys {
			if value, labelled := n.Labels[key]; labelled {
				pools[n.Name] = nodePoolName{key, value}
				break
			}
		}
	}
	return pools
}
