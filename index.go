package purekube

// Index is the interface of the Index type of every package: a snapshot arranged for many questions. X is the Index
// type itself, S its Snapshot type and A its Action type.
//
// An Index never changes. With and Without return another Index, which shares all unchanged data with the first one.
// They also return the keys whose [Outcome] may differ, sorted, each once. Any number of goroutines may use an Index,
// and derive others from it, at the same time.
type Index[X, S any, A Action] interface {
	// With returns the index with the objects of changed. An object replaces the object of the same name, if there is
	// one.
	With(changed S) (next X, affected []Key)
	// Without returns the index without the objects that have the names of the objects in gone.
	Without(gone S) (next X, affected []Key)
	// Plan decides about one object. The plan for an object that is gone is empty.
	Plan(Key) (Result[A], error)
	// PlanAll decides about all objects. It returns the outcomes with a result or an error, sorted by key.
	PlanAll() ([]Outcome[A], error)
	// Err returns what is wrong with the objects as a whole: nil pointers, objects without a name, and names that
	// several objects of one kind have.
	Err() error
}
