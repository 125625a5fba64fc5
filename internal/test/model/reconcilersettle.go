package model

import (
	"fmt"
	"slices"
	"time"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/reconcile"
)

// longest is how long a controller may take until everything is idle, after the last failure.
const longest = time.Hour

// settle is part of steps: nothing fails beyond what hangs.
func (m *reconcilerModel[X, S, A]) settle(
	st *reconcilerState[X, S, A], emit emit[*reconcilerState[X, S, A]],
) (idle string) {
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
	if after := m.looks(st); after != nil {
		emit(after, "", "the controller sees that its caches went back, and starts again")
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
	case len(st.confirming) > 0:
		after, how, broken := m.confirmWith(st, 0)
		emit(after, broken, "to confirm the plan of %s, %s", st.confirming[0].key, how)
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

// onlyVetoes reports whether nothing is left but keys that are planned again because of a veto, which never ends.
func (m *reconcilerModel[X, S, A]) onlyVetoes(st *reconcilerState[X, S, A]) bool {
	if m.world.Veto == nil || len(st.ticks) > 0 {
		return false
	}
	v := m.view(st)
	return !slices.ContainsFunc(st.later, func(a alarm) bool {
		d := m.fresh(v, a.key)
		return a.at < st.now+seconds(reconcile.PauseAfterRetries) || len(d.Actions) == 0 ||
			!m.world.Veto(d.Actions[0].Request(nil))
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

// leftToDo says what a key's plan asks for. A filter may leave the key out. A veto may be in the way, and the key is
// planned again then.
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
