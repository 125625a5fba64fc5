// Package purekubetest is for policy tests: tests of what the controllers would do with your objects. It builds the
// objects that such tests often need, and simulates a cluster until it is idle.
//
// Builders return ordinary API objects, complete enough for every question of this module. A test may change them
// before it uses them. [Deployment] and [StatefulSet] have the workload and its pods. A name may have a namespace
// before it, "shop/web"; without one, the namespace is "default". As with typed clients, apiVersion and kind are empty:
// set them before you write an object into a file (SetGroupVersionKind).
//
// [NewCluster] and [Load] make a [Cluster] of objects and of manifests, and its methods are the snapshots of the five
// packages. [Cluster.AtFullHealth] adds the pods that the workloads of manifests have when all is well. [Converge]
// sends the writes that a package plans until nothing is left to do.
package purekubetest
