package servicecidr

import (
	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// obstacles are the reasons that block one deletion.
type obstacles struct {
	// blocked reports that an address would be orphaned.
	blocked bool
	// doubts are the objects that cannot be read and may block the deletion. They prevent a removal. The problems of
	// the ServiceCIDR itself come first.
	doubts []*purekube.ObjectError
	// duplicates are the names of several ServiceCIDRs each, one of which may contain the orphaned addresses.
	duplicates []*purekube.ObjectError
}

// none reports that it is certain that nothing blocks the deletion.
func (b obstacles) none() bool { return !b.blocked && len(b.doubts) == 0 }

func (b obstacles) report(problems *snapshot.Problems) {
	problems.Add(b.doubts...)
	problems.Add(b.duplicates...)
}

// obstaclesOf returns what blocks the deletion of c, which is being deleted.
func (x *Index) obstaclesOf(c *object, asked asked) obstacles {
	blocked, exposed := false, false
	covered := func(u *until) bool { return u == nil || u.compare(c.goes) > 0 }
	for _, p := range c.unique {
		if x.contained(c, p) {
			continue
		}
		s := x.shortestOf(question{p, c.families}, asked)
		exposed, blocked = exposed || !covered(s.any), blocked || !covered(s.counted)
	}
	return x.obstacles(c, blocked, exposed && !asked.legible)
}

// obstacles collects what blocks the deletion of c. blocked says that an address blocks it. illegible says that an
// IPAddress that cannot be read may block it: there are possible addresses, used or not, that only c contains.
func (x *Index) obstacles(c *object, blocked, illegible bool) obstacles {
	b := obstacles{blocked: blocked}
	if blocked {
		// If one of several ServiceCIDRs of a name is the real one, it may contain the addresses of c.
		for _, p := range c.unique {
			for name := range x.ambiguous.Overlapping(p) {
				b.duplicates = append(b.duplicates, duplicate(name))
			}
		}
	}
	if x.o.matchUpstream() {
		return b
	}
	// A part of c that cannot be read is uncertain (D-2). So is an IPAddress that cannot be read, if it may be an
	// address that only c contains.
	b.doubts = c.problems[:len(c.problems):len(c.problems)]
	if illegible {
		b.doubts = append(b.doubts, x.ips.unknown(c.families)...)
	}
	return b
}
