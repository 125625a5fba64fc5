package model

import (
	"slices"
)

// restore is what the controller does when the API server was restored from a backup: it lists everything again.
// Assumed objects are in no list, so no event removes them. A call that is in progress fails.
func (m *model) restore(st *state) {
	if st.flight != 0 {
		st.enqueue(m.flights[st.flight].key)
		st.flight = 0
	}
	assumed := slices.Clone(st.assumed)
	for kind := range m.world.Kinds {
		m.list(st, kind)
	}
	st.assumed = nil
	if m.world.KeepsAssumed {
		st.assumed = assumed
	}
	for _, k := range m.world.Controller.Keys(m.cacheView(st)) {
		st.enqueue(m.key(k))
	}
}

// oldStart is a controller that starts from lists that are as old as the caches of the controller before it.
func (m *model) oldStart(st *state) *state {
	after := st.clone()
	after.assumed, after.gone, after.queue, after.timers, after.flight = nil, 0, nil, nil, 0
	for _, k := range m.world.Controller.Keys(m.cacheView(after)) {
		after.enqueue(m.key(k))
	}
	return after
}

// overtaken calls visit with the states in which what the plan's next write creates was deleted, and the caches show
// that, before the controller has the answer.
func (m *model) overtaken(st *state, visit func(after *state, broken, how string)) {
	a := m.ask(st, m.flights[st.flight])
	if !a.changed || a.content == 0 || m.store.places[a.place].resource != m.world.Assumes ||
		find(st.server, a.place) >= 0 {
		return
	}
	created, _, broken, ok := m.carry(st, false)
	if !ok || broken != "" {
		return
	}
	returned := created.assumed[find(created.assumed, a.place)]
	m.list(created, m.store.places[a.place].kind)
	for _, h := range m.happenings(created) {
		if !slices.ContainsFunc(h.changes, func(c change) bool { return c.place == a.place && c.content == 0 }) {
			continue
		}
		after, broken, ok := m.happen(created, h)
		if !ok {
			continue
		}
		m.list(after, m.store.places[a.place].kind)
		if m.world.Faults.Phantom {
			after.assumed = insertHeld(after.assumed, returned)
		}
		visit(after, broken, h.how)
	}
}
