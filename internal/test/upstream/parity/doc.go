// Package parity runs the real controllers of kube-controller-manager beside this
// module's plans and compares what they do.
//
// A controller is built with its exported constructor and runs inside a testing/synctest
// bubble. Its informers are fed by hand, so that its caches hold exactly the snapshot; its
// client records every request and changes nothing. The plan for the same snapshot, with
// MatchUpstream, is turned into requests as well, and the two must be equal.
//
// The parts:
//
//   - The World is the cluster that a controller sees: caches, client, recorded requests.
//   - [Request], [Event] and [Trace] are what is compared.
//   - [Core] is what one controller adds: a generator of snapshots, the constructor, and the
//     plan turned into a [Trace]. Its Test method is the comparison.
//
// README.md says how to run it, and how to add a controller.
package parity
