package model

import (
	"slices"
)

// room reports whether the cache of the place's kind may lag by one more change.
func (m *model) room(st *state, changes ...change) bool {
	behind := make([]int, len(m.lagging))
	for _, h := range st.pending {
		behind[m.store.places[h.place].kind]++
	}
	for _, c := range changes {
		kind := m.store.places[c.place].kind
		behind[kind]++
		if m.lagging[kind] && behind[kind] > m.world.Lag {
			return false
		}
	}
	return true
}

// write makes a change at the API server, and hands it to the cache or to what is pending.
func (m *model) write(st *state, c change) held {
	h := held{c.place, c.content, m.newest(st, c.place) + 1}
	if c.content == 0 {
		st.server = removeHeld(st.server, c.place)
	} else {
		st.server = insertHeld(st.server, h)
	}
	kind := m.store.places[c.place].kind
	if !m.lagging[kind] {
		m.show(st, h)
		return h
	}
	at := len(st.pending)
	for at > 0 && m.store.places[st.pending[at-1].place].kind > kind {
		at--
	}
	st.pending = slices.Insert(st.pending, at, h)
	return h
}

// show makes a change visible in the cache, and queues what it affects.
func (m *model) show(st *state, h held) {
	var oldObj, newObj Object
	if i := find(st.cached, h.place); i >= 0 {
		oldObj = m.store.object(st.cached[i])
	}
	if h.content == 0 {
		st.cached = removeHeld(st.cached, h.place)
	} else {
		newObj = m.store.object(h)
		st.cached = insertHeld(st.cached, h)
	}
	resource := m.store.places[h.place].resource
	if i := find(st.assumed, h.place); i >= 0 && resource == m.world.Assumes && st.assumed[i].version <= h.version {
		st.assumed = slices.Delete(st.assumed, i, i+1)
	}
	replaced := oldObj != nil && newObj != nil && oldObj.GetUID() != newObj.GetUID()
	if resource == m.world.Remembers && oldObj != nil && (newObj == nil || replaced) {
		st.gone |= 1 << uidNumber(oldObj.GetUID())
	}
	v := m.cacheView(st)
	for _, k := range m.world.Controller.Affected(v, oldObj, newObj) {
		st.enqueue(m.key(k))
	}
}

// catchUp shows the oldest change of a kind that its cache does not show yet.
func (m *model) catchUp(st *state, i int) *state {
	after := st.clone()
	h := after.pending[i]
	after.pending = slices.Delete(after.pending, i, i+1)
	m.show(after, h)
	return after
}

// list brings the cache of a kind up to date.
func (m *model) list(st *state, kind int) {
	for i := 0; i < len(st.pending); {
		if h := st.pending[i]; m.store.places[h.place].kind == kind {
			st.pending = slices.Delete(st.pending, i, i+1)
			m.show(st, h)
		} else {
			i++
		}
	}
}
