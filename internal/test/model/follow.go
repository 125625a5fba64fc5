package model

import (
	"fmt"
	"time"
)

// follow emits what the controller does, what goes wrong, and the passing of time.
func (m *model) follow(st *state, emit emit[*state]) {
	if st.flight == 0 {
		v := m.cacheView(st)
		for _, key := range st.queue {
			emit(m.begin(st, v, key), "", "a plan is made for %s: %s", m.keys[key], m.actionsOf(v, key, st))
		}
	} else {
		request := m.flights[st.flight].request
		if after, outcome, broken, ok := m.carry(st, false); ok {
			emit(after, broken, "%s: %s", request, outcome)
		}
		if m.world.Faults.Overtake {
			m.overtaken(st, func(after *state, broken, how string) {
				emit(after, broken, "%s: carried out; %s, and the controller sees that before the answer", request, how)
			})
		}
		if m.world.Faults.Refuse {
			emit(m.refuse(st), "", "%s: refused, by a webhook, say", request)
		}
		if m.world.Faults.LoseAnswer {
			if after, outcome, broken, ok := m.carry(st, true); ok {
				emit(after, broken, "%s: %s", request, outcome)
			}
		}
	}
	if m.world.Faults.Crash && (st.flight != 0 || st.assumed != nil || st.gone != 0) {
		after := st.clone()
		m.restart(after)
		emit(after, "", "the controller stops, and starts again")
	}
	if m.world.Faults.OldStart && len(st.pending) > 0 {
		emit(m.oldStart(st), "", "the controller stops, and starts again from lists that are old")
	}
	if after, broken := m.timeStep(st, true); after != nil {
		emit(after, broken, "it is %s", clock(int(after.now)).Format(time.TimeOnly))
	}
}

func (m *model) settle(st *state, emit emit[*state]) (idle string) {
	if st.flight != 0 {
		if after, outcome, broken, ok := m.carry(st, false); ok {
			emit(after, broken, "%s: %s", m.flights[st.flight].request, outcome)
			return ""
		}
	}
	if len(st.pending) > 0 {
		emit(m.catchUp(st, 0), "", "the controller's cache shows %s", described{&m.cluster, st.pending[0]})
		return ""
	}
	if len(st.queue) > 0 {
		v := m.cacheView(st)
		emit(m.begin(st, v, st.queue[0]), "", "a plan is made for %s: %s", m.keys[st.queue[0]],
			m.actionsOf(v, st.queue[0], st))
		return ""
	}
	for _, h := range m.happenings(st) {
		if m.world.Events[h.event].Settles {
			if after, broken, ok := m.happen(st, h); ok {
				emit(after, broken, "%s", h.how)
				return ""
			}
		}
	}
	if after, broken := m.timeStep(st, false); after != nil {
		emit(after, broken, "it is %s", clock(int(after.now)).Format(time.TimeOnly))
		return ""
	}
	return m.atRest(st)
}

// atRest says what is wrong with a state in which nothing happens any more.
func (m *model) atRest(st *state) string {
	fresh := st.clone()
	m.restart(fresh)
	v := m.cacheView(fresh)
	for _, key := range fresh.queue {
		p := m.plan(v, key, fresh)
		if p.flight != 0 {
			return fmt.Sprintf("at rest, a plan from scratch asks for nothing: the one for %s asks for %s", m.keys[key],
				m.actionsOf(v, key, fresh))
		}
		if p.recheck != 0 {
			return fmt.Sprintf("at rest, a plan from scratch asks for nothing: the one for %s asks to look again at %s",
				m.keys[key], p.RecheckAt.Format(time.TimeOnly))
		}
	}
	if m.world.Rest != nil {
		return m.world.Rest(m.serverView(st))
	}
	return ""
}
