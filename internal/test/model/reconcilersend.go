package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/apiserver"
)

// outcome is what becomes of a request.
type outcome int

const (
	answered outcome = iota
	refused
	unanswered
)

var errUnanswered = errors.New("the connection was lost")

// request is the next request of a plan, as the hook changes it.
func (m *reconcilerModel[X, S, A]) request(s sending) purekube.Request {
	r := s.actions[len(s.done)].Request(s.done)
	if m.world.Change != nil {
		m.world.Change(&r)
	}
	return r
}

// send sends the next request of a plan.
func (m *reconcilerModel[X, S, A]) send(
	st *reconcilerState[X, S, A], i int, o outcome,
) (after *reconcilerState[X, S, A], how, broken string, ok bool) {
	s := st.sending[i]
	r := m.request(s)
	after = m.calling(st)
	if m.world.Veto != nil && m.world.Veto(r) {
		if o != answered {
			return nil, "", "", false
		}
		if !m.world.Broken.IgnoresVetoes {
			to := &after.sending[i]
			to.vetoed = true
			m.skip(to, r, nil)
			return after, "vetoed", m.advance(after, i), true
		}
		broken = "what a hook vetoes is never sent: " + r.String()
	}
	var returned runtime.Object
	var err error
	switch {
	case !clock(st.now).Before(after.loop.Turns[s.key].WriteBy):
		err, how, broken = context.DeadlineExceeded, "not sent, its time is over", ""
	case o == refused:
		err, how = apierrors.NewForbidden(r.Resource.GroupResource(), r.Name, errors.New("a webhook")),
			"refused, by a webhook, say"
	default:
		for _, before := range st.sent {
			if before.key == s.key && before.request == requestText(r) {
				broken = cmp.Or(broken, "no request is sent twice: "+r.String())
			}
		}
		var h held
		var wrong string
		var changed bool
		h, returned, changed, wrong, ok, err = m.do(after, r)
		if !ok {
			return nil, "", "", false
		}
		broken = cmp.Or(broken, wrong)
		if changed {
			broken = cmp.Or(broken, m.stale(st, s))
		}
		how = "carried out"
		switch {
		case err != nil:
			how = "refused: " + err.Error()
		case o == unanswered:
			returned, err, how = nil, errUnanswered, "carried out, and the answer is lost"
		case changed:
			after.sent = append(after.sent, sent{s.key, requestText(r), m.kind(h), h.version, st.now})
		}
		if m.world.SlowAnswers {
			after.sending[i].reply = &reply{returned, err}
			return after, how, broken, true
		}
	}
	return after, how, cmp.Or(broken, m.replied(after, i, r, returned, err)), true
}

// replied hands the answer to a request to the controller.
func (m *reconcilerModel[X, S, A]) replied(
	after *reconcilerState[X, S, A], i int, r purekube.Request, returned runtime.Object, err error,
) (broken string) {
	to := &after.sending[i]
	to.reply = nil
	if !m.world.Broken.IgnoresFences {
		after.loop.Sent(clock(after.now), after.loop.Turns[to.key], r, returned, err)
	}
	if err != nil {
		to.failures = append(slices.Clone(to.failures), err)
		m.skip(to, r, returned)
	} else {
		to.done = append(slices.Clone(to.done), returned)
	}
	return m.advance(after, i)
}

// skip goes on after a request without success.
func (m *reconcilerModel[X, S, A]) skip(to *sending, r purekube.Request, returned runtime.Object) {
	to.done = append(slices.Clone(to.done), returned)
	if !r.ContinueOnError {
		to.actions = to.actions[:len(to.done)]
	}
}

// stale says which action is made that a plan from what the API server has does not ask for.
func (m *reconcilerModel[X, S, A]) stale(st *reconcilerState[X, S, A], s sending) string {
	a, ok := s.actions[len(s.done)].(A)
	if !ok || len(s.done) > 0 || m.world.Right == nil { // what follows insists on the answer before
		return ""
	}
	d := m.fresh(m.view(st), s.key)
	if m.world.Right(a, d.Actions) {
		return ""
	}
	return fmt.Sprintf(
		"what cannot be undone is right at that moment: %s, and a plan from what the API server has asks for %s", a,
		plannedActions(d.Actions))
}

// fresh is the plan of a key from what the API server has.
func (m *reconcilerModel[X, S, A]) fresh(v *View, key purekube.Key) Decision {
	for _, k := range m.world.Controller.Keys(v) {
		if k == key.String() || k == key.Name {
			return m.world.Controller.Plan(v, k, v)
		}
	}
	return Decision{}
}

// do is what the API server does with a request.
func (m *reconcilerModel[X, S, A]) do(
	after *reconcilerState[X, S, A], r purekube.Request,
) (h held, returned runtime.Object, changed bool, broken string, ok bool, err error) {
	before := m.view(after)
	var there []apiserver.Stored
	at := -1
	if r.Name != "" {
		if at = find(after.server, m.store.place(r.Resource, r.Namespace, r.Name)); at >= 0 {
			h = after.server[at]
			there = append(there, apiserver.Stored{Object: m.store.object(h), Managed: m.store.contents[h.content].managed})
		}
	}
	server := apiserver.Restore(int(after.revision), after.numbers.free()-1, there...)
	server.Now = clock(after.now)
	if returned, err = server.Do(r); err != nil {
		return h, nil, false, "", true, err
	}
	o := returned.(Object)
	c := change{place: m.store.place(r.Resource, o.GetNamespace(), o.GetName())}
	for _, left := range server.Stored() {
		c.content = m.store.intern(left.Object, left.Managed)
	}
	if at >= 0 && c.content == h.content {
		return h, m.store.object(h), false, "", true, nil
	}
	if !m.room(after, c) {
		return h, nil, false, "", false, nil
	}
	h = m.write(after, c)
	if c.content != 0 {
		returned = m.store.object(h)
	}
	return h, returned, true, m.check(after, Step{Before: before, Request: &r}), true, nil
}
