package servicecidr

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/message"
	"github.com/purekube/purekube/internal/snapshot"
)

// Explanation says why Plan and CheckDeletion decide about a ServiceCIDR as they do.
type Explanation struct {
	// Key is the key of the ServiceCIDR.
	Key purekube.Key `json:"key"`
	// Deleting reports whether the ServiceCIDR is being deleted. If it is false, Deletion and the reasons with a path
	// below spec.cidrs describe what would happen if the deletion began now.
	Deleting bool `json:"deleting"`
	// Deletion is the answer of CheckDeletion.
	Deletion Deletion `json:"deletion"`
	// Reasons are the steps of the decision: what the plan does, then the entries of spec.cidrs in order, then what is
	// uncertain.
	Reasons []Reason `json:"reasons,omitempty"`
}

// Reason is one step on the way to a decision. Field is a path in the ServiceCIDR. Object is the other ServiceCIDR, or
// the IPAddress, that the step is about.
type Reason = purekube.Reason[Code]

// Code is the machine-readable part of a [Reason]. It is one of the constants below; a new version may add codes.
type Code string

// What the plan does and why. Each explanation begins with one or two of these.
const (
	// ReasonUnprotected: the finalizer is missing, and AddFinalizer adds it (BR-31-01).
	ReasonUnprotected Code = "Unprotected"
	// ReasonConditionDiffers: the condition Ready is missing or different, and SetCondition writes it.
	ReasonConditionDiffers Code = "ConditionDiffers"
	// ReasonUpToDate: it is not being deleted, and has its finalizer and condition.
	ReasonUpToDate Code = "UpToDate"
	// ReasonBlocked: addresses would be orphaned (BR-31-02).
	ReasonBlocked Code = "Blocked"
	// ReasonUncertain: no address is known to block the deletion, but an object that cannot be read may block it. The
	// finalizer stays.
	ReasonUncertain Code = "Uncertain"
	// ReasonGracePeriod: it may go once the grace period is over (BR-31-03).
	ReasonGracePeriod Code = "GracePeriod"
	// ReasonRemovable: it may go, and RemoveFinalizer removes the finalizer.
	ReasonRemovable Code = "Removable"
	// ReasonReleased: it may go, and the finalizer is already removed. Only other finalizers delay its deletion.
	ReasonReleased Code = "Released"
)

// What an entry of spec.cidrs contributes. Field is the entry.
const (
	// ReasonContained: a prefix of another ServiceCIDR contains the whole entry (BR-31-05).
	ReasonContained Code = "Contained"
	// ReasonContainedByDeleting: a prefix of another ServiceCIDR contains the entry, but that ServiceCIDR is being
	// deleted too and may be gone first (D-1).
	ReasonContainedByDeleting Code = "ContainedByDeleting"
	// ReasonContainedByUnprotected: a prefix of another ServiceCIDR contains the entry, but that ServiceCIDR does not
	// have the finalizer and may be gone at any moment (D-25).
	ReasonContainedByUnprotected Code = "ContainedByUnprotected"
	// ReasonContainedInPart: a prefix of another ServiceCIDR contains a part of the entry.
	ReasonContainedInPart Code = "ContainedInPart"
	// ReasonAddressesOrphaned: addresses would be orphaned. Object is the first of these addresses.
	ReasonAddressesOrphaned Code = "AddressesOrphaned"
	// ReasonNoAddresses: no address would be orphaned.
	ReasonNoAddresses Code = "NoAddresses"
	// ReasonUnparsable: the entry does not parse, or spec.cidrs is empty (D-2).
	ReasonUnparsable Code = "Unparsable"
)

// What is uncertain.
const (
	// ReasonAddressUnknown: an IPAddress is nil, or its name is not an address. It may be an address of this
	// ServiceCIDR.
	ReasonAddressUnknown Code = "AddressUnknown"
	// ReasonDuplicate: several ServiceCIDRs have the name of Object. If Object is the explained ServiceCIDR, nothing
	// is decided about it. Otherwise, a ServiceCIDR of that name overlaps the explained one and may contain its
	// addresses, but it does not count.
	ReasonDuplicate Code = "Duplicate"
)

// Explain says why Plan and CheckDeletion decide about the ServiceCIDR of that key as they do. It returns the errors
// of CheckDeletion. Reasons also says what is wrong with the ServiceCIDR.
func Explain(s Snapshot, key purekube.Key, o Options) (Explanation, error) {
	return NewIndex(s, o).Explain(key)
}

// Explain is [Explain] for the objects of the Index.
func (x *Index) Explain(key purekube.Key) (Explanation, error) {
	if err := x.o.err(); err != nil {
		return Explanation{}, err
	}
	var problems snapshot.Problems
	x.report(&problems)
	c := x.mustFind(key, &problems)
	switch {
	case c != nil:
		e := x.examine(c, 0, 0)
		e.report(&problems)
		return explain(x.now, c, e, x.o), problems.Err()
	case key == Key(key.Name) && x.cidrs.Ambiguous(key.NamespacedName()):
		return explainDuplicate(key), problems.Err()
	}
	return Explanation{}, problems.Err()
}

// ExplainAll explains every ServiceCIDR, sorted by key. It returns the error of PlanAll.
//
// The size of its result does not grow with the number of pairs of objects. For each entry of spec.cidrs, it names at
// most 20 other ServiceCIDRs of each kind. After it has named 1,000 orphans plus four for each IPAddress, it names at
// most 20 orphans of each further ServiceCIDR. Explain has no such limits.
//
// Its time grows with the number of pairs of an outer and an inner ServiceCIDR, if the outer ServiceCIDR may not rely
// on a third one around it: 0.5 s for 500 equal ServiceCIDRs around 500 small ones (22 November 2026, 2 vCPU in use by
// others, go test ./servicecidr -bench Overlaps).
func ExplainAll(s Snapshot, o Options) ([]Explanation, error) { return NewIndex(s, o).ExplainAll() }

// maxOthers is how many other ServiceCIDRs of a kind ExplainAll names.
const maxOthers = 20

// ExplainAll is [ExplainAll] for the objects of the Index.
func (x *Index) ExplainAll() ([]Explanation, error) {
	if err := x.o.err(); err != nil {
		return nil, err
	}
	var problems snapshot.Problems
	x.reportAll(&problems)
	var explanations []Explanation
	orphans := 4*x.ips.objects.Len() + 1000
	for _, c := range x.byName.All() {
		limit := 0
		if orphans < 0 {
			limit = maxOthers
		}
		e := x.examine(c, limit, maxOthers)
		orphans -= len(e.Orphans)
		explanations = append(explanations, explain(x.now, c, e, x.o))
	}
	for name := range x.cidrs.AmbiguousNames() {
		explanations = append(explanations, explainDuplicate(Key(name.Name)))
	}
	slices.SortFunc(explanations, func(a, b Explanation) int { return a.Key.Compare(b.Key) })
	return explanations, problems.Err()
}

func explainDuplicate(key purekube.Key) Explanation {
	const message = "several ServiceCIDRs have this name: nothing is planned for them"
	return Explanation{Key: key, Reasons: []Reason{{Code: ReasonDuplicate, Object: key, Message: message}}}
}

func explain(now time.Time, x *object, e examination, o Options) Explanation {
	var b reasons
	b.plan(now, x, e, o)
	parsed := 0
	if len(x.Spec.CIDRs) == 0 {
		b.add("spec.cidrs", ReasonUnparsable, "", "the ServiceCIDR has no CIDR, so its addresses are unknown")
	}
	for i, text := range x.Spec.CIDRs {
		if parsed == len(x.entries) || x.entries[parsed] != i {
			b.add(cidrField(i), ReasonUnparsable, "", fmt.Sprintf("%q is not a CIDR, so its addresses are unknown", text))
			continue
		}
		b.prefix(cidrField(i), e.Coverage[parsed], e.covers[parsed], e.Deletion)
		parsed++
	}
	b.uncertain(x, e)
	return Explanation{Key: Key(x.Name), Deleting: x.deleting(), Deletion: e.Deletion, Reasons: b.list}
}

// reasons collects the steps of an explanation.
type reasons struct{ list []Reason }

func (b *reasons) add(field string, code Code, cidr, message string) {
	b.about(field, code, kindServiceCIDR, cidr, message)
}

// about adds a reason about another object, if it has a name.
func (b *reasons) about(field string, code Code, kind, name, message string) {
	r := Reason{Field: field, Code: code, Message: message}
	if name != "" {
		r.Object = purekube.Key{Kind: kind, Name: name}
	}
	b.list = append(b.list, r)
}

// plan says what the plan does.
func (b *reasons) plan(now time.Time, x *object, e examination, o Options) {
	const finalizersField, conditionsField = "metadata.finalizers", "status.conditions"
	switch {
	case !x.deleting():
		if !x.protected() {
			b.add(finalizersField, ReasonUnprotected, "", "the finalizer "+Finalizer+" is missing: the ServiceCIDR can be deleted while it is in use")
		}
		if !x.says(wantReady(true)) {
			b.add(conditionsField, ReasonConditionDiffers, "", "the condition Ready=True is missing or different")
		}
		if len(b.list) == 0 {
			b.add("", ReasonUpToDate, "", "it is not being deleted, and has its finalizer and condition")
		}
	case e.blocked:
		b.add("", ReasonBlocked, "", fmt.Sprintf("%s would be orphaned", addressCount(len(e.Orphans), e.MoreOrphans)))
		if !x.says(wantReady(false)) {
			b.add(conditionsField, ReasonConditionDiffers, "", "the condition Ready=False is missing or different")
		}
	case !e.none():
		b.add("", ReasonUncertain, "", "no address is known to block the deletion, but some objects could not be read: the finalizer stays")
	case now.Before(x.graceEnd(now, o)):
		message := "no address blocks the deletion; the grace period ends at " + x.graceEnd(now, o).UTC().Format(time.RFC3339)
		if x.unseen {
			message = "no address blocks the deletion; the grace period begins when Snapshot.DeletionSeen has an entry for it"
		}
		b.add("metadata.deletionTimestamp", ReasonGracePeriod, "", message)
	case x.protected():
		b.add(finalizersField, ReasonRemovable, "", "no address blocks the deletion, and the grace period is over")
	default:
		b.add(finalizersField, ReasonReleased, "", "no address blocks the deletion; the finalizer "+Finalizer+" is already removed")
	}
}

// maxNamed is how many addresses a sentence names.
const maxNamed = 20

// prefix says what one entry of spec.cidrs contributes.
func (b *reasons) prefix(field string, c Coverage, others covers, d Deletion) {
	for _, y := range others.by {
		b.add(field, ReasonContained, y.Name, fmt.Sprintf("%s contains all addresses of %s", y.Name, c.Prefix))
	}
	for _, y := range others.unreliable {
		code, why := ReasonContainedByDeleting, "is being deleted too and may be gone first"
		if !y.protected() {
			code, why = ReasonContainedByUnprotected, "does not have the finalizer "+Finalizer+" and may be gone first"
		}
		b.add(field, code, y.Name, fmt.Sprintf("%s contains %s, but it %s", y.Name, c.Prefix, why))
	}
	for _, y := range others.inside {
		b.add(field, ReasonContainedInPart, y.Name, fmt.Sprintf("%s contains a part of %s", y.Name, c.Prefix))
	}
	if len(others.by) > 0 {
		return
	}
	var mine []Orphan
	for _, a := range d.Orphans {
		if PrefixContainsIP(c.Prefix, a.Address) {
			mine = append(mine, a)
		}
	}
	if len(mine) == 0 {
		b.add(field, ReasonNoAddresses, "", fmt.Sprintf("no address of %s would be orphaned", c.Prefix))
		return
	}
	var texts []string
	for _, a := range mine[:min(len(mine), maxNamed)] {
		texts = append(texts, a.String())
	}
	if more := len(mine) - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	b.about(field, ReasonAddressesOrphaned, kindIPAddress, mine[0].IPAddress,
		fmt.Sprintf("%s would be orphaned: %s", addressCount(len(mine), d.MoreOrphans), strings.Join(texts, ", ")))
}

// uncertain says which unreadable objects may block the deletion, or may contain the orphaned addresses.
func (b *reasons) uncertain(x *object, e examination) {
	unknown := slices.Clone(e.doubts[min(len(x.problems), len(e.doubts)):]) // the first ones are x's own
	slices.SortFunc(unknown, func(p, q *purekube.ObjectError) int { return cmp.Compare(p.Name, q.Name) })
	for _, d := range unknown {
		what := "an IPAddress is nil"
		if d.Field != "" {
			what = fmt.Sprintf("the name of the IPAddress %q is not an address", d.Name)
		}
		b.about("", ReasonAddressUnknown, kindIPAddress, d.Name, what+": it may be an address of this ServiceCIDR")
	}
	duplicates := slices.Clone(e.duplicates)
	slices.SortFunc(duplicates, func(p, q *purekube.ObjectError) int { return cmp.Compare(p.Name, q.Name) })
	for _, d := range duplicates {
		b.add("", ReasonDuplicate, d.Name, fmt.Sprintf("several ServiceCIDRs are named %s, and one of them overlaps this one: its addresses count as not contained in it", d.Name))
	}
}

func addressCount(n int, more bool) string {
	if more {
		return "at least " + message.Count(n, "address")
	}
	return message.Count(n, "address")
}
