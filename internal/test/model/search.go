package model

import (
	"fmt"
	"hash/maphash"
	"os"
	"runtime"
	"strings"
	"time"
)

// system is what a search goes through. States are strings: equal strings are one state.
type system interface {
	// start returns the state that everything begins with.
	start() string
	// next calls visit with each state that follows, always in the same order. broken, if not empty, says which
	// guarantee the step breaks. step must be set only if telling is true.
	next(state string, telling bool, visit func(step, state, broken string))
	// settle is one step of a run in which users have stopped and everybody else continues: the state after it, and ok
	// if there is a step. Without a step, broken says what is wrong with the idle state.
	settle(state string, telling bool) (step, after string, ok bool, broken string)
}

// Bounds of a search. Zero: none.
type Bounds struct {
	Time   time.Duration
	Memory uint64 // bytes of heap
	States int
}

// Report says what a search has seen.
type Report struct {
	Scenario string
	// States visited, the steps between them, and how far the last one is from the first.
	States, Steps, Depth int
	// Settled is how many states were seen to become idle as they should. It is the number of all states, including
	// states on the way to an idle state, unless the search was cut off.
	Settled int
	// Closed means that every reachable state was visited. If it is false, CutOff says which bound ended the search.
	Closed bool
	CutOff string
	Took   time.Duration
	// Broken is the guarantee that was seen broken, if there was one. The other field has the steps to it.
	Broken string
	Story  []string
}

// String is one line, followed by the steps to a broken guarantee if there is one.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d states, %d steps, depth %d, %s: ", r.Scenario, r.States, r.Steps, r.Depth,
		r.Took.Round(time.Second/10))
	switch {
	case r.Broken != "":
		fmt.Fprintf(&b, "broken: %s\n", r.Broken)
		for i, line := range r.Story {
			fmt.Fprintf(&b, "%3d. %s\n", i+1, strings.ReplaceAll(line, "\n", "\n       "))
		}
	case r.Closed:
		b.WriteString("closed, there are no other states")
	default:
		fmt.Fprintf(&b, "cut off by %s at depth %d", r.CutOff, r.Depth)
	}
	return b.String()
}

// arrival is how a state was reached first.
type arrival struct {
	from uint32
	turn uint16 // which of the steps of from
}

type hash [2]uint64

type searcher struct {
	system system
	seeds  [2]maphash.Seed
	seen   map[hash]uint32
	came   []arrival
	// good are states from which the settling run is known to end well.
	good map[hash]struct{}
}

func (s *searcher) hash(state string) hash {
	return hash{maphash.String(s.seeds[0], state), maphash.String(s.seeds[1], state)}
}

// maxSettling is how many steps a settling run may take. It loops long before.
const maxSettling = 5000

// inUse is how many bytes the heap has, with what nobody refers to any more.
func inUse() uint64 {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return memory.HeapAlloc
}

// search goes breadth first through the states. With liveness, it settles from each of them.
func search(name string, sys system, liveness bool, b Bounds) Report {
	began := time.Now()
	s := &searcher{system: sys, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
		seen: map[hash]uint32{}, good: map[hash]struct{}{}}
	r := Report{Scenario: name}
	done := func() Report {
		r.States, r.Settled, r.Took = len(s.came), len(s.good), time.Since(began)
		return r
	}
	first := sys.start()
	s.seen[s.hash(first)] = 0
	s.came = append(s.came, arrival{})
	frontier, indexes := []string{first}, []uint32{0}
	for r.Depth = 0; len(frontier) > 0; r.Depth++ {
		var nextFrontier []string
		var nextIndexes []uint32
		for i, state := range frontier {
			if i%16 == 0 {
				if b.Time > 0 && time.Since(began) > b.Time {
					r.CutOff = "time"
					return done()
				}
				if b.Memory > 0 && i%65536 == 0 && inUse() > b.Memory {
					runtime.GC() // what a search before this one left does not count
					if inUse() > b.Memory {
						r.CutOff = "memory"
						return done()
					}
				}
				if b.States > 0 && len(s.came) > b.States {
					r.CutOff = "number of states"
					return done()
				}
			}
			if liveness {
				if broken, tail := s.settles(state); broken != "" {
					r.Broken, r.Story = broken, append(s.story(indexes[i]), tail...)
					return done()
				}
			}
			turn := 0
			sys.next(state, false, func(_, after, broken string) {
				if r.Broken != "" {
					return
				}
				r.Steps++
				if broken != "" {
					r.Broken = broken
					r.Story = append(s.story(indexes[i]), s.tell(state, turn))
					return
				}
				h := s.hash(after)
				if _, known := s.seen[h]; !known {
					index := uint32(len(s.came))
					s.seen[h] = index
					s.came = append(s.came, arrival{indexes[i], uint16(turn)})
					nextFrontier = append(nextFrontier, after)
					nextIndexes = append(nextIndexes, index)
				}
				turn++
			})
			if r.Broken != "" {
				r.Depth++
				return done()
			}
			frontier[i] = ""
		}
		if os.Getenv(progressVariable) != "" {
			fmt.Fprintf(os.Stderr, "%s: depth %d, %d states, %d new, %s\n", name, r.Depth, len(s.came), len(nextFrontier),
				time.Since(began).Round(time.Second/10))
		}
		frontier, indexes = nextFrontier, nextIndexes
	}
	r.Closed = true
	return done()
}

// progressVariable, if it is set, makes a search say how far it is.
const progressVariable = "PUREKUBE_MODEL_PROGRESS"

// tell returns the text of the step of that turn.
func (s *searcher) tell(state string, turn int) string {
	var text string
	n := 0
	s.system.next(state, true, func(step, _, _ string) {
		if n == turn {
			text = step
		}
		n++
	})
	return text
}

// It returns the steps to the state of that index.
func (s *searcher) story(index uint32) []string {
	var turns []uint16
	for ; index != 0; index = s.came[index].from {
		turns = append(turns, s.came[index].turn)
	}
	state := s.system.start()
	var story []string
	for i := len(turns) - 1; i >= 0; i-- {
		n := 0
		var after string
		s.system.next(state, true, func(step, to, _ string) {
			if n == int(turns[i]) {
				story = append(story, step)
				after = to
			}
			n++
		})
		state = after
	}
	return story
}

// settles continues without users until everything is idle, or a state repeats.
func (s *searcher) settles(state string) (broken string, tail []string) {
	first := state
	var path []hash
	on := map[hash]bool{}
	for {
		h := s.hash(state)
		if _, good := s.good[h]; good {
			break
		}
		if on[h] || len(path) > maxSettling {
			return "it comes to rest: the same writes follow one another for ever", s.tellSettling(first, h)
		}
		path, on[h] = append(path, h), true
		_, after, ok, wrong := s.system.settle(state, false)
		if wrong != "" {
			return wrong, s.tellSettling(first, hash{})
		}
		if !ok {
			break
		}
		state = after
	}
	for _, h := range path {
		s.good[h] = struct{}{}
	}
	return "", nil
}

// tellSettling tells a settling run to its end, or through its loop.
func (s *searcher) tellSettling(state string, loop hash) []string {
	tail := []string{"from here on users do nothing, and nothing fails"}
	times := 0
	for range maxSettling {
		if loop != (hash{}) && s.hash(state) == loop {
			if times++; times == 2 {
				return append(tail, "and so on, for ever")
			}
			tail = append(tail, "here it begins to repeat itself")
		}
		step, after, ok, wrong := s.system.settle(state, true)
		if !ok {
			return append(tail, "at rest")
		}
		tail = append(tail, step)
		if wrong != "" {
			return tail
		}
		state = after
	}
	return tail
}
