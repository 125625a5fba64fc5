package model

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/reconcile"
)

// reconcilerModel is a LoopWorld as something to search.
type reconcilerModel[X purekube.Index[X, S, A], S any, A purekube.Action] struct {
	cluster
	world  LoopWorld[X, S, A]
	states map[string]*reconcilerState[X, S, A]
	// of is the state whose loop is called.
	of *reconcilerState[X, S, A]
	// backup is what etcd has after a restore, at this revision.
	backup   []held
	revision int32
}

// SearchLoop goes breadth first through all states of the world within the bounds.
func SearchLoop[X purekube.Index[X, S, A], S any, A purekube.Action](w LoopWorld[X, S, A], b Bounds) Report {
	m := &reconcilerModel[X, S, A]{world: w, states: map[string]*reconcilerState[X, S, A]{}}
	m.cluster = cluster{&m.world.Scenario, newStore(w.Kinds)}
	return search(w.Name, walked[*reconcilerState[X, S, A]]{m, &m.cluster, "the handler sees"}, true, b)
}

func (m *reconcilerModel[X, S, A]) view(st *reconcilerState[X, S, A]) *View {
	v := &View{Now: clock(st.now), Ghost: st.ghost}
	for _, h := range st.server {
		v.objects = append(v.objects, m.store.object(h))
	}
	return v
}

func (m *reconcilerModel[X, S, A]) start() string {
	st := &reconcilerState[X, S, A]{revision: 1, counts: make([]uint8, len(m.world.Events)), faults: m.world.MaxFaults}
	for _, o := range m.world.Objects {
		id := m.store.intern(o, nil)
		st.revision++
		st.server = insertHeld(st.server, held{m.store.contents[id].place, id, st.revision})
	}
	m.backup, m.revision = slices.Clone(st.server), st.revision
	if m.world.Restores {
		st.revision += lostWrites
	}
	m.restart(st)
	return m.finish(st)
}

// lostWrites are writes of other objects between the backup and the start. A cache that is listed after a restore is
// behind what it was at before, unless more is written after the restore than was lost: then nothing tells of the
// restore.
const lostWrites = 100

// restart is a new process, or another replica: its informers list, and nothing is left of what was known before.
func (m *reconcilerModel[X, S, A]) restart(st *reconcilerState[X, S, A]) {
	*st = reconcilerState[X, S, A]{now: st.now, revision: st.revision, server: st.server, counts: st.counts,
		ghost:  st.ghost,
		faults: st.faults, hangs: st.hangs, stray: st.stray, strayUntil: st.strayUntil}
	if m.world.Memory != nil {
		st.memory = m.world.Memory()
	}
	st.loop = reconcile.New(m.note(m.world.Empty(), map[string]string{}), m.options())
	for _, k := range m.world.Kinds {
		if !slices.Contains(m.world.Unwatched, k.Resource) {
			st.loop.Watches(k.GroupResource())
		}
	}
	if m.world.Restores {
		st.at, st.relist = make([]int32, len(m.world.Kinds)), make([]bool, len(m.world.Kinds))
		for kind := range st.at {
			st.at[kind] = st.revision
		}
		st.lookedAt = slices.Clone(st.at)
	}
	for _, h := range st.server {
		m.show(st, shown{held: h, at: st.now, listed: true})
	}
}

func (m *reconcilerModel[X, S, A]) note(index X, facts map[string]string) *noted[X, S, A] {
	return note[X, S, A](index, facts, m.world.Text)
}

// options are what clientgo gives to the loop. What they remember is in the state whose loop is called.
func (m *reconcilerModel[X, S, A]) options() reconcile.Options[*noted[X, S, A], notes[S]] {
	o := reconcile.Options[*noted[X, S, A], notes[S]]{
		// HasSynced of the handlers' registrations.
		Synced: func() bool {
			return m.world.Broken.StartsWithTheCache || !slices.ContainsFunc(m.of.pending, func(c shown) bool {
				return c.listed
			})
		},
		DecidesWithout: m.world.DecidesWithout, RetryProblems: m.world.RetryProblems, Retries: m.world.Retries,
	}
	if m.world.At != nil {
		o.At = func(now time.Time, x *noted[X, S, A]) notes[S] {
			s, facts := m.world.At(now, x.index, m.of.memory)
			if facts == nil {
				facts = map[string]string{}
			}
			facts["now"] = now.Format(time.TimeOnly)
			return notes[S]{s, facts}
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
	if prepare := m.world.Prepare; prepare != nil {
		o.Prepare = func(x *noted[X, S, A]) *noted[X, S, A] { return m.note(prepare(x.index), x.facts) }
	}
	if written := m.world.Written; written != nil && !m.world.Broken.ForgetsWritten {
		o.Written = func(now time.Time, o runtime.Object) { written(now, o, m.of.memory) }
	}
	if filter := m.world.Filter; filter != nil && !m.world.Broken.PlansFiltered {
		o.Plans = filter
	}
	return o
}

// deletedFact begins the names of facts about deleted objects.
const deletedFact = "deleted "

func (m *reconcilerModel[X, S, A]) answerText(a purekube.Answer) string {
	o, ok := a.Object.(Object)
	if !ok {
		return fmt.Sprintf("%v %v", a.Object, a.Err)
	}
	return fmt.Sprintf("%T %s @%s %v", o, o.GetUID(), o.GetResourceVersion(), a.Err)
}

func (m *reconcilerModel[X, S, A]) check(st *reconcilerState[X, S, A], s Step) (broken string) {
	s.After = m.view(st)
	return m.cluster.check(&s, &st.ghost)
}

// calling returns a copy of the state, whose loop may be called.
func (m *reconcilerModel[X, S, A]) calling(st *reconcilerState[X, S, A]) *reconcilerState[X, S, A] {
	m.of = st.clone()
	return m.of
}
