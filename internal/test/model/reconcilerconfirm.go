package model

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/reconcile"
)

// confirming is a plan with an action that cannot be undone.
type confirming struct {
	key purekube.Key
	// began is when the first list was asked for, and listed are how many kinds of LoopWorld.Lists there are in read.
	began, listed int
	read          []held
}

var errNoList = errors.New("the list was cut off")

// confirmWith lists the next kind, as the API server has it at that moment. With the last one, the key is planned
// again.
func (m *reconcilerModel[X, S, A]) confirmWith(
	st *reconcilerState[X, S, A], i int,
) (after *reconcilerState[X, S, A], outcome, broken string) {
	after = m.calling(st)
	c := &after.confirming[i]
	if c.listed == 0 {
		c.began = st.now
	}
	kind := m.world.Lists[c.listed]
	c.read = slices.Clone(c.read)
	for _, h := range st.server {
		if m.store.places[h.place].resource.Resource == kind {
			c.read = append(c.read, h)
		}
	}
	c.listed++
	if c.listed < len(m.world.Lists) {
		return after, kind + " are listed", ""
	}
	v := &View{Now: clock(c.began)}
	for _, h := range c.read {
		v.objects = append(v.objects, m.store.object(h))
	}
	index, _ := m.world.Empty().With(m.world.Confirm(v, after.memory))
	fresh, _ := index.Plan(c.key)
	outcome, broken = m.confirmed(after, i, fresh, nil)
	return after, kind + " are listed: " + outcome, broken
}

// notConfirmed is a plan of which nothing is confirmed, since a list fails.
func (m *reconcilerModel[X, S, A]) notConfirmed(
	st *reconcilerState[X, S, A], i int,
) (after *reconcilerState[X, S, A], broken string) {
	after = m.calling(st)
	after.faults--
	_, broken = m.confirmed(after, i, purekube.Result[A]{}, errNoList)
	return after, broken
}

// confirmed goes on with what is confirmed of a plan.
func (m *reconcilerModel[X, S, A]) confirmed(
	after *reconcilerState[X, S, A], i int, fresh purekube.Result[A], err error,
) (outcome, broken string) {
	key := after.confirming[i].key
	after.confirming = slices.Delete(after.confirming, i, i+1)
	t := after.loop.Turns[key]
	if m.world.Broken.ConfirmsNothing {
		fresh, err = t.Result, nil
	}
	after.loop.Confirmed(clock(after.now), t, fresh, err)
	return m.carryOut(after, t, "")
}

// carryOut begins to send what is left of a plan.
func (m *reconcilerModel[X, S, A]) carryOut(
	after *reconcilerState[X, S, A], t *reconcile.Turn[*noted[X, S, A], A], broken string,
) (outcome, wrong string) {
	after.sending = append(after.sending, sending{key: t.Key, actions: Actions(t.Result.Actions)})
	return fmt.Sprint(plannedActions(Actions(t.Result.Actions))), cmp.Or(broken, m.advance(after, len(after.sending)-1))
}
