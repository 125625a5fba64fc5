package model

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/reconcile"
	"github.com/purekube/purekube/internal/test/apiserver"
)

// reconcilerModel is a LoopWorld as something to search.
type reconcilerModel[X purekube.Index[X, S, A], S any, A purekube.Action] struct {
	world   LoopWorld[X, S, A]
	store   *store
	states  map[string]*reconcilerState[X, S, A]
	objects map[copyAt]Object
	// of is the state whose loop is called.
	of *reconcilerState[X, S, A]
}

// SearchLoop goes breadth first through all states of the world within the bounds.
func SearchLoop[X purekube.Index[X, S, A], S any, A purekube.Action](w LoopWorld[X, S, A], b Bounds) Report {
	m := &reconcilerModel[X, S, A]{world: w, store: newStore(w.Kinds), states: map[string]*reconcilerState[X, S, A]{}, objects: map[copyAt]Object{}}
	return search(w.Name, m, true, b)
}

func (m *reconcilerModel[X, S, A]) object(h copyAt) Object {
	o := m.objects[h]
	if o == nil {
		o = m.store.contents[h.content].object.DeepCopyObject().(Object)
		o.SetResourceVersion(strconv.Itoa(h.version))
		m.objects[h] = o
	}
	return o
}

func (m *reconcilerModel[X, S, A]) view(st *reconcilerState[X, S, A]) *View {
	v := &View{Now: m.time(st.now), Ghost: st.ghost}
	for _, h := range st.server {
		v.objects = append(v.objects, m.object(h))
	}
	return v
}

func (m *reconcilerModel[X, S, A]) time(now int) time.Time {
	return Start.Add(time.Duration(now) * time.Second)
}

func (m *reconcilerModel[X, S, A]) start() string {
	st := &reconcilerState[X, S, A]{revision: 1, counts: make([]uint8, len(m.world.Events)), faults: m.world.MaxFaults}
	for _, o := range m.world.Objects {
		id := m.store.intern(o, nil)
		st.revision++
		st.server = insert(st.server, copyAt{m.store.contents[id].place, id, st.revision}, compareCopies)
	}
	m.restart(st)
	return m.finish(st)
}

// restart is a new process, or another replica: its informers list, and nothing is left of what was known before.
func (m *reconcilerModel[X, S, A]) restart(st *reconcilerState[X, S, A]) {
	*st = reconcilerState[X, S, A]{now: st.now, revision: st.revision, server: st.server, counts: st.counts, ghost: st.ghost,
		faults: st.faults, hangs: st.hangs, stray: st.stray, strayUntil: st.strayUntil}
	o := reconcile.Options[*noted[X, S, A], notes[S]]{
		// HasSynced of the handlers' registrations.
		Synced: func() bool {
			return m.world.Broken.StartsWithTheCache || !slices.ContainsFunc(m.of.pending, func(c shown) bool { return c.listed })
		},
		DecidesWithout: m.world.DecidesWithout, RetryProblems: m.world.RetryProblems, Retries: m.world.Retries,
	}
	if m.world.At != nil {
		o.At = func(now time.Time, _ *noted[X, S, A]) notes[S] {
			return notes[S]{m.world.At(now), map[string]string{"now": now.Format(time.TimeOnly)}}
		}
	}
	if m.world.Answers != nil {
		o.Answers = func(answers map[purekube.Need]purekube.Answer) notes[S] {
			facts := map[string]string{}
			for n, a := range answers {
				facts[n.String()] = m.answerText(a)
			}
			return notes[S]{m.world.Answers(answers), facts}
		}
	}
	st.loop = reconcile.New(note[X, S, A](m.world.Empty(), map[string]string{}), o)
	for _, k := range m.world.Kinds {
		if !slices.Contains(m.world.Unwatched, k.Resource) {
			st.loop.Watches(k.GroupResource())
		}
	}
	for _, h := range st.server {
		m.show(st, shown{h, st.now, true})
	}
}

func (m *reconcilerModel[X, S, A]) answerText(a purekube.Answer) string {
	o, ok := a.Object.(Object)
	if !ok {
		return fmt.Sprintf("%v %v", a.Object, a.Err)
	}
	return fmt.Sprintf("%T %s @%s %v", o, o.GetUID(), o.GetResourceVersion(), a.Err)
}

// show adds a change that the handlers have yet to see, after the others of its kind.
func (m *reconcilerModel[X, S, A]) show(st *reconcilerState[X, S, A], c shown) {
	p := m.store.places[c.place]
	if slices.Contains(m.world.Unwatched, p.resource.Resource) {
		return
	}
	i := len(st.pending)
	for i > 0 && m.store.places[st.pending[i-1].place].kind > p.kind {
		i--
	}
	st.pending = slices.Insert(st.pending, i, c)
}

// write makes a change at the API server.
func (m *reconcilerModel[X, S, A]) write(st *reconcilerState[X, S, A], c change) copyAt {
	st.revision++
	h := copyAt{c.place, c.content, st.revision}
	st.server = slices.DeleteFunc(st.server, func(o copyAt) bool { return o.place == c.place })
	if c.content != 0 {
		st.server = insert(st.server, h, compareCopies)
	}
	m.show(st, shown{h, st.now, false})
	return h
}

func (m *reconcilerModel[X, S, A]) room(st *reconcilerState[X, S, A], changes ...change) bool {
	behind := make([]int, len(m.world.Kinds))
	for _, c := range st.pending {
		if !c.listed {
			behind[m.store.places[c.place].kind]++
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

// catchUp lets the handler of a kind see its next change.
func (m *reconcilerModel[X, S, A]) catchUp(st *reconcilerState[X, S, A], i int) *reconcilerState[X, S, A] {
	after := st.clone()
	c := after.pending[i]
	after.pending = slices.Delete(after.pending, i, i+1)
	p := m.store.places[c.place]
	var before Object
	if i := slices.IndexFunc(after.cached, func(h copyAt) bool { return h.place == c.place }); i >= 0 {
		before = m.object(after.cached[i])
		after.cached = slices.Delete(after.cached, i, i+1)
	}
	event := func(version int, o Object, fact string, without bool) {
		keys := after.loop.Event(p.resource.GroupResource(), strconv.Itoa(version), func(x *noted[X, S, A]) (*noted[X, S, A], []purekube.Key) {
			s, facts := m.world.As(o, m.time(after.now), x.facts)
			n := notes[S]{s, map[string]string{p.resource.Resource + "/" + p.name: fact}}
			maps.Copy(n.facts, facts)
			if without {
				return x.Without(n)
			}
			return x.With(n)
		})
		for _, key := range keys {
			if !m.world.Broken.DropsWhileProcessing || !after.busy(key) {
				after.enqueue(key)
			}
		}
	}
	if c.content == 0 {
		if before != nil {
			event(c.version, before, "", true)
		}
	} else {
		o := m.object(c.copyAt)
		if before != nil && before.GetUID() != o.GetUID() {
			version, _ := strconv.Atoi(before.GetResourceVersion())
			event(version, before, "", true)
		}
		event(c.version, o, fmt.Sprintf("#%d@%d", c.content, c.version), false)
		after.cached = insert(after.cached, c.copyAt, compareCopies)
	}
	after.sent = slices.DeleteFunc(after.sent, func(s sent) bool { return s.kind == p.kind && s.version <= c.version })
	return after
}

var (
	versionsIn = regexp.MustCompile(`@(\d+)|"resourceVersion":"(\d+)"`)
	contentsIn = regexp.MustCompile(`#(\d+)`)
)

// finish brings a state into the form in which it is compared. The resourceVersions count in their order only.
func (m *reconcilerModel[X, S, A]) finish(st *reconcilerState[X, S, A]) string {
	st.sent = slices.DeleteFunc(st.sent, func(s sent) bool { return st.now >= s.at+seconds(reconcile.FenceTimeout) })
	var b strings.Builder
	fmt.Fprintf(&b, "%d %v %s %d %t %t", st.now, st.counts, st.ghost, st.faults, st.hangs, st.started)
	copied := func(h copyAt) { fmt.Fprintf(&b, " %d#%d@%d", h.place, h.content, h.version) }
	for _, h := range st.server {
		copied(h)
	}
	for _, c := range st.pending {
		copied(c.copyAt)
		fmt.Fprintf(&b, " %d %t", c.at, c.listed)
	}
	for _, l := range []any{st.queue, st.again, st.later, st.ticks, st.planning, st.looking, st.calls, st.lookAt, st.asked} {
		fmt.Fprintf(&b, "\n%v", l)
	}
	for _, s := range st.sending {
		fmt.Fprintf(&b, "\nsending %s %d", s.key, len(s.failures))
		for i := len(s.done); i < len(s.actions); i++ {
			b.WriteString("\n" + requestText(s.actions[i].Request(s.done)))
		}
	}
	for _, s := range st.sent {
		fmt.Fprintf(&b, "\nsent %s %s %d @%d %d", s.key, s.request, s.kind, s.version, s.at)
	}
	if st.stray != nil {
		fmt.Fprintf(&b, "\nstray %s %d", requestText(*st.stray), st.strayUntil)
	}
	b.WriteString(st.loop.Text(func(x *noted[X, S, A]) string { return x.text }, m.answerText))

	text := b.String()
	var versions []int
	eachVersion(text, func(version int) string { versions = append(versions, version); return "" })
	slices.Sort(versions)
	versions = slices.Compact(versions)
	text = eachVersion(text, func(version int) string {
		i, _ := slices.BinarySearch(versions, version)
		return "@" + strconv.Itoa(i)
	})
	sum := sha256.Sum256([]byte(text))
	key := string(sum[:])
	if m.states[key] == nil {
		st.numbers = numbersIn(text)
		for _, match := range contentsIn.FindAllStringSubmatch(text, -1) {
			id, _ := strconv.Atoi(match[1])
			st.numbers |= m.store.contents[id].numbers
		}
		m.states[key] = st
	}
	return key
}

// eachVersion puts other texts in the place of the resourceVersions in a text.
func eachVersion(text string, to func(version int) string) string {
	return versionsIn.ReplaceAllStringFunc(text, func(match string) string {
		version, _ := strconv.Atoi(strings.Trim(strings.TrimPrefix(match, `"resourceVersion":`), `@"`))
		return to(version)
	})
}

// happenings are the ways in which events can happen now.
func (m *reconcilerModel[X, S, A]) happenings(st *reconcilerState[X, S, A]) (hs []happening) {
	v := m.view(st)
	v.Fresh = st.numbers.free()
	for i, e := range m.world.Events {
		if e.Max > 0 && int(st.counts[i]) >= e.Max {
			continue
		}
		e.Do(v, func(how string, changes ...Change) {
			h := happening{event: i, how: how}
			for _, c := range changes {
				var managed map[string]map[string]any
				at := m.find(st, m.store.place(apiserver.ResourceOf(c.object), c.object.GetNamespace(), c.object.GetName()))
				if at != nil && m.object(*at).GetUID() == c.object.GetUID() {
					managed = m.store.contents[at.content].managed
				}
				id := m.store.intern(c.object, managed)
				to := change{m.store.contents[id].place, id}
				if c.gone {
					to.content = 0
				} else if at != nil && at.content == id {
					continue
				}
				h.changes = append(h.changes, to)
			}
			if len(changes) == 0 || len(h.changes) > 0 {
				hs = append(hs, h)
			}
		})
	}
	return hs
}

func (m *reconcilerModel[X, S, A]) find(st *reconcilerState[X, S, A], p placeID) *copyAt {
	if i := slices.IndexFunc(st.server, func(h copyAt) bool { return h.place == p }); i >= 0 {
		return &st.server[i]
	}
	return nil
}

func (m *reconcilerModel[X, S, A]) happen(st *reconcilerState[X, S, A], h happening) (after *reconcilerState[X, S, A], broken string, ok bool) {
	if !m.room(st, h.changes...) {
		return nil, "", false
	}
	after = st.clone()
	if m.world.Events[h.event].Max > 0 {
		after.counts[h.event]++
	}
	for _, c := range h.changes {
		m.write(after, c)
	}
	return after, m.check(after, &Step{Before: m.view(st), Event: m.world.Events[h.event].Name}), true
}

func (m *reconcilerModel[X, S, A]) check(st *reconcilerState[X, S, A], s *Step) (broken string) {
	s.After, s.Ghost = m.view(st), st.ghost
	st.ghost, broken = m.world.judge(s)
	return broken
}

// calling returns a copy of the state, whose loop may be called.
func (m *reconcilerModel[X, S, A]) calling(st *reconcilerState[X, S, A]) *reconcilerState[X, S, A] {
	m.of = st.clone()
	return m.of
}

// begin begins the turn of a key.
func (m *reconcilerModel[X, S, A]) begin(st *reconcilerState[X, S, A], key purekube.Key) *reconcilerState[X, S, A] {
	after := m.calling(st)
	after.queue = remove(after.queue, key, purekube.Key.Compare)
	t := after.loop.Begin(m.time(after.now), key)
	if t.Step == reconcile.Wait {
		after.follow(key, t.Next, m.world.Broken)
	} else {
		after.planning = insert(after.planning, key, purekube.Key.Compare)
	}
	return after
}

// plan makes the plan of a turn.
func (m *reconcilerModel[X, S, A]) plan(st *reconcilerState[X, S, A], key purekube.Key) (after *reconcilerState[X, S, A], outcome string) {
	after = m.calling(st)
	t := after.loop.Turn(key)
	result, problems := t.Index.Plan(key)
	after.loop.Planned(m.time(after.now), t, result, problems)
	for _, n := range t.Ask {
		outcome += "asks for " + n.String() + "; "
		after.ask(n)
	}
	if t.Tick > 0 && !m.world.Broken.ForgetsTicks {
		after.ticks = addAlarm(after.ticks, alarm{key, after.now + seconds(t.Tick)})
	}
	if m.world.Broken.SharesTheContext {
		m.share(after, t)
	}
	if t.Step == reconcile.Plan {
		return after, outcome + "decides without answers"
	}
	after.planning = remove(after.planning, key, purekube.Key.Compare)
	if t.Step == reconcile.Wait {
		after.follow(key, t.Next, m.world.Broken)
		return after, outcome + "waits"
	}
	var lines []string
	for _, a := range result.Actions {
		lines = append(lines, a.String())
	}
	after.sending = append(after.sending, sending{key: key, actions: Actions(result.Actions)})
	m.advance(after, len(after.sending)-1)
	return after, outcome + strings.Join(lines, "; ")
}

// share gives lookups and writes one deadline.
func (m *reconcilerModel[X, S, A]) share(st *reconcilerState[X, S, A], t *reconcile.Turn[*noted[X, S, A], A]) {
	i := slices.IndexFunc(st.asked, func(a alarm) bool { return a.key == t.Key })
	if i < 0 && len(t.Ask) > 0 {
		st.asked = append(st.asked, alarm{t.Key, st.now})
	}
	if t.Step == reconcile.CarryOut && i >= 0 {
		t.WriteBy = m.time(st.asked[i].at).Add(reconcile.LookupsDeadline)
		if t.Late == 0 {
			st.asked = slices.Delete(st.asked, i, i+1)
		}
	}
}

// ask queues a lookup. A need is in the hands of one looker at a time.
func (st *reconcilerState[X, S, A]) ask(n purekube.Need) {
	if slices.Contains(st.calls, n) {
		st.lookAt = insert(st.lookAt, n, compareNeeds)
	} else {
		st.looking = insert(st.looking, n, compareNeeds)
	}
}

// look begins the call of a lookup.
func (m *reconcilerModel[X, S, A]) look(st *reconcilerState[X, S, A], n purekube.Need) *reconcilerState[X, S, A] {
	after := m.calling(st)
	after.looking = remove(after.looking, n, compareNeeds)
	if after.loop.Look(n) {
		after.calls = insert(after.calls, n, compareNeeds)
	}
	return after
}

// found ends the call of a lookup.
func (m *reconcilerModel[X, S, A]) found(st *reconcilerState[X, S, A], n purekube.Need, err error) *reconcilerState[X, S, A] {
	after := m.calling(st)
	after.calls = remove(after.calls, n, compareNeeds)
	if slices.Contains(after.lookAt, n) {
		after.lookAt = remove(after.lookAt, n, compareNeeds)
		after.looking = insert(after.looking, n, compareNeeds)
	}
	var answer purekube.Answer
	if err == nil {
		answer = m.world.Answer(m.view(st), n)
	}
	keys, again, _ := after.loop.Found(n, answer, err)
	if again {
		after.ask(n)
	}
	for _, key := range keys {
		after.enqueue(key)
	}
	return after
}

// outcome is what becomes of a request.
type outcome int

const (
	answered outcome = iota
	refused
	unanswered
)

var errUnanswered = errors.New("the connection was lost")

// send sends the next request of a plan.
func (m *reconcilerModel[X, S, A]) send(st *reconcilerState[X, S, A], i int, o outcome) (after *reconcilerState[X, S, A], how, broken string, ok bool) {
	s := st.sending[i]
	r := s.actions[len(s.done)].Request(s.done)
	after = m.calling(st)
	t := after.loop.Turn(s.key)
	var returned runtime.Object
	var err error
	switch {
	case !m.time(st.now).Before(t.WriteBy):
		err, how = context.DeadlineExceeded, "not sent, its time is over"
	case o == refused:
		err, how = apierrors.NewForbidden(r.Resource.GroupResource(), r.Name, errors.New("a webhook")), "refused, by a webhook, say"
	default:
		for _, before := range st.sent {
			if before.key == s.key && before.request == requestText(r) {
				broken = "no request is sent twice: " + r.String()
			}
		}
		var h copyAt
		var wrong string
		var changed bool
		h, returned, changed, wrong, ok, err = m.do(after, r)
		if !ok {
			return nil, "", "", false
		}
		if broken == "" {
			broken = wrong
		}
		how = "carried out"
		switch {
		case err != nil:
			how = "refused: " + err.Error()
		case o == unanswered:
			returned, err, how = nil, errUnanswered, "carried out, and the answer is lost"
		case changed:
			after.sent = append(after.sent, sent{s.key, requestText(r), m.store.places[h.place].kind, h.version, st.now})
		}
	}
	if !m.world.Broken.IgnoresFences {
		after.loop.Sent(m.time(st.now), t, r, returned, err)
	}
	to := &after.sending[i]
	to.done = append(slices.Clone(to.done), returned)
	if err != nil {
		to.failures = append(slices.Clone(to.failures), err)
		if !r.ContinueOnError {
			to.actions = to.actions[:len(to.done)]
		}
	}
	m.advance(after, i)
	return after, how, broken, true
}

// do is what the API server does with a request.
func (m *reconcilerModel[X, S, A]) do(after *reconcilerState[X, S, A], r purekube.Request) (h copyAt, returned runtime.Object, changed bool, broken string, ok bool, err error) {
	before := m.view(after)
	var there []apiserver.Held
	var at *copyAt
	if r.Name != "" {
		if at = m.find(after, m.store.place(r.Resource, r.Namespace, r.Name)); at != nil {
			there = append(there, apiserver.Held{Object: m.object(*at), Managed: m.store.contents[at.content].managed})
		}
	}
	server := apiserver.Restore(after.revision, after.numbers.free()-1, there...)
	server.Now = m.time(after.now)
	if returned, err = server.Do(r); err != nil {
		return h, nil, false, "", true, err
	}
	o := returned.(Object)
	c := change{place: m.store.place(r.Resource, o.GetNamespace(), o.GetName())}
	for _, left := range server.Held() {
		c.content = m.store.intern(left.Object, left.Managed)
	}
	if at != nil && c.content == at.content {
		return *at, m.object(*at), false, "", true, nil
	}
	if !m.room(after, c) {
		return h, nil, false, "", false, nil
	}
	h = m.write(after, c)
	if c.content != 0 {
		returned = m.object(h)
	}
	return h, returned, true, m.check(after, &Step{Before: before, Request: &r}), true, nil
}

// advance ends a plan whose requests are all sent.
func (m *reconcilerModel[X, S, A]) advance(st *reconcilerState[X, S, A], i int) {
	s := st.sending[i]
	if len(s.done) < len(s.actions) {
		return
	}
	st.sending = slices.Delete(st.sending, i, i+1)
	next := st.loop.End(m.time(st.now), st.loop.Turn(s.key), errors.Join(s.failures...), false)
	st.follow(s.key, next, m.world.Broken)
}

// handOver is another replica that gets the Lease. A request of the replica before may be on its way for a while.
func (m *reconcilerModel[X, S, A]) handOver(st *reconcilerState[X, S, A], i int) *reconcilerState[X, S, A] {
	after := st.clone()
	after.faults--
	s := st.sending[i]
	r := s.actions[len(s.done)].Request(s.done)
	after.stray, after.strayUntil = &r, st.now+overlap
	m.restart(after)
	return after
}

// arrive is the arrival of the request of the replica before.
func (m *reconcilerModel[X, S, A]) arrive(st *reconcilerState[X, S, A]) (after *reconcilerState[X, S, A], how, broken string, ok bool) {
	after = st.clone()
	after.stray = nil
	_, _, _, broken, ok, err := m.do(after, *st.stray)
	how = "carried out"
	if err != nil {
		how = "refused: " + err.Error()
	}
	return after, how, broken, ok
}

// pass lets time go on to the next alarm; nil: there is none, or a handler would see something too late.
func (m *reconcilerModel[X, S, A]) pass(st *reconcilerState[X, S, A]) *reconcilerState[X, S, A] {
	to := -1
	for _, alarms := range [][]alarm{st.later, st.ticks} {
		if len(alarms) > 0 && (to < 0 || alarms[0].at < to) {
			to = alarms[0].at
		}
	}
	if to < 0 || slices.ContainsFunc(st.pending, func(c shown) bool { return !c.listed && c.at+maxAgeOfCache < to }) {
		return nil
	}
	after := m.calling(st)
	after.now = to
	for len(after.ticks) > 0 && after.ticks[0].at <= to {
		key := after.ticks[0].key
		after.ticks = after.ticks[1:]
		if after.loop.Tick(m.time(to), key) {
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

// begins lets turns begin, and reports whether they may.
func (m *reconcilerModel[X, S, A]) begins(st *reconcilerState[X, S, A]) (after *reconcilerState[X, S, A], ok bool) {
	if st.started {
		return nil, false
	}
	after = m.calling(st)
	keys, _, started := after.loop.Start(m.time(st.now))
	after.started = started
	for _, key := range keys {
		after.enqueue(key)
	}
	return after, started
}

// firstOfKind reports whether the ith change is the next one of its kind.
func (m *reconcilerModel[X, S, A]) firstOfKind(st *reconcilerState[X, S, A], i int) bool {
	return i == 0 || m.store.places[st.pending[i-1].place].kind != m.store.places[st.pending[i].place].kind
}

func (m *reconcilerModel[X, S, A]) next(text string, telling bool, visit func(step, state, broken string)) {
	st := m.states[text]
	emit := func(after *reconcilerState[X, S, A], broken, format string, args ...any) {
		step := ""
		if telling {
			step = fmt.Sprintf(format, args...) + m.changes(st, after)
		}
		visit(step, m.finish(after), broken)
	}
	for _, h := range m.happenings(st) {
		if after, broken, ok := m.happen(st, h); ok {
			emit(after, broken, "%s", h.how)
		}
	}
	for i, c := range st.pending {
		if m.firstOfKind(st, i) {
			emit(m.catchUp(st, i), "", "the handler sees %s", m.describe(c.copyAt))
		}
	}
	if after, ok := m.begins(st); ok {
		emit(after, "", "the controller starts to plan")
	}
	if len(st.planning)+len(st.sending) < m.world.Workers && st.started {
		for _, key := range st.queue {
			emit(m.begin(st, key), "", "a worker takes %s", key)
		}
	}
	for _, key := range st.planning {
		after, how := m.plan(st, key)
		emit(after, "", "the plan of %s: %s", key, how)
	}
	for i, s := range st.sending {
		r := s.actions[len(s.done)].Request(s.done)
		for _, o := range []outcome{answered, refused, unanswered} {
			if o != answered && st.faults == 0 {
				break
			}
			if after, how, broken, ok := m.send(st, i, o); ok {
				if o != answered {
					after.faults--
				}
				emit(after, broken, "%s: %s", r, how)
			}
		}
		if m.world.Replicas && st.faults > 0 && st.stray == nil {
			emit(m.handOver(st, i), "", "another replica gets the Lease, while %s is on its way", r)
		}
	}
	if st.stray != nil {
		if after, how, broken, ok := m.arrive(st); ok {
			emit(after, broken, "%s of the replica before: %s", *st.stray, how)
		}
	}
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
	if m.world.Faults.Crash && st.faults > 0 {
		after := st.clone()
		after.faults--
		m.restart(after)
		emit(after, "", "the controller stops, and starts again")
	}
	if after := m.pass(st); after != nil && m.time(after.now).Sub(Start) <= m.world.Until {
		broken := m.check(after, &Step{Before: m.view(st)})
		emit(after, broken, "it is %s", m.time(after.now).Format(time.TimeOnly))
	}
}

// longest is how long a controller may take until everything is idle, after the last failure.
const longest = time.Hour

// settle is one step of a run in which users do nothing, and nothing fails beyond what hangs.
func (m *reconcilerModel[X, S, A]) settle(text string, telling bool) (step, afterText string, ok bool, broken string) {
	st := m.states[text]
	end := func(after *reconcilerState[X, S, A], broken, format string, args ...any) (string, string, bool, string) {
		if telling {
			step = fmt.Sprintf(format, args...) + m.changes(st, after)
		}
		return step, m.finish(after), true, broken
	}
	if m.time(st.now).Sub(Start) > m.world.Until+longest {
		return "", "", false, "at rest, within an hour: it goes on"
	}
	if len(st.sending) > 0 {
		r := st.sending[0].actions[len(st.sending[0].done)].Request(st.sending[0].done)
		if after, how, broken, ok := m.send(st, 0, answered); ok {
			return end(after, broken, "%s: %s", r, how)
		}
	}
	if len(st.pending) > 0 {
		return end(m.catchUp(st, 0), "", "the handler sees %s", m.describe(st.pending[0].copyAt))
	}
	if after, ok := m.begins(st); ok {
		return end(after, "", "the controller starts to plan")
	}
	if st.stray != nil {
		after := st.clone()
		after.stray = nil
		return end(after, "", "the request of the replica before is lost")
	}
	if len(st.planning) > 0 {
		after, how := m.plan(st, st.planning[0])
		return end(after, "", "the plan of %s: %s", st.planning[0], how)
	}
	if len(st.looking) > 0 {
		return end(m.look(st, st.looking[0]), "", "%s is looked up", st.looking[0])
	}
	if len(st.calls) > 0 && !st.hangs {
		return end(m.found(st, st.calls[0], nil), "", "%s is answered", st.calls[0])
	}
	if len(st.queue) > 0 {
		return end(m.begin(st, st.queue[0]), "", "a worker takes %s", st.queue[0])
	}
	for _, h := range m.happenings(st) {
		if m.world.Events[h.event].Settles {
			if after, broken, ok := m.happen(st, h); ok {
				return end(after, broken, "%s", h.how)
			}
		}
	}
	if after := m.pass(st); after != nil {
		broken := m.check(after, &Step{Before: m.view(st)})
		return end(after, broken, "it is %s", m.time(after.now).Format(time.TimeOnly))
	}
	return "", "", false, m.idle(st)
}

// idle says what is wrong with a state in which nothing happens any more.
func (m *reconcilerModel[X, S, A]) idle(st *reconcilerState[X, S, A]) string {
	v := m.view(st)
	if st.hangs && m.world.Hung != nil {
		return m.world.Hung(v)
	}
	for _, key := range m.world.Controller.Keys(v) {
		d := m.world.Controller.Plan(v, key, v)
		if len(d.Actions) > 0 {
			return fmt.Sprintf("at rest, a plan from scratch asks for nothing: the one for %s asks for %s", key, d.Actions[0])
		}
		if !d.RecheckAt.IsZero() {
			return fmt.Sprintf("at rest, a plan from scratch asks for nothing: the one for %s asks to look again at %s", key, d.RecheckAt.Format(time.TimeOnly))
		}
	}
	if m.world.Rest != nil {
		return m.world.Rest(v)
	}
	return ""
}

func (m *reconcilerModel[X, S, A]) describe(h copyAt) string {
	if h.content == 0 {
		p := m.store.places[h.place]
		return fmt.Sprintf("that %s %s is gone", p.resource.Resource, p.name)
	}
	if m.world.Describe == nil {
		return m.object(h).GetName()
	}
	return m.world.Describe(m.object(h))
}

// changes says what is different at the API server.
func (m *reconcilerModel[X, S, A]) changes(before, after *reconcilerState[X, S, A]) string {
	var b strings.Builder
	for _, h := range after.server {
		if at := m.find(before, h.place); at == nil || at.content != h.content {
			b.WriteString("\n→ " + m.describe(h))
		}
	}
	for _, h := range before.server {
		if m.find(after, h.place) == nil {
			p := m.store.places[h.place]
			fmt.Fprintf(&b, "\n→ %s %s is gone", p.resource.Resource, p.name)
		}
	}
	return b.String()
}
