package clientgo

import "github.com/purekube/purekube"

// fair is the order in which lookups are made: one for each namespace in turn, so that a namespace with thousands of
// lookups does not delay the others.
type fair struct {
	turns  []string // the namespaces with lookups, the next one first
	queued map[string][]purekube.Need
	n      int
}

// Touch is part of workqueue.Queue. A lookup that is asked for again keeps its place.
func (f *fair) Touch(purekube.Need) {}

// Push adds a lookup.
func (f *fair) Push(n purekube.Need) {
	if len(f.queued[n.Namespace]) == 0 {
		f.turns = append(f.turns, n.Namespace)
	}
	f.queued[n.Namespace] = append(f.queued[n.Namespace], n)
	f.n++
}

// Len is how many there are.
func (f *fair) Len() int { return f.n }

// Pop takes the next one.
func (f *fair) Pop() purekube.Need {
	namespace := f.turns[0]
	f.turns = f.turns[1:]
	next := f.queued[namespace][0]
	if rest := f.queued[namespace][1:]; len(rest) > 0 {
		f.queued[namespace] = rest
		f.turns = append(f.turns, namespace)
	} else {
		delete(f.queued, namespace)
	}
	f.n--
	return next
}
