package model

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/reconcile"
)

// begin begins the turn of a key.
func (m *reconcilerModel[X, S, A]) begin(st *reconcilerState[X, S, A], key purekube.Key) *reconcilerState[X, S, A] {
	after := m.calling(st)
	after.queue = remove(after.queue, key, purekube.Key.Compare)
	if m.lookAtCaches(after); !after.started {
		return after
	}
	t := after.loop.Begin(clock(after.now), key)
	if t.Step == reconcile.Wait {
		after.queueAgain(key, t.Next, m.world.Broken)
	} else {
		after.planning = insert(after.planning, key, purekube.Key.Compare)
		if t.Question.Again {
			// What the handlers saw since the question was asked is known when the turn begins.
			facts := maps.Clone(t.Index.facts)
			for name := range after.loop.Index.facts {
				facts[seenFact+name] = ""
			}
			t.Index = m.note(t.Index.index, facts)
		}
	}
	return after
}

// seenFact begins the names of facts that the handlers have seen, and that the Index of a turn may not have.
const seenFact = "the handlers saw "

// known reports whether a plan with the Index of these facts has to go by the fact.
func known(facts map[string]string, name string) bool {
	_, has := facts[name]
	_, seen := facts[seenFact+name]
	return has || seen
}

// plan makes the plan of a turn.
func (m *reconcilerModel[X, S, A]) plan(
	st *reconcilerState[X, S, A], key purekube.Key,
) (after *reconcilerState[X, S, A], outcome, broken string) {
	after = m.calling(st)
	t := after.loop.Turns[key]
	facts := t.Index.facts
	result, problems := t.Index.Plan(key)
	with := t.Index
	after.loop.Planned(clock(after.now), t, result, problems)
	if t.Checking && m.world.Broken.PlansWithTheOldIndex {
		t.Index = with
	}
	if m.world.Broken.AnswersWithTheLast && t.Refusing && t.Step == reconcile.Plan {
		maps.Copy(t.Answers, after.answers)
		t.Index, _ = t.Index.With(m.options().Answers(t.Answers))
	}
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
	switch {
	case t.Step == reconcile.Plan && t.Checking:
		return after, outcome + "is made again with the Index of now", ""
	case t.Step == reconcile.Plan:
		return after, outcome + "decides without answers", ""
	}
	after.planning = remove(after.planning, key, purekube.Key.Compare)
	if t.Step == reconcile.Wait {
		after.queueAgain(key, t.Next, m.world.Broken)
		return after, outcome + "waits", ""
	}
	if m.world.Filter != nil && !m.world.Filter(key) {
		broken = "what the filter leaves out is never planned: " + key.String()
	}
	var lines []string
	for _, a := range t.Result.Actions {
		lines = append(lines, a.String())
		if m.world.Planned != nil && broken == "" {
			broken = m.world.Planned(facts, a)
		}
	}
	if t.Step == reconcile.Confirm {
		after.confirming = append(after.confirming, confirming{key: key})
		return after, outcome + strings.Join(lines, "; ") + ", to be confirmed", broken
	}
	planned, broken := m.carryOut(after, t, broken)
	return after, outcome + planned, broken
}

// share gives lookups and writes one deadline.
func (m *reconcilerModel[X, S, A]) share(st *reconcilerState[X, S, A], t *reconcile.Turn[*noted[X, S, A], A]) {
	i := slices.IndexFunc(st.asked, func(a alarm) bool { return a.key == t.Key })
	if i < 0 && len(t.Ask) > 0 {
		st.asked = append(st.asked, alarm{t.Key, st.now})
	}
	if t.Step == reconcile.CarryOut && i >= 0 {
		t.WriteBy = clock(st.asked[i].at).Add(reconcile.LookupsDeadline)
		if t.Late == 0 {
			st.asked = slices.Delete(st.asked, i, i+1)
		}
	}
}

// advance ends a plan whose requests are all sent. What the loop says then is right where a key that failed is queued
// again, and the failure is reported, and nothing is reported where nothing failed.
func (m *reconcilerModel[X, S, A]) advance(st *reconcilerState[X, S, A], i int) (broken string) {
	s := st.sending[i]
	if len(s.done) < len(s.actions) {
		return ""
	}
	st.sending = slices.Delete(st.sending, i, i+1)
	t := st.loop.Turns[s.key]
	next := st.loop.End(clock(st.now), t, errors.Join(s.failures...), s.vetoed)
	failed := len(s.failures) > 0 || t.Failures != nil || t.Problems != nil && m.world.RetryProblems
	if failed != (next.Err != nil) || failed && !next.Requeue {
		broken = fmt.Sprintf("failures are reported and retried, and nothing else is: %v, %d failures, %v", s.key,
			len(s.failures), next)
	}
	if s.vetoed && m.world.Broken.VetoEndsKey {
		return broken
	}
	st.queueAgain(s.key, next, m.world.Broken)
	return broken
}
