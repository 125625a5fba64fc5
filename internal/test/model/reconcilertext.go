package model

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/internal/reconcile"
)

var contentsIn = regexp.MustCompile(`#(\d+)`)

// finish is part of steps. The resourceVersions count in their order only.
func (m *reconcilerModel[X, S, A]) finish(st *reconcilerState[X, S, A]) string {
	st.sent = slices.DeleteFunc(st.sent, func(s sent) bool { return st.now >= s.at+seconds(reconcile.FenceTimeout) })
	if st.memory != nil {
		replies := map[types.UID]bool{}
		for _, s := range st.sending {
			if s.reply == nil {
				continue
			}
			if o, ok := s.reply.returned.(Object); ok {
				replies[o.GetUID()] = true
			}
		}
		st.memory.prune(replies)
	}
	text := inOrder(m.text(st))
	sum := sha256.Sum256([]byte(text))
	key := string(sum[:])
	if m.states[key] == nil {
		st.numbers = numbersIn(text)
		for _, match := range contentsIn.FindAllStringSubmatch(text, -1) {
			id, _ := strconv.Atoi(match[1])
			st.numbers |= m.store.contents[id].numbers
		}
		for _, h := range m.backup {
			if m.world.Restores {
				st.numbers |= m.store.contents[h.content].numbers
			}
		}
		m.states[key] = st
	}
	return key
}

// text is all that a state is.
func (m *reconcilerModel[X, S, A]) text(st *reconcilerState[X, S, A]) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %v %s %d %t %t", st.now, st.counts, st.ghost, st.faults, st.hangs, st.started)
	copied := func(h held) { fmt.Fprintf(&b, " %d#%d@%d", h.place, h.content, h.version) }
	for _, h := range st.server {
		copied(h)
	}
	for _, c := range st.pending {
		copied(c.held)
		fmt.Fprintf(&b, " %d %t %t %t", c.at, c.listed, c.told, c.missed)
	}
	for _, l := range []any{st.queue, st.again, st.later, st.ticks, st.planning, st.looking, st.calls, st.lookAt,
		st.asked} {
		fmt.Fprintf(&b, "\n%v", l)
	}
	for _, c := range st.confirming {
		fmt.Fprintf(&b, "\nconfirming %s %d %d", c.key, c.began, c.listed)
		for _, h := range c.read {
			copied(h)
		}
	}
	for _, s := range st.sending {
		fmt.Fprintf(&b, "\nsending %s %d %t", s.key, len(s.failures), s.vetoed)
		for i := len(s.done); i < len(s.actions); i++ {
			b.WriteString("\n" + requestText(s.actions[i].Request(s.done)))
		}
		if s.reply != nil {
			fmt.Fprintf(&b, "\nreply %s %v", m.returnedText(s.reply.returned), s.reply.err)
		}
	}
	for _, s := range st.sent {
		fmt.Fprintf(&b, "\nsent %s %s %d @%d %d", s.key, s.request, s.kind, s.version, s.at)
	}
	if st.stray != nil {
		fmt.Fprintf(&b, "\nstray %s %d", requestText(*st.stray), st.strayUntil)
	}
	for kind, version := range st.at {
		fmt.Fprintf(&b, "\nat @%d @%d %t", version, st.lookedAt[kind], st.relist[kind])
	}
	if st.relist != nil { // what the next write gets, where it may be an old one
		fmt.Fprintf(&b, "\nrevision @%d", st.revision)
	}
	for _, n := range slices.SortedFunc(maps.Keys(st.answers), compareNeeds) {
		fmt.Fprintf(&b, "\nknown %v %s", n, m.answerText(st.answers[n]))
	}
	if st.memory != nil {
		b.WriteString("\nmemory " + st.memory.text())
	}
	b.WriteString(loopText(st.loop, func(x *noted[X, S, A]) string { return x.text }, m.answerText))
	return b.String()
}

// returnedText is what a request returned: the content and the version.
func (m *reconcilerModel[X, S, A]) returnedText(returned runtime.Object) string {
	o, ok := returned.(Object)
	if !ok {
		return "nothing"
	}
	return fmt.Sprintf("#%d@%s", m.store.intern(o, nil), o.GetResourceVersion())
}

// inOrder numbers the resourceVersions in a text by their order.
func inOrder(text string) string {
	var versions []int
	eachVersion(text, func(version int) string { versions = append(versions, version); return "" })
	slices.Sort(versions)
	versions = slices.Compact(versions)
	return eachVersion(text, func(version int) string {
		i, _ := slices.BinarySearch(versions, version)
		return "@" + strconv.Itoa(i)
	})
}

// eachVersion puts other texts in the place of the resourceVersions in a text: the number after an @, or the number in
// a JSON field.
func eachVersion(text string, to func(version int) string) string {
	const field = `"resourceVersion":"`
	var b strings.Builder
	rest := text
	for {
		i := strings.IndexAny(rest, "@\"")
		if i < 0 {
			b.WriteString(rest)
			return b.String()
		}
		begin := i + 1
		if rest[i] == '"' {
			if !strings.HasPrefix(rest[i:], field) {
				b.WriteString(rest[:begin])
				rest = rest[begin:]
				continue
			}
			begin = i + len(field)
		}
		end := begin
		for end < len(rest) && '0' <= rest[end] && rest[end] <= '9' {
			end++
		}
		b.WriteString(rest[:i])
		if version, err := strconv.Atoi(rest[begin:end]); err == nil {
			b.WriteString(to(version))
		} else {
			b.WriteString(rest[i:end])
		}
		rest = rest[end:]
	}
}
