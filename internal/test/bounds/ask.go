package bounds

import (
	"fmt"
	"math/rand/v2"

	"github.com/purekube/purekube"
)

// change is an event. What it costs is the height of a tree for each object that it touches.
func change(name string, ask func(i int) (keys, actions int)) Question {
	return Question{Name: name, Growth: Logarithmic, Ask: ask, Event: true}
}

// touching is a change that touches all objects, without the plans: README.md lists it.
func touching(name string, ask func(i int) (keys, actions int)) Question {
	return Question{Name: name, Growth: Linear, Ask: ask, Event: true, Most: 100_000}
}

// sorting is an event that touches a share of the objects, and sorts these.
func sorting(name string, ask func(i int) (keys, actions int)) Question {
	q := touching(name, ask)
	q.Growth = Linearithmic
	return q
}

// about is a question about one object.
func about(name string, ask func(i int) (keys, actions int)) Question {
	return Question{Name: name, Growth: Logarithmic, Ask: ask}
}

// ofAll is a question about all objects: they are sorted, or each is searched for.
func ofAll(name string, ask func() (keys, actions int)) Question {
	return Question{Name: name, Growth: Linearithmic, Once: true, Ask: func(int) (int, int) { return ask() }}
}

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

// shuffled returns the objects in another order, as a cache lists them. It is the same each time.
func shuffled[T any](list []T) []T {
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

func must(err error) {
	if err != nil {
		panic(fmt.Sprint("a cluster in which nothing is wrong: ", err))
	}
}
