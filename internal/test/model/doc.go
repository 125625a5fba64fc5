// Package model searches every order of events of a small cluster for one that breaks a guarantee.
//
// A scenario is a few objects at an API server, what users, scheduler, kubelet and garbage collector may do to them,
// and a controller built from one of the module's packages: caches that lag, a queue of the keys that With and Without
// name, plans, and Requests that internal/test/apiserver executes one after the other. [Search] visits all reachable
// states breadth first, so the sequence of steps that it reports for a broken guarantee is as short as possible.
//
// # Steps
//
//   - a user event, or what the rest of the cluster does by itself;
//   - the cache of one kind shows the next change (each kind by itself, in the order of the changes);
//   - a plan begins: a key leaves the queue, what the plan needs is looked up at the API server;
//   - the next write of the plan succeeds, is refused, or succeeds and its answer is lost;
//   - the controller stops, between any two writes, and starts again: caches are lists of what is there then,
//     everything else that it knew is gone, every key is queued;
//   - time passes to the earliest RecheckAt.
//
// A [LoopWorld] has the loop of internal/reconcile for its controller, and takes its steps apart: README.md lists them.
//
// # States
//
// Objects with equal content are one value, states are short strings of their numbers, and each state is visited once.
// A new UID or generated name takes a number that nothing in the state has any more, and resourceVersions count only
// what they are compared with. So states that differ only in numbers are one state, and a search can end.
//
// # What is left out
//
// The fields of the scenario bound the search. A key whose plan asks for nothing leaves the queue at once. Requests of
// one plan are sent at a time. Time passes only while the caches are up to date and no plan is half done, since all
// packages ask for snapshots that are younger than their timers. A plan that has an error is not tried again before an
// event adds its key again. A write that changes nothing is no change, as at an API server.
package model
