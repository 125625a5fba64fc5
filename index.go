package purekube

// Index is what the Index of every package is: a snapshot arranged for many questions. X is the Index itself, S its
// Snapshot and A its Action.
//
// It never changes. With and Without return another one, which shares with it what is the same in both, and name the
// keys whose [Outcome] may differ, sorted, each once. Any number of goroutines may use one, and derive others from it,
// at the same time.
type Index[X, S any, A Action] interface {
	// With returns the index with the objects of changed added, or put in the place of those of the same names.
	With(changed S) (next X, affected []Key)
	// Without returns the index without the objects that have the names of these.
	Without(gone S) (next X, affected []Key)
	// Plan decides about one object. The plan for an object that is gone is empty.
	Plan(Key) (Result[A], error)
	// PlanAll decides about all objects, and returns the outcomes that say something, sorted by key.
	PlanAll() ([]Outcome[A], error)
	// Err is what is wrong with the objects as a whole: nil pointers, objects without a name, and names that more
	// than one object of a kind has.
	Err() error
}
