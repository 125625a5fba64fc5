package model

import (
	"slices"
)

// with is the world with another pod alone, see podWithClaims.
func (w Scenario) with(pod string) Scenario {
	w.Name += " of " + pod
	return w.withPods(pod)
}

// without is the world in which these events do not happen.
func (w Scenario) without(events ...string) Scenario {
	w.Events = slices.DeleteFunc(slices.Clone(w.Events), func(e Event) bool { return slices.Contains(events, e.Name) })
	return w
}

// only is the world in which no other events happen.
func (w Scenario) only(events ...string) Scenario {
	w.Events = slices.DeleteFunc(slices.Clone(w.Events), func(e Event) bool { return !slices.Contains(events, e.Name) })
	return w
}

// named is the world with more to its name.
func (w Scenario) named(suffix string) Scenario {
	w.Name += suffix
	return w
}

// atMost is the world in which each of these events happens so often at most.
func (w Scenario) atMost(times int, events ...string) Scenario {
	w.Events = slices.Clone(w.Events)
	for i := range w.Events {
		if slices.Contains(events, w.Events[i].Name) {
			w.Events[i].Max = times
		}
	}
	return w
}

// withPods is the world with other pods, see podWithClaims.
func (w Scenario) withPods(names ...string) Scenario {
	w.Events = slices.Clone(w.Events)
	for i := range w.Events {
		if w.Events[i].Name == "pod created" {
			w.Events[i].Do = createPods(names...)
		}
	}
	return w
}
