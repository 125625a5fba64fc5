package model

import (
	"errors"
	"slices"

	"github.com/purekube/purekube/internal/reconcile"
)

var errRestored = errors.New("the API server was restored from a backup")

// restore puts the API server back to its backup: objects have the UIDs and resourceVersions of then, and the next
// write gets the next resourceVersion of then. The API server is away for longer than a plan may take and than an
// answer may be old: what plans have not sent fails. With lost, the changes that the handlers have yet to see are lost.
func (m *reconcilerModel[X, S, A]) restore(st *reconcilerState[X, S, A], lost bool) *reconcilerState[X, S, A] {
	after := m.calling(st)
	after.faults--
	before := m.view(st)
	m.passTo(after, st.now+seconds(reconcile.MaxAgeOfAnswers))
	after.server, after.revision, after.stray = slices.Clone(m.backup), m.revision, nil
	if lost {
		after.pending = slices.DeleteFunc(after.pending, func(c shown) bool { return !c.listed && !c.told })
	}
	for kind := range after.relist {
		after.relist[kind] = true
	}
	for i, s := range after.sending {
		after.sending[i].actions, after.sending[i].reply = s.actions[:len(s.done)+1], &reply{nil, errRestored}
	}
	after.sent = nil // what was written is not there any more
	m.check(after, Step{Before: before, Event: "restored"})
	return after
}

// relist is the informer of a kind that lists again, since its watch has ended: its handler sees what is different.
func (m *reconcilerModel[X, S, A]) relist(st *reconcilerState[X, S, A], kind int) *reconcilerState[X, S, A] {
	after := st.clone()
	after.relist[kind] = false
	known := map[placeID]held{}
	for _, h := range after.cached {
		known[h.place] = h
	}
	for _, c := range after.pending {
		known[c.place] = c.held
	}
	var changed []held
	for _, h := range after.server {
		if before, there := known[h.place]; m.kind(h) == kind && (!there || before != h) {
			changed = append(changed, h)
		}
	}
	for place, h := range known {
		if m.kind(h) == kind && h.content != 0 && find(after.server, place) < 0 {
			changed = append(changed, held{place, 0, h.version}) // the handler gets the last state that it saw
		}
	}
	slices.SortFunc(changed, func(a, b held) int { return int(a.place) - int(b.place) })
	for _, h := range changed {
		m.show(after, shown{held: h, at: st.now, missed: h.content == 0})
	}
	after.at[kind] = after.revision
	return after
}

// restored reports whether a cache is at an older version than it was. The controller ends then, and starts again.
func (m *reconcilerModel[X, S, A]) restored(st *reconcilerState[X, S, A]) bool {
	back := false
	for kind, version := range st.at {
		back = back || version < st.lookedAt[kind]
	}
	return back && !m.world.Broken.MissesRestore
}

// lookAtCaches is what clientgo does before each turn and every few seconds: it looks at the versions of the caches.
func (m *reconcilerModel[X, S, A]) lookAtCaches(st *reconcilerState[X, S, A]) {
	if m.restored(st) {
		m.restart(st)
		return
	}
	copy(st.lookedAt, st.at)
}

// looks returns the state after a look without a turn; nil: it notices nothing.
func (m *reconcilerModel[X, S, A]) looks(st *reconcilerState[X, S, A]) *reconcilerState[X, S, A] {
	if m.world.Broken.LooksBeforeTurnsOnly || !m.restored(st) {
		return nil
	}
	after := st.clone()
	m.restart(after)
	return after
}
