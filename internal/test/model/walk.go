package model

import "fmt"

// steps are the steps that a model of states St takes. Both models of this package are searched through it.
type steps[St any] interface {
	// start returns the text of the first state.
	start() string
	// state returns the state of a text that finish returned.
	state(text string) St
	// finish brings a state into the form in which it is compared, and returns that.
	finish(St) string
	// changes says what is different at the API server.
	changes(before, after St) string
	// happenings are the ways in which events can happen now, and happen lets one of them happen. ok is false when a
	// cache would fall too far behind.
	happenings(St) []happening
	happen(St, happening) (after St, broken string, ok bool)
	// pending are the changes that caches have yet to show, by kind; catchUp shows one of them.
	pending(St) []held
	catchUp(st St, i int) St
	// follow emits all other steps.
	follow(St, emit[St])
	// settle emits the one step that comes next when users do nothing and nothing fails. If there is none, it says
	// what is wrong with the idle state.
	settle(St, emit[St]) (idle string)
}

// emit is called with the state after a step, the guarantee that the step breaks, and what the step is.
type emit[St any] func(after St, broken, format string, args ...any)

// walked is a model as something to search.
type walked[St any] struct {
	steps[St]
	cluster *cluster
	// sees are the words for a cache that shows a change.
	sees string
}

// next is part of system.
func (w walked[St]) next(text string, telling bool, visit func(step, state, broken string)) {
	st := w.state(text)
	do := func(after St, broken, format string, args ...any) {
		step := ""
		if telling {
			step = fmt.Sprintf(format, args...) + w.changes(st, after)
		}
		visit(step, w.finish(after), broken)
	}
	for _, h := range w.happenings(st) {
		if after, broken, ok := w.happen(st, h); ok {
			do(after, broken, "%s", h.how)
		}
	}
	pending := w.pending(st)
	for i, h := range pending {
		if i == 0 || w.cluster.kind(pending[i-1]) != w.cluster.kind(h) {
			do(w.catchUp(st, i), "", "%s %s", w.sees, described{w.cluster, h})
		}
	}
	w.follow(st, do)
}

// settle is part of system.
func (w walked[St]) settle(text string, telling bool) (step, after string, ok bool, broken string) {
	st := w.state(text)
	idle := w.steps.settle(st, func(next St, wrong, format string, args ...any) {
		if telling {
			step = fmt.Sprintf(format, args...) + w.changes(st, next)
		}
		after, ok, broken = w.finish(next), true, wrong
	})
	if !ok {
		broken = idle
	}
	return step, after, ok, broken
}
