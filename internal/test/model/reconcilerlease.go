package model

// handOver is another replica that gets the Lease. A request of the replica before may be on its way for a while.
func (m *reconcilerModel[X, S, A]) handOver(st *reconcilerState[X, S, A], i int) *reconcilerState[X, S, A] {
	after := st.clone()
	after.faults--
	r := m.request(st.sending[i])
	after.stray, after.strayUntil = &r, st.now+m.overlap()
	m.restart(after)
	return after
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
func (m *reconcilerModel[X, S, A]) handOverAfter(st *reconcilerState[X, S, A], i int) (after *reconcilerState[X, S, A], how, broken string, ok bool) {
	after = st.clone()
	after.faults--
	_, _, _, broken, ok, err := m.do(after, m.request(st.sending[i]))
	if !ok {
		return nil, "", "", false
	}
	m.restart(after)
	return after, done(err), broken, true
}

// arrive is the arrival of the request of the replica before.
func (m *reconcilerModel[X, S, A]) arrive(st *reconcilerState[X, S, A]) (after *reconcilerState[X, S, A], how, broken string, ok bool) {
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
