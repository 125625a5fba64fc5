package clientgo

import "github.com/purekube/purekube"

const (
	// keysOfATurn and lookupsOfATurn are how many of a namespace are taken before the next one has its turn.
	keysOfATurn, lookupsOfATurn = 1, 1
	// lookupsOfAClaim is lookupsOfATurn for a package that waits for all answers. A claim has at most 256 consumers, so a
	// turn finishes its lookups: answers that wait for the rest of all other namespaces are too old then.
	lookupsOfAClaim = 256
)

// fair is the order in which keys are planned and lookups are made: namespaces take turns, so that one with thousands
// does not delay the others.
type fair[T any] struct {
	namespace func(T) string
	// turn is how many a namespace has in its turn, and taken how many the first one of turns has had.
	turn, taken int
	turns       []string // the namespaces that have any, the next one first
	queued      map[string][]T
	n           int
}

func fairKeys() *fair[purekube.Key] {
	return &fair[purekube.Key]{namespace: func(k purekube.Key) string {
		return k.Namespace
	}, turn: keysOfATurn, queued: map[string][]purekube.Key{}}
}

func fairLookups(turn int) *fair[purekube.Need] {
	return &fair[purekube.Need]{namespace: func(n purekube.Need) string {
		return n.Namespace
	}, turn: turn, queued: map[string][]purekube.Need{}}
}

// Touch is part of workqueue.Queue. What is queued already keeps its place.
func (f *fair[T]) Touch(T) {}

// Push adds an item.
func (f *fair[T]) Push(item T) {
	namespace := f.namespace(item)
	if len(f.queued[namespace]) == 0 {
		f.turns = append(f.turns, namespace)
	}
	f.queued[namespace] = append(f.queued[namespace], item)
	f.n++
}

// Len is how many there are.
func (f *fair[T]) Len() int { return f.n }

// Pop takes the next one.
func (f *fair[T]) Pop() T {
	namespace := f.turns[0]
	next, rest := f.queued[namespace][0], f.queued[namespace][1:]
	f.queued[namespace] = rest
	f.n--
	f.taken++
	if len(rest) > 0 && f.taken < f.turn {
		return next
	}
	f.turns, f.taken = f.turns[1:], 0
	if len(rest) > 0 {
		f.turns = append(f.turns, namespace)
	} else {
		delete(f.queued, namespace)
	}
	return next
}
