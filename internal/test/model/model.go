package model

import (
	"slices"
)

// model is a scenario in a form that can be searched.
type model struct {
	cluster
	keys    []string
	keyIDs  map[string]uint16
	views   map[string]*View
	flights []*flight
	// flightIDs are by what is still to be sent.
	flightIDs map[string]uint32
	events    map[string][]happening
	answers   map[call]answer
	requests  map[string]int
	lagging   []bool  // by kind
	kept      numbers // of the world's Backup
	buffer    []byte
}

// Search goes breadth first through all states of the world within the bounds.
func Search(w Scenario, liveness bool, b Bounds) Report {
	return search(w.Name, newModel(w).walked(), liveness, b)
}

func newModel(w Scenario) *model {
	m := &model{cluster: cluster{&w, newStore(w.Kinds)}, keyIDs: map[string]uint16{}, flightIDs: map[string]uint32{},
		flights:  make([]*flight, 1),
		requests: map[string]int{}, lagging: make([]bool, len(w.Kinds))}
	m.forget()
	for i, k := range w.Kinds {
		m.lagging[i] = w.Lag > 0 && !slices.Contains(w.Current, k)
	}
	for _, o := range w.Backup {
		m.kept |= m.store.contents[m.store.intern(o, nil)].numbers
	}
	return m
}

// forget drops what only saves time.
func (m *model) forget() {
	m.views, m.events, m.answers = map[string]*View{}, map[string][]happening{}, map[call]answer{}
}

// maxRemembered bounds each of the maps that only save time.
const maxRemembered = 400_000

func (m *model) key(name string) uint16 {
	id, known := m.keyIDs[name]
	if !known {
		id = uint16(len(m.keys))
		m.keys = append(m.keys, name)
		m.keyIDs[name] = id
	}
	return id
}

func (m *model) start() string {
	st := &state{counts: make([]uint8, len(m.world.Events))}
	for _, o := range m.world.Objects {
		id := m.store.intern(o, nil)
		st.server = insertHeld(st.server, held{m.store.contents[id].place, id, 1})
	}
	m.restart(st)
	return m.finish(st)
}

// restart is what the controller does when it starts.
func (m *model) restart(st *state) {
	st.cached = slices.Clone(st.server)
	st.pending, st.assumed, st.gone, st.queue, st.timers, st.flight = nil, nil, 0, nil, nil, 0
	for _, k := range m.world.Controller.Keys(m.cacheView(st)) {
		st.enqueue(m.key(k))
	}
}

// finish brings a state into the form in which it is compared, and returns it as a string.
func (m *model) finish(st *state) string {
	// UIDs that nothing has any more cannot be used again.
	if st.gone != 0 {
		st.gone &= m.inUse(st, false)
	}
	m.drain(st)
	m.compress(st)
	m.buffer = st.encode(m.buffer[:0])
	return string(m.buffer)
}

// walked is the model as something to search.
func (m *model) walked() walked[*state] {
	return walked[*state]{m, &m.cluster, "the controller's cache shows"}
}

func (m *model) state(text string) *state { return decode(text) }

func (m *model) pending(st *state) []held { return st.pending }

func (m *model) changes(before, after *state) string {
	return m.cluster.changes(before.server, after.server)
}
