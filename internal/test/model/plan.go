package model

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/purekube/purekube"
)

// planned is a Decision, and the plan that it begins; 0: there is nothing to write.
type planned struct {
	Decision
	recheck int32 // seconds; 0: none
	flight  uint32
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

// begin takes the key's plan off the queue.
func (m *model) begin(st *state, v *View, key uint16) *state {
	p := m.plan(v, key, st)
	after := st.clone()
	after.dequeue(key)
	after.flight = p.flight
	after.setTimer(key, p.recheck)
	return after
}

func (m *model) actionsOf(v *View, key uint16, st *state) plannedActions {
	return m.plan(v, key, st).Actions
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
