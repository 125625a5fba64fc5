package model

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/reconcile"
)

// shown is a change that the handlers have yet to see.
type shown struct {
	held
	at int
	// listed: it is of the list at the start. told: what the controller remembers of a deletion was told of it. missed: a
	// list shows that the object is gone, and its version is the last one that was seen.
	listed, told, missed bool
}

type alarm struct {
	key purekube.Key
	at  int
}

// sending is a plan whose requests are being sent.
type sending struct {
	key      purekube.Key
	actions  []purekube.Action
	done     []runtime.Object
	failures []error
	vetoed   bool
	// reply is what the API server answered to the next request, and the controller does not have yet.
	reply *reply
}

type reply struct {
	returned runtime.Object
	err      error
}

// sent is a request that was accepted and answered, and whose change no handler has seen.
type sent struct {
	key     purekube.Key
	request string
	kind    int
	version int32
	at      int
}

// reconcilerState is a state of a LoopWorld.
type reconcilerState[X purekube.Index[X, S, A], S any, A purekube.Action] struct {
	now      int
	revision int32
	server   []held
	counts   []uint8
	ghost    string
	faults   int
	hangs    bool

	loop       *reconcile.Loop[*noted[X, S, A], notes[S], A]
	memory     memo // nil: it remembers nothing outside of its Index
	started    bool
	cached     []held
	pending    []shown
	queue      []purekube.Key
	again      []purekube.Key // queued during their turn
	later      []alarm
	ticks      []alarm
	planning   []purekube.Key
	confirming []confirming
	sending    []sending
	looking    []purekube.Need
	calls      []purekube.Need
	lookAt     []purekube.Need // queued during their call
	asked      []alarm         // when a key first asked, where writes share the lookups' context
	sent       []sent
	answers    map[purekube.Need]purekube.Answer // where answers are reused
	// stray is a request of the replica that had the Lease before, until strayUntil.
	stray      *purekube.Request
	strayUntil int
	// at has the resourceVersion of each kind's cache, lookedAt what it was at the last look, and relist is set where the
	// cache has to be listed again. They are for scenarios in which etcd is restored.
	at, lookedAt []int32
	relist       []bool

	numbers numbers // in its text
}

func (st *reconcilerState[X, S, A]) clone() *reconcilerState[X, S, A] {
	c := *st
	c.server, c.counts, c.cached, c.pending = slices.Clone(st.server), slices.Clone(st.counts), slices.Clone(st.cached),
		slices.Clone(st.pending)
	c.queue, c.again, c.later, c.ticks = slices.Clone(st.queue), slices.Clone(st.again), slices.Clone(st.later),
		slices.Clone(st.ticks)
	c.planning, c.sending, c.sent, c.asked = slices.Clone(st.planning), slices.Clone(st.sending), slices.Clone(st.sent),
		slices.Clone(st.asked)
	c.confirming = slices.Clone(st.confirming)
	c.looking, c.calls, c.lookAt = slices.Clone(st.looking), slices.Clone(st.calls), slices.Clone(st.lookAt)
	c.answers, c.at, c.lookedAt, c.relist = maps.Clone(st.answers), slices.Clone(st.at), slices.Clone(st.lookedAt),
		slices.Clone(st.relist)
	c.loop = cloneLoop(st.loop)
	if st.memory != nil {
		c.memory = st.memory.clone()
	}
	return &c
}
