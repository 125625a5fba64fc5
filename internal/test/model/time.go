package model

import (
	"time"
)

// pass lets time go on to the earliest RecheckAt.
func (m *model) pass(st *state) *state {
	at := st.timers[0].at
	for _, t := range st.timers {
		at = min(at, t.at)
	}
	after := st.clone()
	after.now = at
	for _, t := range st.timers {
		if t.at == at {
			after.setTimer(t.key, 0)
			after.enqueue(t.key)
		}
	}
	return after
}

// timeStep is the state after time has passed, nil if it may not.
func (m *model) timeStep(st *state, bounded bool) (after *state, broken string) {
	if st.flight != 0 || len(st.pending) > 0 || len(st.timers) == 0 {
		return nil, ""
	}
	after = m.pass(st)
	if bounded && time.Duration(after.now)*time.Second > m.world.Until {
		return nil, ""
	}
	return after, m.check(after, Step{Before: m.serverView(st)})
}
