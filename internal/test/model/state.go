package model

import (
	"encoding/binary"
	"slices"
)

// An object as the API server, a cache or the controller's memory has it.
type held struct {
	place   placeID
	content contentID
	version int32
}

// timer says when a key is to be planned again.
type timer struct {
	key uint16
	at  int32
}

// state is one state of a scenario. It is stored as a string, see encode.
type state struct {
	now int32 // seconds since the start

	// What plans are made from, beside now.
	cached  []held // by kind and place
	assumed []held // claims as the API server returned them
	gone    numbers

	// What the API server has.
	server []held
	counts []uint8 // how often each event has happened, where that is bounded
	ghost  string  // what the guarantees of the scenario must remember

	pending []held // changes that the caches have yet to show, by kind and then in order; content 0: it is gone
	queue   []uint16
	timers  []timer
	flight  uint32 // the plan whose requests are being sent; 0: none
}

func appendHeld(b []byte, hs []held) []byte {
	b = binary.AppendUvarint(b, uint64(len(hs)))
	for _, h := range hs {
		b = binary.AppendUvarint(b, uint64(h.place))
		b = binary.AppendUvarint(b, uint64(h.content))
		b = append(b, byte(h.version))
	}
	return b
}

// appendView appends what plans are made from.
func (st *state) appendView(b []byte) []byte {
	b = binary.AppendVarint(append(b, 'v'), int64(st.now))
	b = appendHeld(b, st.cached)
	b = appendHeld(b, st.assumed)
	return binary.AppendUvarint(b, uint64(st.gone))
}

// appendServer appends what the API server has.
func (st *state) appendServer(b []byte) []byte {
	return appendHeld(binary.AppendVarint(append(b, 's'), int64(st.now)), st.server)
}

func (st *state) encode(b []byte) []byte {
	b = st.appendView(b)
	b = st.appendServer(b)
	b = append(b, byte(len(st.counts)))
	b = append(b, st.counts...)
	b = append(b, byte(len(st.ghost)))
	b = append(b, st.ghost...)
	b = appendHeld(b, st.pending)
	b = append(b, byte(len(st.queue)))
	for _, k := range st.queue {
		b = binary.AppendUvarint(b, uint64(k))
	}
	b = append(b, byte(len(st.timers)))
	for _, t := range st.timers {
		b = binary.AppendUvarint(b, uint64(t.key))
		b = binary.AppendVarint(b, int64(t.at))
	}
	return binary.AppendUvarint(b, uint64(st.flight))
}

type reader struct {
	text string
	at   int
}

func (r *reader) uvarint() uint64 {
	var v uint64
	for shift := 0; ; shift += 7 {
		c := r.text[r.at]
		r.at++
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v
		}
	}
}

func (r *reader) varint() int64 {
	u := r.uvarint()
	v := int64(u >> 1)
	if u&1 != 0 {
		v = ^v
	}
	return v
}

func (r *reader) byte() byte {
	r.at++
	return r.text[r.at-1]
}

func (r *reader) held() []held {
	n := int(r.uvarint())
	if n == 0 {
		return nil
	}
	hs := make([]held, n)
	for i := range hs {
		hs[i] = held{placeID(r.uvarint()), contentID(r.uvarint()), int32(r.byte())}
	}
	return hs
}

func decode(text string) *state {
	r := reader{text: text}
	st := &state{}
	r.byte()
	st.now = int32(r.varint())
	st.cached, st.assumed, st.gone = r.held(), r.held(), numbers(r.uvarint())
	r.byte()
	r.varint() // now again
	st.server = r.held()
	n := int(r.byte())
	st.counts = []byte(text[r.at : r.at+n])
	r.at += n
	n = int(r.byte())
	st.ghost = text[r.at : r.at+n]
	r.at += n
	st.pending = r.held()
	for range int(r.byte()) {
		st.queue = append(st.queue, uint16(r.uvarint()))
	}
	for range int(r.byte()) {
		st.timers = append(st.timers, timer{uint16(r.uvarint()), int32(r.varint())})
	}
	st.flight = uint32(r.uvarint())
	return st
}

// clone is a copy that may be changed.
func (st *state) clone() *state {
	c := *st
	c.cached = slices.Clone(st.cached)
	c.assumed = slices.Clone(st.assumed)
	c.server = slices.Clone(st.server)
	c.counts = slices.Clone(st.counts)
	c.pending = slices.Clone(st.pending)
	c.queue = slices.Clone(st.queue)
	c.timers = slices.Clone(st.timers)
	return &c
}

func (st *state) enqueue(key uint16) {
	if i, there := slices.BinarySearch(st.queue, key); !there {
		st.queue = slices.Insert(st.queue, i, key)
	}
}

func (st *state) dequeue(key uint16) {
	if i, there := slices.BinarySearch(st.queue, key); there {
		st.queue = slices.Delete(st.queue, i, i+1)
	}
}

// setTimer sets the key's only timer; at 0 takes it away.
func (st *state) setTimer(key uint16, at int32) {
	st.timers = slices.DeleteFunc(st.timers, func(t timer) bool { return t.key == key })
	if at == 0 {
		return
	}
	st.timers = append(st.timers, timer{key, at})
	slices.SortFunc(st.timers, func(a, b timer) int { return int(a.key) - int(b.key) })
}
