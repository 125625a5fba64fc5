package model

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/purekube/purekube"
)

// show adds a change that the handlers have yet to see, after the others of its kind.
func (m *reconcilerModel[X, S, A]) show(st *reconcilerState[X, S, A], c shown) {
	if slices.Contains(m.world.Unwatched, m.store.places[c.place].resource.Resource) {
		return
	}
	kind := m.kind(c.held)
	if st.relist != nil && !c.listed {
		if st.relist[kind] {
			return // the list will have it
		}
		st.at[kind] = c.version
	}
	i := len(st.pending)
	for i > 0 && m.kind(st.pending[i-1].held) > kind {
		i--
	}
	st.pending = slices.Insert(st.pending, i, c)
}

// write makes a change at the API server.
func (m *reconcilerModel[X, S, A]) write(st *reconcilerState[X, S, A], c change) held {
	st.revision++
	h := held{c.place, c.content, st.revision}
	st.server = removeHeld(st.server, c.place)
	if c.content != 0 {
		st.server = insertHeld(st.server, h)
	}
	m.show(st, shown{held: h, at: st.now})
	return h
}

func (m *reconcilerModel[X, S, A]) room(st *reconcilerState[X, S, A], changes ...change) bool {
	behind := make([]int, len(m.world.Kinds))
	for _, c := range st.pending {
		if !c.listed {
			behind[m.kind(c.held)]++
		}
	}
	for _, c := range changes {
		kind := m.store.places[c.place].kind
		if behind[kind]++; behind[kind] > m.world.Lag {
			return false
		}
	}
	return true
}

func (m *reconcilerModel[X, S, A]) pending(st *reconcilerState[X, S, A]) []held {
	var hs []held
	for _, c := range st.pending {
		hs = append(hs, c.held)
	}
	return hs
}

// catchUp lets the handler of a kind see its next change. What is remembered of a deletion is told of it before.
func (m *reconcilerModel[X, S, A]) catchUp(st *reconcilerState[X, S, A], i int) *reconcilerState[X, S, A] {
	after := m.calling(st)
	c := after.pending[i]
	p := m.store.places[c.place]
	var before, now Object
	if i := find(after.cached, c.place); i >= 0 {
		before = m.store.object(after.cached[i])
	}
	if c.content != 0 {
		now = m.store.object(c.held)
	}
	gone := before != nil && (now == nil || before.GetUID() != now.GetUID())
	if gone && m.world.Gone != nil && !c.told {
		if change, fact := m.world.Gone(before, after.memory); change != nil {
			after.pending[i].told = true
			m.event(after, schema.GroupResource{}, "", func(x *noted[X, S, A]) (*noted[X, S, A], []purekube.Key) {
				facts := maps.Clone(x.facts)
				facts[deletedFact+fact] = ""
				if m.world.Broken.ForgetsDeleted {
					return m.note(x.index, facts), nil
				}
				index, keys := change(x.index)
				return m.note(index, facts), keys
			})
			return after
		}
	}
	after.pending = slices.Delete(after.pending, i, i+1)
	after.cached = removeHeld(after.cached, c.place)
	event := func(version string, o Object, fact string, without bool) {
		m.event(after, p.resource.GroupResource(), version, func(x *noted[X, S, A]) (*noted[X, S, A], []purekube.Key) {
			s, facts := m.world.As(o, clock(after.now), after.memory)
			n := notes[S]{s, map[string]string{p.resource.Resource + "/" + p.name: fact}}
			maps.Copy(n.facts, facts)
			if without {
				return x.Without(n)
			}
			return x.With(n)
		})
	}
	version := strconv.Itoa(int(c.version))
	if gone {
		last := version
		if now != nil || c.missed { // the last state says nothing new
			last = ""
		}
		event(last, before, "", true)
	}
	if now != nil {
		if !m.hidden(now) {
			event(version, now, fmt.Sprintf("#%d@%d", c.content, c.version), false)
		}
		after.cached = insertHeld(after.cached, c.held)
	}
	after.sent = slices.DeleteFunc(after.sent, func(s sent) bool { return s.kind == p.kind && s.version <= c.version })
	return after
}

// hidden reports whether a filter keeps the object from the Index, which is a defect.
func (m *reconcilerModel[X, S, A]) hidden(o Object) bool {
	return m.world.Broken.HidesFiltered && !m.world.Filter(m.world.KeyOf(o))
}

// event is an event of an informer: the loop says what to queue.
func (m *reconcilerModel[X, S, A]) event(st *reconcilerState[X, S, A], resource schema.GroupResource, version string,
	change func(*noted[X, S, A]) (*noted[X, S, A], []purekube.Key)) {
	for _, key := range st.loop.Event(resource, version, change) {
		if !m.world.Broken.DropsWhileProcessing || !st.busy(key) {
			st.enqueue(key)
		}
	}
}

// begins lets turns begin, and reports whether they may.
func (m *reconcilerModel[X, S, A]) begins(st *reconcilerState[X, S, A]) (after *reconcilerState[X, S, A], ok bool) {
	if st.started {
		return nil, false
	}
	after = m.calling(st)
	keys, _, started := after.loop.Start(clock(st.now))
	after.started = started
	for _, key := range keys {
		after.enqueue(key)
	}
	return after, started
}
