package servicecidr

import (
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// verdict is what stands in the way of one deletion.
type verdict struct {
	// blocked: an address would be left without a range.
	blocked bool
	// doubts are why there may be more in the way than is known. They hold a removal back.
	doubts []*purekube.ObjectError
	// hidden are the ServiceCIDRs that may be the cover which is missing.
	hidden []*purekube.ObjectError
}

// removable: nothing is in the way, and that is certain.
func (v verdict) removable() bool { return !v.blocked && len(v.doubts) == 0 }

func (v verdict) report(problems *snapshot.Problems) {
	for _, e := range v.doubts {
		problems.Add(e)
	}
	for _, e := range v.hidden {
		problems.Add(e)
	}
}

// judge returns the verdict on each of the subjects, all of which are being deleted, and the
// problems with addresses that none of the verdicts rests on.
func (r roster) judge(subjects []*object, ips []*networkingv1.IPAddress, o Options) (verdicts []verdict, rest []*purekube.ObjectError) {
	setOrder(r.objects, nil)
	rs := newRanges(r.objects, o.MatchUpstream)
	sets := make([]set, len(subjects))
	for i, x := range subjects {
		sets[i] = set{rs.exposed(x).Ranges(), x.families}
	}
	c := newCensus(sets)
	c.take(ips)

	verdicts = make([]verdict, len(subjects))
	for i, x := range subjects {
		v := &verdicts[i]
		if v.blocked = c.holds(sets[i]); v.blocked {
			v.hidden = r.hiding(x)
		}
		if !o.MatchUpstream {
			v.doubts = doubts(x, len(sets[i].ranges) > 0, c.anyNil, c.illegible)
		}
	}
	if o.MatchUpstream {
		return verdicts, nil
	}
	for _, bad := range c.illegible {
		used := false
		for i, x := range subjects {
			used = used || len(sets[i].ranges) > 0 && x.families&bad.family != none
		}
		if !used {
			rest = append(rest, bad.problem)
		}
	}
	return verdicts, rest
}

// doubts collects what makes a "nothing is in the way" uncertain: a part of x that cannot be
// read (D-2), and addresses that cannot, if x is the only one to contain any at all.
func doubts(x *object, exposed, anyNil bool, bad []illegible) []*purekube.ObjectError {
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
