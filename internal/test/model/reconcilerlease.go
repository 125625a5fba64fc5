package model

import "slices"

// handOver is another replica that gets the Lease. A request of the replica before may be on its way for a while.
func (m *reconcilerModel[X, S, A]) handOver(st *reconcilerState[X, S, A], i int) *reconcilerState[X, S, A] {
	after := st.clone()
	after.faults--
	r := m.request(st.sending[i])
	after.stray, after.strayUntil = &r, st.now+m.overlap()
	m.lead(after)
	return after
}

// lead is the start of the replica that gets the Lease: its informers list then, and it remembers nothing.
func (m *reconcilerModel[X, S, A]) lead(st *reconcilerState[X, S, A]) {
	before := st.memory
	m.restart(st)
	if m.world.Broken.RemembersBeforeLease {
		st.memory = m.world.Standby(before)
	}
	if m.world.Broken.WatchesBeforeLease { // it has listed when the search began, and is behind since then
		st.pending = nil
		for _, h := range m.backup {
			m.show(st, shown{held: h, at: st.now, listed: true})
			if find(st.server, h.place) < 0 {
				m.show(st, shown{held: held{h.place, 0, h.version}, at: st.now})
			}
		}
		for _, h := range st.server {
			if !slices.Contains(m.backup, h) {
				m.show(st, shown{held: h, at: st.now})
			}
		}
	}
}

// overlap is for how long a request of the replica before may be on its way. One that does not look at the Lease sends
// it later.
func (m *reconcilerModel[X, S, A]) overlap() int {
	if m.world.Broken.SendsWithoutLease {
		return m.world.Overlap + 5
	}
	return m.world.Overlap
}

// handOverAfter is another replica that gets the Lease when the request of the replica before has arrived.
func (m *reconcilerModel[X, S, A]) handOverAfter(
	st *reconcilerState[X, S, A], i int,
) (after *reconcilerState[X, S, A], how, broken string, ok bool) {
	after = st.clone()
	after.faults--
	_, _, _, broken, ok, err := m.do(after, m.request(st.sending[i]))
	if !ok {
		return nil, "", "", false
	}
	m.lead(after)
	return after, done(err), broken, true
}

// arrive is the arrival of the request of the replica before.
func (m *reconcilerModel[X, S, A]) arrive(
	st *reconcilerState[X, S, A],
) (after *reconcilerState[X, S, A], how, broken string, ok bool) {
	after = st.clone()
	after.stray = nil
	_, _, _, broken, ok, err := m.do(after, *st.stray)
	return after, done(err), broken, ok
}

func done(err error) string {
	if err != nil {
		return "refused: " + err.Error()
	}
	return "carried out"
}
