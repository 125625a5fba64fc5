// Package reconcile has the decisions of a controller that runs a package of purekube, without the controller: which
// keys an event queues, which plan waits and for what, who gets an answer, what happens after a failure. Package
// clientgo puts goroutines, queues, a clock and a client around it, and the model checker of internal/test puts its
// own.
//
// A [Loop] is the state of one controller. It starts nothing, locks nothing and reads no clock: every call that depends
// on the time takes it as an argument, and returns what is to be done as data. The shell around it calls one method at
// a time.
//
// # What the shell does
//
//	informer   ──► Event ───────────────────────────► queue the keys that it returns
//	handlers   ──► Options.Synced
//	           ──► Start ───────────────────────────► queue the keys that it returns
//	queue      ──► Begin ─► Turn
//	                          │ Step Plan      plan Turn.Index, and call Planned with the result; look at Step again
//	                          │ Step Confirm   plan again with what the API server has, call Confirmed; look at Step
//	                          │ Step CarryOut  record the events, send the actions until Turn.WriteBy, call Sent after
//	                          │                each call, and End after the last; do what Next says
//	                          ▼ Step Wait      do what Turn.Next says
//	Turn.Ask   ──► queue of lookups ─► Look ─► the call ─► Found ─► queue the keys, or make the lookup again
//	Turn.Tick  ──► a timer ─► Tick ─────────────────► queue the key
//
//	 1. Call Event for each change that an informer shows, in its order, from before Start on.
//	 2. Call Start until it reports that the Loop started. Begin no turn before.
//	 3. A key has one turn at a time. A key that is queued during its turn has another one afterwards, as
//	    client-go's work queues do it.
//	 4. After each Planned, queue the lookups of Turn.Ask, and call Tick for the key after Turn.Tick, whatever Step says.
//	    Only one lookup of a need is under way at a time. A need that is queued during its call has another call
//	    afterwards.
//	 5. Plan, and make all calls, outside of whatever lock is around the Loop. The Index of a Turn never changes.
//	 6. After a crash, and after etcd was restored from a backup, begin with a new Loop. Nothing in it has to outlive the
//	    process, and fences, answers and deletions from before a restore are of another cluster.
//
// # What the Loop guarantees
//
//   - What cannot be undone is sent only if a plan has it that was made with what the API server had after the first
//     plan.
//   - Nothing is planned before every handler has seen what was listed at the start, since a plan from half an Index
//     regards what is missing from it as gone.
//   - A key whose plan failed is planned again: after a pause that doubles, when the API server says, or after
//     [PauseAfterRetries]. No failure is forgotten.
//   - A key is not planned before the Index shows what its last plan wrote, or [FenceTimeout] after that write.
//     Otherwise the same request would be sent twice.
//   - No worker waits for a lookup. An answer serves the keys that asked before the call was begun. A plan gets answers
//     that are newer than its Index: it is made with the Index that asked. It is made with the Index of now as well,
//     and what both plans begin with is sent. A package with Options.DecidesWithout sends the first plan as it is
//     before LookupsDeadline, and refuses after that where the two differ.
//   - While a lookup is late, a package with Options.DecidesWithout refuses with what is there now and without any
//     answer. If that changed the object, all is asked again. Such a plan has all of its time for writes: WriteBy does
//     not count from the lookups.
//   - What a plan with answers wrote is no news to its own key, where the answer to the write comes before its event.
//     Else a status whose lookups are always late would be refused because it was written.
//   - Of the answers that a plan waits for, only an answer that is too old is asked for again, after a pause and with
//     an error.
//   - A plan that waits for all of its answers uses none that is older than [MaxAgeOfAnswers], nor does a package with
//     Options.DecidesWithout once an event has affected the key.
package reconcile
