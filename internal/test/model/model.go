package model

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/apiserver"
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

// planned is a Decision, and the plan that it begins; 0: there is nothing to write.
type planned struct {
	Decision
	recheck int32 // seconds; 0: none
	flight  uint32
}

// flight is a plan whose requests are being sent.
type flight struct {
	key     uint16
	actions []purekube.Action
	done    []runtime.Object
	// request is the next one.
	request   purekube.Request
	requestID int
	numbers   numbers
	// versions are the resourceVersions in what is still to be sent.
	versions map[placeID][]int32
}

// call is everything that the API server's answer to a request depends on.
type call struct {
	before  held
	request int
	fresh   int
	now     int32
}

type answer struct {
	err      error
	changed  bool
	place    placeID
	content  contentID // 0: gone
	returned contentID
}

// Search goes breadth first through all states of the world within the bounds.
func Search(w World, liveness bool, b Bounds) Report {
	return search(w.Name, newModel(w).walked(), liveness, b)
}

func newModel(w World) *model {
	m := &model{cluster: cluster{&w, newStore(w.Kinds)}, keyIDs: map[string]uint16{}, flightIDs: map[string]uint32{}, flights: make([]*flight, 1),
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

// view returns the objects as plans and guarantees see them.
func (m *model) view(text string, now int32, objects, assumed []held, gone numbers) *View {
	if v := m.views[text]; v != nil {
		return v
	}
	if len(m.views) > maxRemembered {
		m.forget()
	}
	v := &View{Now: clock(int(now)), gone: gone, plans: map[uint16]*planned{}}
	for _, h := range objects {
		v.objects = append(v.objects, m.store.object(h))
	}
	for _, h := range assumed {
		v.Assumed = append(v.Assumed, m.store.object(h))
	}
	m.views[strings.Clone(text)] = v
	return v
}

// cacheView is what plans are made from.
func (m *model) cacheView(st *state) *View {
	m.buffer = st.appendView(m.buffer[:0])
	if v := m.views[string(m.buffer)]; v != nil {
		return v
	}
	return m.view(string(m.buffer), st.now, st.cached, st.assumed, st.gone)
}

// serverView is what the API server has.
func (m *model) serverView(st *state) *View {
	m.buffer = st.appendServer(m.buffer[:0])
	if v := m.views[string(m.buffer)]; v != nil {
		return v
	}
	return m.view(string(m.buffer), st.now, st.server, nil, 0)
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

// drain takes the keys off the queue whose plan asks for nothing.
func (m *model) drain(st *state) {
	if len(st.queue) == 0 {
		return
	}
	v := m.cacheView(st)
	for i := 0; i < len(st.queue); {
		key := st.queue[i]
		p := m.plan(v, key, st)
		if p.flight != 0 {
			i++
			continue
		}
		st.queue = slices.Delete(st.queue, i, i+1)
		st.setTimer(key, p.recheck)
	}
}

// plan decides about the key, with lookups at the API server if need be.
func (m *model) plan(v *View, key uint16, st *state) *planned {
	if p := v.plans[key]; p != nil {
		return p
	}
	live := ""
	if v.needs[key] {
		live = m.liveKey(key, st)
		if p := v.live[live]; p != nil {
			return p
		}
	}
	var d Decision
	if !v.needs[key] {
		d = m.world.Controller.Plan(v, m.keys[key], nil)
	}
	if len(d.Needs) > 0 || v.needs[key] {
		if v.needs == nil {
			v.needs, v.live = map[uint16]bool{}, map[string]*planned{}
		}
		v.needs[key] = true
		if live == "" {
			live = m.liveKey(key, st)
		}
		d = m.world.Controller.Plan(v, m.keys[key], m.serverView(st))
		if len(d.Needs) > 0 {
			panic(fmt.Sprintf("%s: needs beyond the answers: %v", m.keys[key], d.Needs))
		}
	}
	p := &planned{Decision: d}
	if !d.RecheckAt.IsZero() {
		p.recheck = int32((d.RecheckAt.Sub(Start) + time.Second - 1) / time.Second)
	}
	p.flight = m.flight(key, d.Actions, nil)
	if live != "" {
		v.live[live] = p
	} else {
		v.plans[key] = p
	}
	return p
}

func (m *model) liveKey(key uint16, st *state) string {
	return strconv.Itoa(int(key)) + " " + string(st.appendServer(nil))
}

// flight returns the number of the plan whose first requests have the answers in done.
func (m *model) flight(key uint16, actions []purekube.Action, done []runtime.Object) uint32 {
	if len(done) == len(actions) {
		return 0
	}
	var text strings.Builder
	f := &flight{key: key, actions: actions, done: done, versions: map[placeID][]int32{}}
	fmt.Fprintf(&text, "%d", key)
	for i := len(done); i < len(actions); i++ {
		r := actions[i].Request(done)
		body := requestText(r)
		text.WriteString("\n" + body)
		if i == len(done) {
			f.request = r
			id, known := m.requests[body]
			if !known {
				id = len(m.requests)
				m.requests[body] = id
			}
			f.requestID = id
		}
		if version := versionIn(r); version != 0 {
			at := m.store.place(r.Resource, r.Namespace, r.Name)
			f.versions[at] = append(f.versions[at], version)
		}
	}
	id, known := m.flightIDs[text.String()]
	if !known {
		f.numbers = numbersIn(text.String())
		id = uint32(len(m.flights))
		m.flights = append(m.flights, f)
		m.flightIDs[text.String()] = id
	}
	return id
}

func requestText(r purekube.Request) string {
	object, err := json.Marshal(r.Object)
	if err != nil {
		panic(err)
	}
	preconditions, err := json.Marshal(r.Preconditions)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("%s %s %s %s %s %t %t", r, r.Resource, object, r.Patch, preconditions, r.Force, r.ContinueOnError)
}

// versionIn is the resourceVersion that a request insists on; 0: none.
func versionIn(r purekube.Request) int32 {
	var text string
	if o, ok := r.Object.(Object); ok {
		text = o.GetResourceVersion()
	}
	if r.Preconditions != nil && r.Preconditions.ResourceVersion != nil {
		text = *r.Preconditions.ResourceVersion
	}
	if text == "" {
		return 0
	}
	version, err := strconv.ParseUint(text, 10, 8)
	if err != nil {
		panic(err)
	}
	return int32(version)
}

// inUse are the numbers of all UIDs and generated names that anything has.
func (m *model) inUse(st *state, gone bool) numbers {
	n := m.kept
	for _, hs := range [][]held{st.server, st.cached, st.assumed, st.pending} {
		for _, h := range hs {
			n |= m.store.contents[h.content].numbers
			n |= m.store.places[h.place].numbers
		}
	}
	if st.flight != 0 {
		n |= m.flights[st.flight].numbers
	}
	if gone {
		n |= st.gone
	}
	return n
}

// compress numbers the versions of each object again, in their order, from 1. The versions in the current plan keep
// their numbers.
func (m *model) compress(st *state) {
	lists := [4][]held{st.server, st.cached, st.assumed, st.pending}
	var pins map[placeID][]int32
	if st.flight != 0 {
		pins = m.flights[st.flight].versions
	}
	var done map[placeID]bool
	for _, list := range lists {
		for i := range list {
			if list[i].version <= 1 || done[list[i].place] {
				continue
			}
			if done == nil {
				done = map[placeID]bool{}
			}
			done[list[i].place] = true
			compressPlace(list[i].place, lists, pins[list[i].place])
		}
	}
}

func compressPlace(p placeID, lists [4][]held, pinned []int32) {
	var used [256]bool
	for _, list := range lists {
		for i := range list {
			if list[i].place == p {
				used[list[i].version] = true
			}
		}
	}
	var becomes [256]int32
	next := int32(1)
	for v := 1; v < 256; v++ {
		if slices.Contains(pinned, int32(v)) {
			becomes[v] = int32(v)
			next = int32(v) + 1
		} else if used[v] {
			becomes[v] = next
			next++
		}
	}
	for _, list := range lists {
		for i := range list {
			if list[i].place == p {
				list[i].version = becomes[list[i].version]
			}
		}
	}
}

// newest is the highest version of the object that anything has.
func (m *model) newest(st *state, p placeID) int32 {
	var newest int32
	for _, hs := range [][]held{st.server, st.cached, st.assumed, st.pending} {
		for _, h := range hs {
			if h.place == p {
				newest = max(newest, h.version)
			}
		}
	}
	if st.flight != 0 {
		for _, v := range m.flights[st.flight].versions[p] {
			newest = max(newest, v)
		}
	}
	return newest
}

// room reports whether the cache of the place's kind may lag by one more change.
func (m *model) room(st *state, changes ...change) bool {
	behind := make([]int, len(m.lagging))
	for _, h := range st.pending {
		behind[m.store.places[h.place].kind]++
	}
	for _, c := range changes {
		kind := m.store.places[c.place].kind
		behind[kind]++
		if m.lagging[kind] && behind[kind] > m.world.Lag {
			return false
		}
	}
	return true
}

// write makes a change at the API server, and hands it to the cache or to what is pending.
func (m *model) write(st *state, c change) held {
	h := held{c.place, c.content, m.newest(st, c.place) + 1}
	if c.content == 0 {
		st.server = removeHeld(st.server, c.place)
	} else {
		st.server = insertHeld(st.server, h)
	}
	kind := m.store.places[c.place].kind
	if !m.lagging[kind] {
		m.show(st, h)
		return h
	}
	at := len(st.pending)
	for at > 0 && m.store.places[st.pending[at-1].place].kind > kind {
		at--
	}
	st.pending = slices.Insert(st.pending, at, h)
	return h
}

// show makes a change visible in the cache, and queues what it affects.
func (m *model) show(st *state, h held) {
	var oldObj, newObj Object
	if i := find(st.cached, h.place); i >= 0 {
		oldObj = m.store.object(st.cached[i])
	}
	if h.content == 0 {
		st.cached = removeHeld(st.cached, h.place)
	} else {
		newObj = m.store.object(h)
		st.cached = insertHeld(st.cached, h)
	}
	resource := m.store.places[h.place].resource
	if i := find(st.assumed, h.place); i >= 0 && resource == m.world.Assumes && st.assumed[i].version <= h.version {
		st.assumed = slices.Delete(st.assumed, i, i+1)
	}
	replaced := oldObj != nil && newObj != nil && oldObj.GetUID() != newObj.GetUID()
	if resource == m.world.Remembers && oldObj != nil && (newObj == nil || replaced) {
		st.gone |= 1 << uidNumber(oldObj.GetUID())
	}
	v := m.cacheView(st)
	for _, k := range m.world.Controller.Affected(v, oldObj, newObj) {
		st.enqueue(m.key(k))
	}
}

// happenings are the ways in which events can happen now.
func (m *model) happenings(st *state) []happening {
	fresh := m.inUse(st, true).free()
	m.buffer = append(st.appendServer(m.buffer[:0]), byte(fresh))
	m.buffer = append(m.buffer, st.counts...)
	m.buffer = append(m.buffer, st.ghost...)
	if hs, known := m.events[string(m.buffer)]; known {
		return hs
	}
	text := string(m.buffer)
	v := *m.serverView(st)
	v.Fresh, v.Ghost = fresh, st.ghost
	hs := m.cluster.happenings(&v, st.server, st.counts)
	if len(m.events) > maxRemembered {
		m.events = map[string][]happening{}
	}
	m.events[text] = hs
	return hs
}

// happen makes the event happen. ok is false when a cache would fall too far behind.
func (m *model) happen(st *state, h happening) (after *state, broken string, ok bool) {
	if !m.world.Events[h.event].Restores && !m.room(st, h.changes...) {
		return nil, "", false
	}
	before := m.serverView(st)
	after = st.clone()
	if m.world.Events[h.event].Max > 0 {
		after.counts[h.event]++
	}
	for _, c := range h.changes {
		m.write(after, c)
	}
	if m.world.Events[h.event].Restores {
		m.restore(after)
	}
	return after, m.check(after, Step{Before: before, Event: m.world.Events[h.event].Name}), true
}

// check updates what the guarantees remember, and checks them for the step to the state.
func (m *model) check(st *state, s Step) string {
	s.After = m.serverView(st)
	return m.cluster.check(&s, &st.ghost)
}

// judge returns what the guarantees remember of a step to the state, and the guarantee that the step breaks.
func (w World) judge(s *Step) (ghost, broken string) {
	if w.Ghost != nil {
		s.Ghost = w.Ghost(s)
	}
	for _, p := range w.Promises {
		if broken := p.Broken(s); broken != "" {
			return s.Ghost, p.Name + ": " + broken
		}
	}
	return s.Ghost, ""
}

// carry makes the next write of the plan. With lost, the controller does not hear of its success.
// ok is false when a cache would fall too far behind.
func (m *model) carry(st *state, lost bool) (after *state, outcome, broken string, ok bool) {
	f := m.flights[st.flight]
	a := m.ask(st, f)
	if a.changed && !m.room(st, change{a.place, a.content}) {
		return nil, "", "", false
	}
	after = st.clone()
	var returned runtime.Object
	if a.err == nil {
		h := held{a.place, a.returned, 1}
		if a.changed {
			h.version = m.write(after, change{a.place, a.content}).version
			broken = m.check(after, Step{Before: m.serverView(st), Request: &f.request})
		} else if i := find(st.server, a.place); i >= 0 {
			h.version = st.server[i].version
		}
		returned = m.store.object(h)
		if !lost && a.changed && a.content != 0 && m.store.places[a.place].resource == m.world.Assumes {
			if i := find(after.cached, h.place); i < 0 || after.cached[i].version < h.version {
				after.assumed = insertHeld(after.assumed, h)
			}
		}
	}
	switch {
	case lost:
		outcome, returned = "carried out, and the answer is lost", nil
		if m.world.ListsAnew && f.request.Verb == "create" && f.request.Resource == m.world.Assumes {
			outcome += "; the controller lists anew"
			m.list(after, m.store.kinds[f.request.Resource])
		}
	case a.err != nil:
		outcome = "refused: " + a.err.Error()
	default:
		outcome = "carried out"
	}
	m.advance(after, f, returned)
	return after, outcome, broken, true
}

// refuse answers the next write of the plan with an error.
func (m *model) refuse(st *state) *state {
	after := st.clone()
	m.advance(after, m.flights[st.flight], nil)
	return after
}

// advance goes on to the next write, or ends the plan.
func (m *model) advance(st *state, f *flight, returned runtime.Object) {
	st.flight = 0
	if returned == nil {
		// A failed write: the key is tried again.
		st.enqueue(f.key)
		if !f.request.ContinueOnError {
			return
		}
	}
	done := append(slices.Clone(f.done), returned)
	st.flight = m.flight(f.key, f.actions, done)
}

// ask is what the API server does with the plan's next request.
func (m *model) ask(st *state, f *flight) answer {
	r := f.request
	c := call{request: f.requestID, fresh: m.inUse(st, true).free(), now: st.now}
	var there []apiserver.Held
	if r.Name != "" || r.Verb != "create" {
		if i := find(st.server, m.store.place(r.Resource, r.Namespace, r.Name)); i >= 0 {
			c.before = st.server[i]
			there = append(there, apiserver.Held{Object: m.store.object(c.before), Managed: m.store.contents[c.before.content].managed})
		}
	}
	a, known := m.answers[c]
	if known {
		return a
	}
	server := apiserver.Restore(200, c.fresh-1, there...)
	server.Now = clock(int(st.now))
	returned, err := server.Do(r)
	if err != nil {
		a.err = err
	} else {
		o := returned.(Object)
		a.place = m.store.place(r.Resource, o.GetNamespace(), o.GetName())
		for _, h := range server.Held() {
			a.content = m.store.intern(h.Object, h.Managed)
		}
		a.changed = a.content != c.before.content
		a.returned = a.content
		if a.content == 0 {
			a.returned = m.store.intern(o, nil)
		}
	}
	if len(m.answers) > maxRemembered {
		m.answers = map[call]answer{}
	}
	m.answers[c] = a
	return a
}

// catchUp shows the oldest change of a kind that its cache does not show yet.
func (m *model) catchUp(st *state, i int) *state {
	after := st.clone()
	h := after.pending[i]
	after.pending = slices.Delete(after.pending, i, i+1)
	m.show(after, h)
	return after
}

// restore is what the controller does when the API server was restored from a backup: it lists everything again.
// Assumed objects are in no list, so no event removes them. A call that is in progress fails.
func (m *model) restore(st *state) {
	if st.flight != 0 {
		st.enqueue(m.flights[st.flight].key)
		st.flight = 0
	}
	assumed := slices.Clone(st.assumed)
	for kind := range m.world.Kinds {
		m.list(st, kind)
	}
	st.assumed = nil
	if m.world.KeepsAssumed {
		st.assumed = assumed
	}
	for _, k := range m.world.Controller.Keys(m.cacheView(st)) {
		st.enqueue(m.key(k))
	}
}

// overtaken calls visit with the states in which what the plan's next write creates was deleted, and the caches show that,
// before the controller has the answer.
func (m *model) overtaken(st *state, visit func(after *state, broken, how string)) {
	a := m.ask(st, m.flights[st.flight])
	if !a.changed || a.content == 0 || m.store.places[a.place].resource != m.world.Assumes || find(st.server, a.place) >= 0 {
		return
	}
	created, _, broken, ok := m.carry(st, false)
	if !ok || broken != "" {
		return
	}
	returned := created.assumed[find(created.assumed, a.place)]
	m.list(created, m.store.places[a.place].kind)
	for _, h := range m.happenings(created) {
		if !slices.ContainsFunc(h.changes, func(c change) bool { return c.place == a.place && c.content == 0 }) {
			continue
		}
		after, broken, ok := m.happen(created, h)
		if !ok {
			continue
		}
		m.list(after, m.store.places[a.place].kind)
		if m.world.Faults.Phantom {
			after.assumed = insertHeld(after.assumed, returned)
		}
		visit(after, broken, h.how)
	}
}

// list brings the cache of a kind up to date.
func (m *model) list(st *state, kind int) {
	for i := 0; i < len(st.pending); {
		if h := st.pending[i]; m.store.places[h.place].kind == kind {
			st.pending = slices.Delete(st.pending, i, i+1)
			m.show(st, h)
		} else {
			i++
		}
	}
}

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

// begin takes the key's plan off the queue.
func (m *model) begin(st *state, v *View, key uint16) *state {
	p := m.plan(v, key, st)
	after := st.clone()
	after.dequeue(key)
	after.flight = p.flight
	after.setTimer(key, p.recheck)
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

// atRest says what is wrong with a state in which nothing happens any more.
func (m *model) atRest(st *state) string {
	fresh := st.clone()
	m.restart(fresh)
	v := m.cacheView(fresh)
	for _, key := range fresh.queue {
		p := m.plan(v, key, fresh)
		if p.flight != 0 {
			return fmt.Sprintf("at rest, a plan from scratch asks for nothing: the one for %s asks for %s", m.keys[key], m.actionsOf(v, key, fresh))
		}
		if p.recheck != 0 {
			return fmt.Sprintf("at rest, a plan from scratch asks for nothing: the one for %s asks to look again at %s", m.keys[key], p.RecheckAt.Format(time.TimeOnly))
		}
	}
	if m.world.Rest != nil {
		return m.world.Rest(m.serverView(st))
	}
	return ""
}

// plannedActions are the actions of a plan, which are put into words only if somebody wants to read them.
type plannedActions []purekube.Action

func (p plannedActions) String() string {
	var lines []string
	for _, a := range p {
		lines = append(lines, a.String())
	}
	return strings.Join(lines, "; ")
}

func (m *model) actionsOf(v *View, key uint16, st *state) plannedActions {
	return m.plan(v, key, st).Actions
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
		emit(m.begin(st, v, st.queue[0]), "", "a plan is made for %s: %s", m.keys[st.queue[0]], m.actionsOf(v, st.queue[0], st))
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
