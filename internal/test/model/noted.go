package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/purekube/purekube"
)

// noted is an Index and what is in it, as facts: two with the same facts decide the same, if more says the same of
// both.
type noted[X purekube.Index[X, S, A], S any, A purekube.Action] struct {
	index X
	facts map[string]string
	text  string
	more  func(X) string
}

// notes are a Snapshot and the facts about it.
type notes[S any] struct {
	snapshot S
	facts    map[string]string
}

func note[X purekube.Index[X, S, A], S any, A purekube.Action](
	index X, facts map[string]string, more func(X) string,
) *noted[X, S, A] {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(facts)) {
		fmt.Fprintf(&b, "%s=%s;", name, facts[name])
	}
	if more != nil {
		b.WriteString(more(index))
	}
	return &noted[X, S, A]{index, facts, b.String(), more}
}

// With is part of purekube.Index.
func (n *noted[X, S, A]) With(s notes[S]) (*noted[X, S, A], []purekube.Key) {
	next, affected := n.index.With(s.snapshot)
	facts := maps.Clone(n.facts)
	maps.Copy(facts, s.facts)
	return note[X, S, A](next, facts, n.more), affected
}

// Without is part of purekube.Index.
func (n *noted[X, S, A]) Without(s notes[S]) (*noted[X, S, A], []purekube.Key) {
	next, affected := n.index.Without(s.snapshot)
	facts := maps.Clone(n.facts)
	maps.DeleteFunc(facts, func(name, _ string) bool { _, gone := s.facts[name]; return gone })
	return note[X, S, A](next, facts, n.more), affected
}

// Plan is part of purekube.Index.
func (n *noted[X, S, A]) Plan(key purekube.Key) (purekube.Result[A], error) { return n.index.Plan(key) }

// PlanAll is part of purekube.Index.
func (n *noted[X, S, A]) PlanAll() ([]purekube.Outcome[A], error) { return n.index.PlanAll() }

// Err is part of purekube.Index.
func (n *noted[X, S, A]) Err() error { return n.index.Err() }
