// Package purekubetest is for tests of policy: tests that ask what the controllers make of somebody's
// objects. It builds the objects that such tests need again and again, and it plays a cluster until it is at
// rest.
//
// Builders return ordinary API objects, complete enough for every question of this module, which a test may
// change before it uses them. A name may have a namespace before it, "shop/web"; without one it is
// "default".
//
// [NewCluster] and [LoadManifests] sort objects into a [Cluster], and its methods are the
// snapshots of the five packages. [Converge] carries out what a package plans until nothing is left to do.
package purekubetest
