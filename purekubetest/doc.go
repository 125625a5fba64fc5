// Package purekubetest is for tests of policy: tests that ask what the controllers make of somebody's
// objects. It builds the objects that such tests need again and again, and it plays a cluster until it is at
// rest.
//
// Builders return ordinary API objects, complete enough for every question of this module, which a test may
// change before it uses them. [Deployment] and [StatefulSet] have the workload and its pods. A name may have a namespace
// before it, "shop/web"; without one it is "default". As with typed clients, apiVersion and kind are empty: set them
// before you write an object into a file (SetGroupVersionKind).
//
// [NewCluster] and [Load] make a [Cluster] of objects and of manifests, and its methods are the snapshots of the five
// packages. [Cluster.AtFullHealth] adds the pods that the workloads of manifests have when all is well. [Converge]
// sends the writes that a package plans until nothing is left to do.
package purekubetest
