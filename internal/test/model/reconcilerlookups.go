package model

import (
	"slices"

	"github.com/purekube/purekube"
)

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
	if after.loop.Look(clock(after.now), n) {
		after.calls = insert(after.calls, n, compareNeeds)
	}
	return after
}

// found ends the call of a lookup.
func (m *reconcilerModel[X, S, A]) found(
	st *reconcilerState[X, S, A], n purekube.Need, err error,
) *reconcilerState[X, S, A] {
	after := m.calling(st)
	after.calls = remove(after.calls, n, compareNeeds)
	if slices.Contains(after.lookAt, n) {
		after.lookAt = remove(after.lookAt, n, compareNeeds)
		after.looking = insert(after.looking, n, compareNeeds)
	}
	var answer purekube.Answer
	if err == nil {
		answer = m.answer(after, n)
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

// answer is what the API server has.
func (m *reconcilerModel[X, S, A]) answer(st *reconcilerState[X, S, A], n purekube.Need) purekube.Answer {
	if a, known := st.answers[n]; known && m.world.Broken.ReusesAnswers {
		return a
	}
	a := m.world.Answer(m.view(st), n)
	if m.world.Broken.ReusesAnswers || m.world.Broken.AnswersWithTheLast {
		if st.answers == nil {
			st.answers = map[purekube.Need]purekube.Answer{}
		}
		st.answers[n] = a
	}
	return a
}
