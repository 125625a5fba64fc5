package purekubetest

import (
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/manifests"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/servicecidr"
)

// Cluster is a set of objects by kind at a time. Its methods are the snapshots of the five packages.
type Cluster struct {
	// Now is the time that the snapshots have.
	Now time.Time
	manifests.Set

	t testing.TB
}

// NewCluster returns a cluster an hour after [Created] with these objects. An object of a type that no package reads
// fails the test.
func NewCluster(t testing.TB, objects ...Object) *Cluster {
	t.Helper()
	c := &Cluster{Now: Created.Add(time.Hour), t: t}
	c.Complete = true
	for _, o := range objects {
		if err := c.Add(o); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// Load returns a cluster an hour after [Created] with the objects of files and directories, as [manifests.Load] reads
// them: YAML, JSON and lists, strictly. Objects of kinds that no package reads are in Ignored.
//
// The test fails for everything that manifests.Load returns an error for, such as a field that does not exist, two
// objects of one name, and a file without an object. It also fails if no object is of a kind that a package reads: a
// test over nothing would pass.
func Load(t testing.TB, paths ...string) *Cluster {
	t.Helper()
	set, err := manifests.Load(manifests.Options{Stdin: os.Stdin}, paths...)
	if err != nil {
		t.Fatal(err)
	}
	if set.Len() == len(set.Ignored) {
		t.Fatalf("%q: none of the %d objects is of a kind that purekube reads", paths, set.Len())
	}
	return &Cluster{Now: Created.Add(time.Hour), Set: *set, t: t}
}

// AtFullHealth returns the cluster with the pods that its workloads have when all is well, as
// [manifests.Set.AtFullHealth] makes them. These nodes, made with [Node], are added to the cluster first: without any,
// pods are on no node. They have no processor and no memory: with them in drain.Options.Nodes, pods that request some
// find no node. A workload without an answer fails the test, and so does the name of a node that the cluster has.
func (c *Cluster) AtFullHealth(nodes ...string) *Cluster {
	c.t.Helper()
	before := c.Set
	before.Nodes = slices.Clone(before.Nodes)
	before.Seen = maps.Clone(before.Seen)
	for _, name := range nodes {
		if slices.ContainsFunc(before.Nodes, func(n *corev1.Node) bool { return n != nil && n.Name == name }) {
			c.t.Fatalf("Node %s: the cluster has a node of this name", name)
		}
		if err := before.Add(Node(name)); err != nil {
			c.t.Fatal(err)
		}
	}
	after, err := before.AtFullHealth()
	if err != nil {
		c.t.Fatal(err)
	}
	return &Cluster{Now: c.Now, Set: *after, t: c.t}
}

// WithBuiltinClusterRoles returns the cluster with admin, edit, view and what they aggregate, as every API server has
// them. See [manifests.BuiltinClusterRoles].
func (c *Cluster) WithBuiltinClusterRoles() *Cluster {
	return &Cluster{Now: c.Now, Set: *c.Set.WithBuiltinClusterRoles(), t: c.t}
}

// Disruption is the snapshot of the package of that name.
func (c *Cluster) Disruption() disruption.Snapshot { return c.Set.Disruption(c.Now) }

// ServiceCIDR is the snapshot of the package of that name.
func (c *Cluster) ServiceCIDR() servicecidr.Snapshot { return c.Set.ServiceCIDR(c.Now) }

// ResourceClaim is the snapshot of the package of that name.
func (c *Cluster) ResourceClaim() resourceclaim.Snapshot { return c.Set.ResourceClaim(c.Now) }
