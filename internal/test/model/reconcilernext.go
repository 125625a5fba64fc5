package model

import (
	"context"
	"errors"
	"slices"
	"time"
)

// state is part of steps.
func (m *reconcilerModel[X, S, A]) state(text string) *reconcilerState[X, S, A] {
	return m.states[text]
}

// changes is part of steps.
func (m *reconcilerModel[X, S, A]) changes(before, after *reconcilerState[X, S, A]) string {
	return m.cluster.changes(before.server, after.server)
}

// follow emits what the controller does, what goes wrong, and the passing of time.
func (m *reconcilerModel[X, S, A]) follow(st *reconcilerState[X, S, A], emit emit[*reconcilerState[X, S, A]]) {
	if after, ok := m.begins(st); ok {
		emit(after, "", "the controller starts to plan")
	}
	if len(st.planning)+len(st.confirming)+len(st.sending) < m.world.Workers && st.started {
		for _, key := range st.queue {
			emit(m.begin(st, key), "", "a worker takes %s", key)
		}
	}
	for _, key := range st.planning {
		after, how, broken := m.plan(st, key)
		emit(after, broken, "the plan of %s: %s", key, how)
	}
	for i, c := range st.confirming {
		after, how, broken := m.confirmWith(st, i)
		emit(after, broken, "to confirm the plan of %s, %s", c.key, how)
		if st.faults > 0 {
			after, broken := m.notConfirmed(st, i)
			emit(after, broken, "to confirm the plan of %s, a list fails", c.key)
		}
	}
	for i := range st.sending {
		m.followSending(st, i, emit)
	}
	if st.stray != nil {
		if after, how, broken, ok := m.arrive(st); ok {
			emit(after, broken, "%s of the replica before: %s", *st.stray, how)
		}
	}
	m.followLookups(st, emit)
	for kind, due := range st.relist {
		if due {
			emit(m.relist(st, kind), "", "the informer of %s lists again", m.world.Kinds[kind].Resource)
		}
	}
	if after := m.looks(st); after != nil {
		emit(after, "", "the controller sees that its caches went back, and starts again")
	}
	if st.faults > 0 {
		if m.world.Faults.Crash {
			after := st.clone()
			after.faults--
			m.restart(after)
			emit(after, "", "the controller stops, and starts again")
		}
		if m.world.Restores && len(st.planning) == 0 { // a restore takes longer than to make a plan
			emit(m.restore(st, false), "", "etcd is restored from a backup")
			emit(m.restore(st, true), "", "etcd is restored from a backup, and the watches have not delivered the last changes")
		}
	}
	if after := m.pass(st); after != nil && clock(after.now).Sub(Start) <= m.world.Until {
		broken := m.check(after, Step{Before: m.view(st)})
		emit(after, broken, "it is %s", clock(after.now).Format(time.TimeOnly))
	}
}

func (m *reconcilerModel[X, S, A]) followSending(
	st *reconcilerState[X, S, A], i int, emit emit[*reconcilerState[X, S, A]],
) {
	s := st.sending[i]
	if s.reply != nil {
		after, broken := m.hear(st, i)
		emit(after, broken, "the answer to a request of %s arrives", s.key)
		return
	}
	r := m.request(s)
	for _, o := range []outcome{answered, refused, unanswered} {
		if o != answered && st.faults == 0 || o == refused && !m.world.Faults.Refuse || o == unanswered &&
			!m.world.Faults.LoseAnswer {
			continue
		}
		if after, how, broken, ok := m.send(st, i, o); ok {
			if o != answered {
				after.faults--
			}
			emit(after, broken, "%s: %s", r, how)
		}
	}
	if !m.world.Replicas || st.faults == 0 || st.stray != nil {
		return
	}
	if m.overlap() > 0 {
		emit(m.handOver(st, i), "", "another replica gets the Lease, while %s is on its way", r)
	}
	if m.world.Overlap == 0 {
		if after, how, broken, ok := m.handOverAfter(st, i); ok {
			emit(after, broken, "%s: %s; the answer does not arrive, and another replica gets the Lease", r, how)
		}
	}
}

func (m *reconcilerModel[X, S, A]) followLookups(st *reconcilerState[X, S, A], emit emit[*reconcilerState[X, S, A]]) {
	for _, n := range st.looking {
		emit(m.look(st, n), "", "%s is looked up", n)
	}
	if !st.hangs {
		for _, n := range st.calls {
			emit(m.found(st, n, nil), "", "%s is answered", n)
			if st.faults > 0 {
				after := m.found(st, n, errors.New("the API server is away"))
				after.faults--
				emit(after, "", "%s fails", n)
			}
		}
	}
	if m.world.Hangs && (st.faults > 0 || st.hangs) {
		after := st.clone()
		after.hangs = !st.hangs
		if after.hangs {
			after.faults--
			emit(after, "", "lookups are not answered any more")
		} else {
			emit(after, "", "lookups are answered again")
		}
	}
}

// hear hands an answer that has arrived to the controller. It is too late after the plan's deadline.
func (m *reconcilerModel[X, S, A]) hear(
	st *reconcilerState[X, S, A], i int,
) (after *reconcilerState[X, S, A], broken string) {
	after = m.calling(st)
	s := after.sending[i]
	returned, err := s.reply.returned, s.reply.err
	if !clock(st.now).Before(after.loop.Turns[s.key].WriteBy) {
		returned, err = nil, context.DeadlineExceeded
		after.sent = slices.DeleteFunc(after.sent, func(r sent) bool { return r.key == s.key })
	}
	return after, m.replied(after, i, m.request(s), returned, err)
}

// pass lets time go on to the next alarm; nil: there is none, or a handler would see something too late.
func (m *reconcilerModel[X, S, A]) pass(st *reconcilerState[X, S, A]) *reconcilerState[X, S, A] {
	to := -1
	for _, alarms := range [][]alarm{st.later, st.ticks} {
		if len(alarms) > 0 && (to < 0 || alarms[0].at < to) {
			to = alarms[0].at
		}
	}
	if to < 0 || slices.Contains(st.relist, true) || slices.ContainsFunc(st.pending, func(c shown) bool {
		return !c.listed && c.at+max(maxAgeOfCache, m.world.MaxAge) < to
	}) {
		return nil
	}
	after := m.calling(st)
	m.passTo(after, to)
	return after
}

// passTo lets time go on, and queues what is due then. The state is the one being called.
func (m *reconcilerModel[X, S, A]) passTo(after *reconcilerState[X, S, A], to int) {
	after.now = to
	for len(after.ticks) > 0 && after.ticks[0].at <= to {
		key := after.ticks[0].key
		after.ticks = after.ticks[1:]
		if after.loop.Tick(clock(to), key) {
			after.enqueue(key)
		}
	}
	for len(after.later) > 0 && after.later[0].at <= to {
		after.enqueue(after.later[0].key)
		after.later = after.later[1:]
	}
	if to > after.strayUntil {
		after.stray = nil
	}
}
