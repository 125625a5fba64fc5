// Package model searches every order of events of a small cluster for one that breaks a promise.
//
// A [World] is a few objects at an API server, what users, scheduler, kubelet and garbage
// collector may do to them, and a controller made of one of the module's packages: caches that
// lag, a queue that is filled with the keys that With and Without name, plans, and Requests that are
// carried out one after the other by internal/test/apiserver. [Search] goes breadth first through all states that these can
// come to, so the story that it tells of a broken promise is a shortest one.
//
// # Steps
//
//   - a user event, or what the rest of the cluster does by itself;
//   - the cache of one kind shows the next change (each kind by itself, in the order of the changes);
//   - a plan begins: a key leaves the queue, what the plan needs is looked up at the API server;
//   - the next write of the plan is carried out, is refused, or is carried out and its answer is lost;
//   - the controller stops, between any two writes, and starts again: caches are lists of what is there then,
//     everything else that it knew is gone, every key is queued;
//   - time passes to the earliest RecheckAt.
//
// A [LoopWorld] has the loop of internal/reconcile for its controller, and takes its steps apart: README.md lists them.
//
// # States
//
// Objects with equal content are one value, states are short strings of their numbers, and each is
// visited once. Numbers for UIDs and generated names are taken from those that nothing in the
// state has any more, and resourceVersions count only what they are compared with, so what differs in
// numbers alone is one state, and a search can come to its end.
//
// # What is left out
//
// See [World] for its bounds. A key whose plan asks for nothing leaves the queue at once. One plan is carried out at a
// time. Time passes only while the caches are up to date and no plan is half done, since all
// packages ask for snapshots that are younger than their timers. A plan that has an error is not tried again before an
// event brings its key back. A write that changes nothing is no change, as at an API server.
package model
