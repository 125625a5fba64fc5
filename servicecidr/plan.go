package servicecidr

import (
	"net/netip"
	"slices"

	"go4.org/netipx"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// How a plan is made, and where:
//
//	decide (here)                    which action is next, and why
//	├─ obstacles (here)              does anything block the deletion?
//	│  ├─ stretches.of (ranges.go)   the parts of its prefixes, and which other ServiceCIDRs contain each part
//	│  ├─ orphaned (rules.go)        does one of them stay longer (BR-31-02, BR-31-05, D-1, D-25)?
//	│  ├─ any (addresses.go)         if not: is there an address in the part?
//	│  └─ unknown (addresses.go)     what could not be read, and could be such an address (D-2)?
//	└─ graceEnd (rules.go)           is the grace period over (BR-31-03)?
//
// CheckDeletion and Explain put the same verdict into words. They add the orphans in the exposed ranges, and the
// other ServiceCIDRs that contain a prefix.

// Plan decides about the ServiceCIDR of that key:
//
// If the ServiceCIDR is not being deleted, it gets the finalizer (BR-31-01) and then the condition Ready=True, unless
// it has them. If it is being deleted and an address would be orphaned, it gets Ready=False (BR-31-02). Otherwise,
// RecheckAt is the end of the grace period (BR-31-03), and from then on the plan removes the finalizer. A blocked
// deletion has no RecheckAt: an event affects its key again, see Index.With.
//
// The result for a key that is not in the snapshot is empty. The error joins *purekube.ObjectError: nil objects in the
// snapshot, and the bad input of the package comment that this decision depends on. The actions of a result with an
// error are right: an error only prevents the removal of the finalizer.
func Plan(s Snapshot, key purekube.Key, o Options) (Result, error) { return forOnePlan(s, o).Plan(key) }

// Plan is the function [Plan] for the objects of the Index.
func (x *Index) Plan(key purekube.Key) (Result, error) {
	if err := x.options.err(); err != nil {
		return Result{}, err
	}
	var problems snapshot.Problems
	x.report(&problems)
	// A key whose ServiceCIDR is gone has an empty plan: the event of its deletion brings the key once more.
	c := x.find(key)
	if c == nil {
		return Result{}, problems.Err()
	}
	v := x.decide(c)
	problems.Add(v.problems...)
	return v.result, problems.Err()
}

// PlanAll decides about every ServiceCIDR. It returns the outcomes that have an action, a RecheckAt or an error, sorted
// by key. The result for a key is the result of Plan. Each IPAddress costs one search among the ends of the prefixes
// of ServiceCIDRs that are being deleted.
//
// The error is what is wrong with the snapshot as a whole: nil objects, ServiceCIDRs without a name, and IPAddresses
// that the API server's allocator manages and whose name is not an address (not under MatchUpstream). If a problem
// prevents the removal of a ServiceCIDR's finalizer, the error of that outcome has it too.
func PlanAll(s Snapshot, o Options) ([]Outcome, error) { return forOnePlan(s, o).PlanAll() }

// PlanAll is the function [PlanAll] for the objects of the Index.
func (x *Index) PlanAll() ([]Outcome, error) {
	if err := x.options.err(); err != nil {
		return nil, err
	}
	var shared snapshot.Problems
	x.reportAll(&shared)
	var outcomes []Outcome
	for _, c := range x.cidrs {
		v := x.decide(c)
		var problems snapshot.Problems
		problems.Add(v.problems...)
		if err := problems.Err(); err != nil || !v.result.Empty() {
			outcomes = append(outcomes, Outcome{Key: Key(c.name), Result: v.result, Err: err})
		}
	}
	return outcomes, shared.Err()
}

// forOnePlan is NewIndex without the IPAddresses that no plan reads. A plan asks only whether there is an address of
// some families in a stretch, so the first one that answers is enough, and none is needed where no ServiceCIDR is being
// deleted. Sorting the others would take most of the time of PlanAll (BenchmarkPlanAll).
func forOnePlan(s Snapshot, o Options) *Index {
	ips := s.IPAddresses
	s.IPAddresses = nil
	x := NewIndex(s, o)
	var asked stretches // where a ServiceCIDR is being deleted
	// For each of these stretches: the families that any of its ServiceCIDRs asks for, and the families that all of
	// them ask for.
	var wanted, shared []family
	for _, s := range x.stretches {
		some, all := none, everyFamily
		for _, y := range s.in {
			if y.deleting() {
				some, all = some|y.families, all&y.families
			}
		}
		if some != none {
			asked, wanted, shared = append(asked, s), append(wanted, some), append(shared, all)
		}
	}
	needed := func(ip *networkingv1.IPAddress) bool {
		if ip == nil {
			return true // an error, and a doubt
		}
		a, err := netip.ParseAddr(ip.Name)
		if err != nil {
			return true // the same
		}
		i := asked.search(a)
		if i < 0 || wanted[i] == none {
			return false
		}
		f := familyOf(ip)
		if f&wanted[i] == none {
			return false
		}
		if wanted[i] &^= f; f&shared[i] != none {
			wanted[i] = none // this one answers every ServiceCIDR
		}
		return true
	}
	var read []*networkingv1.IPAddress
	for _, ip := range ips {
		if needed(ip) {
			read = append(read, ip)
		}
	}
	x.addresses = newAddresses(read)
	return x
}

// verdict is what is decided about a ServiceCIDR, and why. Plan reads the result, and Explain the codes. obstacles are
// empty for a ServiceCIDR that is not being deleted.
type verdict struct {
	result Result
	codes  []Code
	// problems make the decision uncertain, or say what is wrong with the ServiceCIDR.
	problems []*purekube.ObjectError
	obstacles
}

// decide returns what to do about c, and why. It is sync in servicecidrs_controller.go.
func (x *Index) decide(c *object) (v verdict) {
	if c.duplicate() {
		// Nothing is written to whichever of the ServiceCIDRs of that name is current.
		return verdict{codes: []Code{ReasonDuplicate}, problems: []*purekube.ObjectError{duplicate(c.name)}}
	}
	because := func(code Code) { v.codes = append(v.codes, code) }
	act := func(a Action) { v.result.Actions = append(v.result.Actions, a) }
	setReady := func(ready bool) {
		if want := wantReady(ready); !says(c.ServiceCIDR, want) {
			// Only the write has a time, so that two plans at different times agree on whether there is a write.
			want.LastTransitionTime = metav1.NewTime(x.now)
			act(SetCondition{Name: c.Name, UID: x.options.uid(c), Condition: want})
			because(ReasonConditionDiffers)
		}
	}
	if !c.deleting() {
		// BR-31-01: upstream's order. A ServiceCIDR is not Ready without the finalizer.
		if !protected(c.ServiceCIDR) {
			act(AddFinalizer{Name: c.Name, UID: x.options.uid(c)})
			because(ReasonUnprotected)
		}
		setReady(true)
		if len(v.codes) == 0 {
			because(ReasonUpToDate)
		}
		v.problems = x.unreadable(c)
		return v
	}
	v.obstacles = x.obstaclesOf(c)
	v.problems = v.obstacles.errors()
	switch end := x.options.graceEnd(c, x.now); {
	case v.blocked: // BR-31-02
		because(ReasonBlocked)
		setReady(false)
	case len(v.doubts) > 0: // nothing is written, and the error says why
		because(ReasonUncertain)
	case x.now.Before(end): // BR-31-03
		v.result.RecheckAt = end
		because(ReasonGracePeriod)
	case protected(c.ServiceCIDR):
		act(RemoveFinalizer{Name: c.Name, UID: x.options.uid(c)})
		because(ReasonRemovable)
	default:
		because(ReasonReleased)
	}
	return v
}

// obstacles are what blocks the deletion of one ServiceCIDR, or may block it.
type obstacles struct {
	// exposed are the addresses that no ServiceCIDR contains after the deletion. They are sorted and do not overlap.
	exposed []netipx.IPRange
	// blocked reports that there is an IPAddress in one of them.
	blocked bool
	// doubts are the objects that cannot be read and may block the deletion. They prevent a removal. The problems of
	// the ServiceCIDR itself come first.
	doubts []*purekube.ObjectError
	// duplicates are the names of several ServiceCIDRs each, one of which may contain the orphaned addresses.
	duplicates []*purekube.ObjectError
}

// none reports that it is certain that nothing blocks the deletion.
func (b obstacles) none() bool { return !b.blocked && len(b.doubts) == 0 }

// errors are the objects that make the decision uncertain.
func (b obstacles) errors() []*purekube.ObjectError { return slices.Concat(b.doubts, b.duplicates) }

// obstaclesOf returns what blocks the deletion of c, or might block it if the deletion began now. Ranges come first,
// addresses second: where others contain everything, no address is looked at.
func (x *Index) obstaclesOf(c *object) obstacles {
	b := obstacles{doubts: x.unreadable(c)}
	for _, p := range c.prefixes {
		for _, s := range x.stretches.of(p) {
			if x.options.orphaned(c, s.in) {
				b.exposed = append(b.exposed, s.IPRange)
			}
		}
	}
	// Two entries of spec.cidrs may overlap or be equal, and have the same stretches.
	slices.SortFunc(b.exposed, func(r, q netipx.IPRange) int { return r.From().Compare(q.From()) })
	b.exposed = slices.Compact(b.exposed)

	if b.blocked = x.addresses.any(c.families, b.exposed); b.blocked {
		// If one of several ServiceCIDRs of a name is the real one, it may contain the addresses of c.
		for _, y := range x.cidrs {
			if y.duplicate() && y.overlaps(c.prefixes) {
				b.duplicates = append(b.duplicates, duplicate(y.name))
			}
		}
	}
	if len(b.exposed) > 0 && x.options.mindsUnreadable() {
		b.doubts = append(b.doubts, x.addresses.unknown(c.families)...)
	}
	return b
}

// unreadable returns the entries of spec.cidrs that make a decision about c uncertain.
func (x *Index) unreadable(c *object) []*purekube.ObjectError {
	if x.options.mindsUnreadable() {
		return slices.Clip(c.problems)
	}
	return nil
}
