package model

// happenings are the ways in which events can happen now.
func (m *model) happenings(st *state) []happening {
	fresh := m.inUse(st, true).free()
	m.buffer = append(st.appendServer(m.buffer[:0]), byte(fresh))
	m.buffer = append(m.buffer, st.counts...)
	m.buffer = append(m.buffer, st.ghost...)
	if hs, known := m.events[string(m.buffer)]; known {
		return hs
	}
	text := string(m.buffer)
	v := *m.serverView(st)
	v.Fresh, v.Ghost = fresh, st.ghost
	hs := m.cluster.happenings(&v, st.server, st.counts)
	if len(m.events) > maxRemembered {
		m.events = map[string][]happening{}
	}
	m.events[text] = hs
	return hs
}

// happen makes the event happen. ok is false when a cache would fall too far behind.
func (m *model) happen(st *state, h happening) (after *state, broken string, ok bool) {
	if !m.world.Events[h.event].Restores && !m.room(st, h.changes...) {
		return nil, "", false
	}
	before := m.serverView(st)
	after = st.clone()
	if m.world.Events[h.event].Max > 0 {
		after.counts[h.event]++
	}
	for _, c := range h.changes {
		m.write(after, c)
	}
	if m.world.Events[h.event].Restores {
		m.restore(after)
	}
	return after, m.check(after, Step{Before: before, Event: m.world.Events[h.event].Name}), true
}

// check updates what the guarantees remember, and checks them for the step to the state.
func (m *model) check(st *state, s Step) string {
	s.After = m.serverView(st)
	return m.cluster.check(&s, &st.ghost)
}

// judge returns what the guarantees remember of a step to the state, and the guarantee that the step breaks.
func (w Scenario) judge(s *Step) (ghost, broken string) {
	if w.Ghost != nil {
		s.Ghost = w.Ghost(s)
	}
	for _, p := range w.Guarantees {
		if broken := p.Broken(s); broken != "" {
			return s.Ghost, p.Name + ": " + broken
		}
	}
	return s.Ghost, ""
}
