package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/reconcile"
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
	if len(st.planning)+len(st.sending) < m.world.Workers && st.started {
		for _, key := range st.queue {
			emit(m.begin(st, key), "", "a worker takes %s", key)
		}
	}
	for _, key := range st.planning {
		after, how, broken := m.plan(st, key)
		emit(after, broken, "the plan of %s: %s", key, how)
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
	if after := m.lookAtCaches(st); after != nil {
		emit(after, "", "the controller looks at the versions of its caches")
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

func (m *reconcilerModel[X, S, A]) followSending(st *reconcilerState[X, S, A], i int, emit emit[*reconcilerState[X, S, A]]) {
	s := st.sending[i]
	if s.reply != nil {
		after, broken := m.hear(st, i)
		emit(after, broken, "the answer to a request of %s arrives", s.key)
		return
	}
	r := m.request(s)
	for _, o := range []outcome{answered, refused, unanswered} {
		if o != answered && st.faults == 0 || o == refused && !m.world.Faults.Refuse || o == unanswered && !m.world.Faults.LoseAnswer {
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
func (m *reconcilerModel[X, S, A]) hear(st *reconcilerState[X, S, A], i int) (after *reconcilerState[X, S, A], broken string) {
	after = m.calling(st)
	s := after.sending[i]
	returned, err := s.reply.returned, s.reply.err
	if !clock(st.now).Before(after.loop.Turn(s.key).WriteBy) {
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
	if to < 0 || slices.Contains(st.relist, true) || slices.ContainsFunc(st.pending, func(c shown) bool { return !c.listed && c.at+max(maxAgeOfCache, m.world.MaxAge) < to }) {
		return nil
	}
	after := m.calling(st)
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
	return after
}

// longest is how long a controller may take until everything is idle, after the last failure.
const longest = time.Hour

// settle is part of steps: nothing fails beyond what hangs.
func (m *reconcilerModel[X, S, A]) settle(st *reconcilerState[X, S, A], emit emit[*reconcilerState[X, S, A]]) (idle string) {
	if clock(st.now).Sub(Start) > m.world.Until+longest {
		return "at rest, within an hour: it goes on"
	}
	if len(st.sending) > 0 {
		if st.sending[0].reply != nil {
			after, broken := m.hear(st, 0)
			emit(after, broken, "the answer to a request of %s arrives", st.sending[0].key)
			return ""
		}
		if after, how, broken, ok := m.send(st, 0, answered); ok {
			emit(after, broken, "%s: %s", m.request(st.sending[0]), how)
			return ""
		}
	}
	if len(st.pending) > 0 {
		emit(m.catchUp(st, 0), "", "the handler sees %s", described{&m.cluster, st.pending[0].held})
		return ""
	}
	if kind := slices.Index(st.relist, true); kind >= 0 {
		emit(m.relist(st, kind), "", "the informer of %s lists again", m.world.Kinds[kind].Resource)
		return ""
	}
	if after := m.lookAtCaches(st); after != nil {
		emit(after, "", "the controller looks at the versions of its caches")
		return ""
	}
	if after, ok := m.begins(st); ok {
		emit(after, "", "the controller starts to plan")
		return ""
	}
	if st.stray != nil {
		after := st.clone()
		after.stray = nil
		emit(after, "", "the request of the replica before is lost")
		return ""
	}
	switch {
	case len(st.planning) > 0:
		after, how, broken := m.plan(st, st.planning[0])
		emit(after, broken, "the plan of %s: %s", st.planning[0], how)
		return ""
	case len(st.looking) > 0:
		emit(m.look(st, st.looking[0]), "", "%s is looked up", st.looking[0])
		return ""
	case len(st.calls) > 0 && !st.hangs:
		emit(m.found(st, st.calls[0], nil), "", "%s is answered", st.calls[0])
		return ""
	case len(st.queue) > 0:
		emit(m.begin(st, st.queue[0]), "", "a worker takes %s", st.queue[0])
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
	if m.onlyVetoes(st) {
		return m.idle(st)
	}
	if after := m.pass(st); after != nil {
		broken := m.check(after, Step{Before: m.view(st)})
		emit(after, broken, "it is %s", clock(after.now).Format(time.TimeOnly))
		return ""
	}
	return m.idle(st)
}

// onlyVetoes reports whether nothing is left but keys that are planned again because of a veto, which goes on for ever.
func (m *reconcilerModel[X, S, A]) onlyVetoes(st *reconcilerState[X, S, A]) bool {
	if m.world.Veto == nil || len(st.ticks) > 0 {
		return false
	}
	v := m.view(st)
	return !slices.ContainsFunc(st.later, func(a alarm) bool {
		d := m.fresh(v, a.key)
		return a.at < st.now+seconds(reconcile.PauseAfterRetries) || len(d.Actions) == 0 || !m.world.Veto(d.Actions[0].Request(nil))
	})
}

// idle says what is wrong with a state in which nothing happens any more.
func (m *reconcilerModel[X, S, A]) idle(st *reconcilerState[X, S, A]) string {
	v := m.view(st)
	if st.hangs && m.world.Hung != nil {
		return m.world.Hung(v)
	}
	for _, k := range m.world.Controller.Keys(v) {
		if broken := m.leftToDo(st, k, m.world.Controller.Plan(v, k, v)); broken != "" {
			return "at rest, a plan from scratch asks for nothing: the one for " + k + " asks " + broken
		}
	}
	if m.world.Rest != nil {
		return m.world.Rest(v)
	}
	return ""
}

// leftToDo says what a key's plan asks for. A filter may leave the key out. A veto may be in the way, and the key is planned
// again then.
func (m *reconcilerModel[X, S, A]) leftToDo(st *reconcilerState[X, S, A], k string, d Decision) string {
	key, err := purekube.ParseKey(k)
	if err != nil {
		key = purekube.Key{Name: k}
	}
	if m.world.Filter != nil && !m.world.Filter(key) {
		return ""
	}
	if len(d.Actions) > 0 {
		if m.world.Veto != nil && m.world.Veto(d.Actions[0].Request(nil)) {
			again := func(a alarm) bool { return a.key.String() == k || a.key.Name == k }
			if slices.ContainsFunc(st.later, again) {
				return ""
			}
			return "again after a veto, and nobody does"
		}
		return fmt.Sprintf("for %s", d.Actions[0])
	}
	if !d.RecheckAt.IsZero() {
		return fmt.Sprintf("to look again at %s", d.RecheckAt.Format(time.TimeOnly))
	}
	return ""
}
