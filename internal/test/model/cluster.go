package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/purekube/purekube/internal/test/apiserver"
)

// cluster is a scenario and its objects: what both models have in common.
type cluster struct {
	world *Scenario
	store *store
}

// happening is one way in which an event can happen in a state of the API server.
type happening struct {
	event   int
	how     string
	changes []change
}

type change struct {
	place   placeID
	content contentID // 0: gone
}

// clock is the time that many seconds after the start.
func clock(seconds int) time.Time { return Start.Add(time.Duration(seconds) * time.Second) }

// kind is the position of the object's resource in the world's Kinds.
func (c *cluster) kind(h held) int { return c.store.places[h.place].kind }

// happenings are the ways in which events can happen now. counts says how often each has happened.
func (c *cluster) happenings(v *View, server []held, counts []uint8) (hs []happening) {
	for i, e := range c.world.Events {
		if e.Max > 0 && int(counts[i]) >= e.Max {
			continue
		}
		e.Do(v, func(how string, changes ...Change) {
			h := happening{event: i, how: how}
			for _, ch := range changes {
				id := c.store.intern(ch.object, c.managedOf(server, ch.object))
				to := change{c.store.contents[id].place, id}
				if ch.gone {
					to.content = 0
				} else if at := find(server, to.place); at >= 0 && server[at].content == id {
					continue
				}
				h.changes = append(h.changes, to)
			}
			if len(changes) == 0 || len(h.changes) > 0 {
				hs = append(hs, h)
			}
		})
	}
	return hs
}

// managedOf is what field managers applied to the object that is there.
func (c *cluster) managedOf(server []held, o Object) map[string]map[string]any {
	at := find(server, c.store.place(apiserver.ResourceOf(o), o.GetNamespace(), o.GetName()))
	if at < 0 || c.store.contents[server[at].content].object.GetUID() != o.GetUID() {
		return nil
	}
	return c.store.contents[server[at].content].managed
}

// check updates what the guarantees remember, and checks them for a step after which they remember that.
func (c *cluster) check(s *Step, ghost *string) (broken string) {
	s.Ghost = *ghost
	*ghost, broken = c.world.judge(s)
	return broken
}

func (c *cluster) describe(h held) string {
	if h.content == 0 {
		return fmt.Sprintf("that %s is gone", c.name(h))
	}
	if c.world.Describe == nil {
		return c.store.object(h).GetName()
	}
	return c.world.Describe(c.store.object(h))
}

// described is an object that is put into words only if somebody wants to read them.
type described struct {
	cluster *cluster
	held    held
}

func (d described) String() string { return d.cluster.describe(d.held) }

func (c *cluster) name(h held) string {
	p := c.store.places[h.place]
	return p.resource.Resource + " " + p.name
}

// changes says what is different at the API server.
func (c *cluster) changes(before, after []held) string {
	var b strings.Builder
	for _, h := range after {
		if i := find(before, h.place); i < 0 || before[i].content != h.content {
			b.WriteString("\n→ " + c.describe(h))
		}
	}
	for _, h := range before {
		if find(after, h.place) < 0 {
			fmt.Fprintf(&b, "\n→ %s is gone", c.name(h))
		}
	}
	return b.String()
}

func find(hs []held, p placeID) int {
	return slices.IndexFunc(hs, func(h held) bool { return h.place == p })
}

func insertHeld(hs []held, h held) []held {
	i, there := slices.BinarySearchFunc(hs, h, func(a, b held) int { return cmp.Compare(a.place, b.place) })
	if there {
		hs[i] = h
		return hs
	}
	return slices.Insert(hs, i, h)
}

func removeHeld(hs []held, p placeID) []held {
	if i := find(hs, p); i >= 0 {
		return slices.Delete(hs, i, i+1)
	}
	return hs
}
