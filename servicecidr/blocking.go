package servicecidr

import (
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// obstacles are what stands in the way of one deletion.
type obstacles struct {
	// blocked: an address would be left without a range.
	blocked bool
	// doubts are why there may be more in the way than is known. They hold a removal back.
	doubts []*purekube.ObjectError
	// duplicates are the ServiceCIDRs that may be the cover which is missing.
	duplicates []*purekube.ObjectError
}

// none: nothing is in the way, and that is certain.
func (b obstacles) none() bool { return !b.blocked && len(b.doubts) == 0 }

func (b obstacles) report(problems *snapshot.Problems) {
	for _, e := range b.doubts {
		problems.Add(e)
	}
	for _, e := range b.duplicates {
		problems.Add(e)
	}
}

// obstaclesOf returns what is in the way of each of the subjects, all of which are being deleted, by
// one pass over the addresses, and those of the addresses that cannot be read.
func (all objects) obstaclesOf(subjects []*object, ips []*networkingv1.IPAddress, o Options) ([]obstacles, []unparsable) {
	ps := newPrefixes(all.sorted, o.matchUpstream())
	sets := make([]set, len(subjects))
	for i, x := range subjects {
		sets[i] = set{ps.exposed(x).Ranges(), x.families}
	}
	q := newSearch(sets)
	q.scan(ips)

	found := make([]obstacles, len(subjects))
	for i, x := range subjects {
		b := &found[i]
		if b.blocked = q.holds(sets[i]); b.blocked {
			b.duplicates = all.duplicatesOverlapping(x)
		}
		if !o.matchUpstream() {
			b.doubts = doubts(x, len(sets[i].ranges) > 0, q.anyNil, q.unparsable)
		}
	}
	return found, q.unparsable
}

// doubts collects what makes a "nothing is in the way" uncertain: a part of x that cannot be
// read (D-2), and addresses that cannot, if x is the only one to contain any at all.
func doubts(x *object, exposed, anyNil bool, bad []unparsable) []*purekube.ObjectError {
	found := x.problems[:len(x.problems):len(x.problems)]
	if !exposed {
		return found
	}
	if anyNil {
		found = append(found, nilAddress())
	}
	for _, b := range bad {
		if b.family&x.families != none {
			found = append(found, b.problem)
		}
	}
	return found
}

func nilAddress() *purekube.ObjectError {
	return &purekube.ObjectError{Kind: kindIPAddress, Err: purekube.ErrNil}
}
