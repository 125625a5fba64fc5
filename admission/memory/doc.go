// Package memory keeps the objects that a webhook decides by with package admission, and the deletions that it allowed.
//
//	store := memory.NewStore(memory.Options{})
//	store.Put(objects...)                                  // in the event handlers of the caches
//	store.Remove(object)
//	response := store.Review(request, synced, time.Now(), options) // for each review
//
// Two writes that are fine alone may not be fine together: one of two equal ServiceCIDRs has to stay, and perhaps one of
// two pods of a budget. So a deletion that was allowed counts at once, before the watch shows it. That takes a lock and a
// clock, which package admission does without. The times come from the caller.
//
// A Store is in memory: other replicas of the webhook do not know of it, and a restart forgets it. Run one replica, or
// accept that two deletions at the same moment may be judged by two replicas.
package memory
