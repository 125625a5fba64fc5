package model

import (
	"slices"
)

// inUse are the numbers of all UIDs and generated names that anything has.
func (m *model) inUse(st *state, gone bool) numbers {
	n := m.kept
	for _, hs := range [][]held{st.server, st.cached, st.assumed, st.pending} {
		for _, h := range hs {
			n |= m.store.contents[h.content].numbers
			n |= m.store.places[h.place].numbers
		}
	}
	if st.flight != 0 {
		n |= m.flights[st.flight].numbers
	}
	if gone {
		n |= st.gone
	}
	return n
}

// compress numbers the versions of each object again, in their order, from 1. The versions in the current plan keep
// their numbers.
func (m *model) compress(st *state) {
	lists := [4][]held{st.server, st.cached, st.assumed, st.pending}
	var pins map[placeID][]int32
	if st.flight != 0 {
		pins = m.flights[st.flight].versions
	}
	var done map[placeID]bool
	for _, list := range lists {
		for i := range list {
			if list[i].version <= 1 || done[list[i].place] {
				continue
			}
			if done == nil {
				done = map[placeID]bool{}
			}
			done[list[i].place] = true
			compressPlace(list[i].place, lists, pins[list[i].place])
		}
	}
}

func compressPlace(p placeID, lists [4][]held, pinned []int32) {
	var used [256]bool
	for _, list := range lists {
		for i := range list {
			if list[i].place == p {
				used[list[i].version] = true
			}
		}
	}
	var becomes [256]int32
	next := int32(1)
	for v := 1; v < 256; v++ {
		if slices.Contains(pinned, int32(v)) {
			becomes[v] = int32(v)
			next = int32(v) + 1
		} else if used[v] {
			becomes[v] = next
			next++
		}
	}
	for _, list := range lists {
		for i := range list {
			if list[i].place == p {
				list[i].version = becomes[list[i].version]
			}
		}
	}
}

// newest is the highest version of the object that anything has.
func (m *model) newest(st *state, p placeID) int32 {
	var newest int32
	for _, hs := range [][]held{st.server, st.cached, st.assumed, st.pending} {
		for _, h := range hs {
			if h.place == p {
				newest = max(newest, h.version)
			}
		}
	}
	if st.flight != 0 {
		for _, v := range m.flights[st.flight].versions[p] {
			newest = max(newest, v)
		}
	}
	return newest
}
