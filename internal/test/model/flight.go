package model

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
)

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
	if r.PatchType == types.StrategicMergePatchType {
		var patch metav1.PartialObjectMetadata
		if err := json.Unmarshal(r.Patch, &patch); err != nil {
			panic(err)
		}
		text = patch.ResourceVersion
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
