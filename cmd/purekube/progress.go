package main

import (
	"fmt"
	"io"
	"time"
)

// progress says on a terminal how far reading has come: a dump of a large cluster takes a while. The zero
// value says nothing.
type progress struct {
	w     io.Writer
	clock func() time.Time
	next  time.Time
}

// progress is nil, which says nothing, where nobody watches.
func (sys system) progress() *progress {
	if !sys.watched {
		return nil
	}
	return &progress{w: sys.stderr, clock: sys.now}
}

// every is how often the line is rewritten.
const every = time.Second / 2

// count is told now and then how many objects were read.
func (p *progress) count(objects int) {
	if p == nil || p.w == nil {
		return
	}
	now := p.clock()
	if p.next.IsZero() {
		p.next = now.Add(every)
	}
	if now.Before(p.next) {
		return
	}
	p.next = now.Add(every)
	fmt.Fprintf(p.w, "\r%d objects read", objects)
}

// done takes the line away.
func (p *progress) done() {
	if p != nil && !p.next.IsZero() {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
