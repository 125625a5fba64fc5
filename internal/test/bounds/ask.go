package bounds

import (
	"fmt"

	"github.com/purekube/purekube"
)

// plans plans the keys that an event names, as a controller does.
func plans[X purekube.Index[X, S, A], S any, A purekube.Action](x X, named []purekube.Key) (keys, actions int) {
	for _, key := range named {
		r, err := x.Plan(key)
		must(err)
		actions += len(r.Actions)
	}
	return len(named), actions
}

// event is a change of objects, and the plans that it leads to.
func event[X purekube.Index[X, S, A], S any, A purekube.Action](x X, changed S) (keys, actions int) {
	next, affected := x.With(changed)
	return plans(next, affected)
}

// returns is an event that takes objects away, and another one that brings them back.
func returns[X purekube.Index[X, S, A], S any, A purekube.Action](x X, objects S) (keys, actions int) {
	without, affected := x.Without(objects)
	goneKeys, goneActions := plans(without, affected)
	keys, actions = event(without, objects)
	return keys + goneKeys, actions + goneActions
}

// one is a question about one key.
func one[X purekube.Index[X, S, A], S any, A purekube.Action](x X, key purekube.Key) (keys, actions int) {
	return plans(x, []purekube.Key{key})
}

// all is the question about all keys.
func all[X purekube.Index[X, S, A], S any, A purekube.Action](x X) (keys, actions int) {
	outcomes, err := x.PlanAll()
	must(err)
	for _, o := range outcomes {
		actions += len(o.Result.Actions)
	}
	return len(outcomes), actions
}

// explained is a question whose answer has neither keys nor actions.
func explained[E any](_ E, err error) (keys, actions int) {
	must(err)
	return 0, 0
}

func must(err error) {
	if err != nil {
		panic(fmt.Sprint("a cluster in which nothing is wrong: ", err))
	}
}
