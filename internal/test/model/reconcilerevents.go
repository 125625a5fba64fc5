package model

// happenings are the ways in which events can happen now.
func (m *reconcilerModel[X, S, A]) happenings(st *reconcilerState[X, S, A]) []happening {
	v := m.view(st)
	v.Fresh = st.numbers.free()
	return m.cluster.happenings(v, st.server, st.counts)
}

func (m *reconcilerModel[X, S, A]) happen(
	st *reconcilerState[X, S, A], h happening,
) (after *reconcilerState[X, S, A], broken string, ok bool) {
	if !m.room(st, h.changes...) {
		return nil, "", false
	}
	after = st.clone()
	if m.world.Events[h.event].Max > 0 {
		after.counts[h.event]++
	}
	for _, c := range h.changes {
		m.write(after, c)
	}
	return after, m.check(after, Step{Before: m.view(st), Event: m.world.Events[h.event].Name}), true
}
