// Package memory keeps the objects that a webhook decides evictions and budgets by with package admission, and the
// evictions that it allowed.
//
//	store := memory.NewStore(memory.Options{})
//	store.Put(objects...)                                  // in the event handlers of the caches
//	store.Remove(object)
//	response := store.Review(request, synced, time.Now(), options) // for each review
//
// Two evictions that are fine alone may not be fine together: perhaps one of two pods of a budget has to stay. So an
// eviction that was allowed counts at once, before the watch shows it. That takes a lock and a clock, which package
// admission does without. The times come from the caller.
//
// A Store is in memory: other replicas of the webhook do not know of it, and a restart forgets it. The API server
// checks the status of the budget again after each review.
package memory
