package servicecidr

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/message"
	"github.com/purekube/purekube/internal/snapshot"
)

// Explanation says why Plan and CheckDeletion decide about a ServiceCIDR as they do. It is data: compare explanations
// with go-cmp, or print them as JSON.
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

// Explain says why Plan and CheckDeletion decide about the ServiceCIDR of that key as they do. It returns the errors
// of CheckDeletion. Reasons also says what is wrong with the ServiceCIDR.
func (x *Index) Explain(key purekube.Key) (Explanation, error) {
	if err := x.options.err(); err != nil {
		return Explanation{}, err
	}
	var problems snapshot.Problems
	x.report(&problems)
	c := x.find(key)
	if c == nil {
		problems.Add(missing(key))
		return Explanation{}, problems.Err()
	}
	e, wrong := x.explain(c)
	problems.Add(wrong...)
	return e, problems.Err()
}

// ExplainAll explains every ServiceCIDR, sorted by key. It returns the error of PlanAll.
//
// The size of its result grows with the number of pairs of overlapping ServiceCIDRs, and of a ServiceCIDR and an orphan
// in it. A cluster has one to ten ServiceCIDRs.
func (x *Index) ExplainAll() ([]Explanation, error) {
	if err := x.options.err(); err != nil {
		return nil, err
	}
	var problems snapshot.Problems
	x.reportAll(&problems)
	var explanations []Explanation
	for _, c := range x.cidrs {
		e, _ := x.explain(c)
		explanations = append(explanations, e)
	}
	return explanations, problems.Err()
}

// explain puts the verdict about one ServiceCIDR into sentences. It decides nothing. It also returns what makes the
// decision uncertain.
func (x *Index) explain(c *object) (Explanation, []*purekube.ObjectError) {
	e := x.examine(c, 0)
	var b reasons
	for _, code := range e.codes {
		b.decision(code, c, e)
	}
	if !c.duplicate() {
		b.entries(c, e)
		b.uncertain(c, e)
	}
	return Explanation{Key: Key(c.name), Deleting: c.deleting(), Deletion: e.Deletion, Reasons: b.list}, e.problems
}

// reasons collects the steps of an explanation.
type reasons struct{ list []Reason }

// add adds a reason that is about another ServiceCIDR, or, with an empty name, only about the explained one.
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

// decision says what the plan does, and why.
func (b *reasons) decision(code Code, x *object, e examination) {
	const finalizersField, conditionsField = "metadata.finalizers", "status.conditions"
	switch code {
	case ReasonDuplicate:
		b.add("", code, x.name, "several ServiceCIDRs have this name: nothing is planned for them")
	case ReasonUnprotected:
		b.add(finalizersField, code, "",
			"the finalizer "+Finalizer+" is missing: the ServiceCIDR can be deleted while it is in use")
	case ReasonConditionDiffers:
		want := metav1.ConditionTrue
		if x.deleting() {
			want = metav1.ConditionFalse
		}
		b.add(conditionsField, code, "", fmt.Sprintf("the condition Ready=%s is missing or different", want))
	case ReasonUpToDate:
		b.add("", code, "", "it is not being deleted, and has its finalizer and condition")
	case ReasonBlocked:
		b.add("", code, "", message.Count(len(e.Orphans), "address")+" would be orphaned")
	case ReasonUncertain:
		b.add("", code, "",
			"no address is known to block the deletion, but some objects could not be read: the finalizer stays")
	case ReasonGracePeriod:
		text := "no address blocks the deletion; the grace period ends at " + e.result.RecheckAt.UTC().Format(time.RFC3339)
		// The end moves with Now until the deletion is recorded, so a time would be wrong a second later.
		if x.unseen {
			text = "no address blocks the deletion; the grace period begins when Snapshot.DeletionSeen has an entry for it"
		}
		b.add("metadata.deletionTimestamp", code, "", text)
	case ReasonRemovable:
		b.add(finalizersField, code, "", "no address blocks the deletion, and the grace period is over")
	case ReasonReleased:
		b.add(finalizersField, code, "", "no address blocks the deletion; the finalizer "+Finalizer+" is already removed")
	}
}

// entries says what each entry of spec.cidrs contributes.
func (b *reasons) entries(x *object, e examination) {
	parsed := 0 // how many entries that parse have been explained
	if len(x.Spec.CIDRs) == 0 {
		b.add("spec.cidrs", ReasonUnparsable, "", "the ServiceCIDR has no CIDR, so its addresses are unknown")
	}
	for i, text := range x.Spec.CIDRs {
		if _, err := netip.ParsePrefix(text); err != nil {
			b.add(cidrField(i), ReasonUnparsable, "", fmt.Sprintf("%q is not a CIDR, so its addresses are unknown", text))
			continue
		}
		b.prefix(cidrField(i), x.prefixes[parsed], e.others[parsed], e.Orphans)
		parsed++
	}
}

// maxNamed is how many addresses a sentence names. The Orphans of the Deletion have the others.
const maxNamed = 20

// prefix says what one entry of spec.cidrs contributes.
func (b *reasons) prefix(field string, p netip.Prefix, others others, orphans []Orphan) {
	for _, y := range others.by {
		b.add(field, ReasonContained, y.Name, fmt.Sprintf("%s contains all addresses of %s", y.Name, p))
	}
	for _, y := range others.unreliable {
		code, why := ReasonContainedByDeleting, "is being deleted too and may be gone first"
		if !protected(y.ServiceCIDR) {
			code, why = ReasonContainedByUnprotected, "does not have the finalizer "+Finalizer+" and may be gone first"
		}
		b.add(field, code, y.Name, fmt.Sprintf("%s contains %s, but it %s", y.Name, p, why))
	}
	if len(others.by) > 0 {
		return
	}
	for _, y := range others.inside {
		b.add(field, ReasonContainedInPart, y.Name, fmt.Sprintf("%s contains a part of %s", y.Name, p))
	}
	// An address may be in two overlapping entries. It is then a reason for both.
	var mine []Orphan
	for _, a := range orphans {
		if PrefixContainsIP(p, a.Address) {
			mine = append(mine, a)
		}
	}
	if len(mine) == 0 {
		b.add(field, ReasonNoAddresses, "", fmt.Sprintf("no address of %s would be orphaned", p))
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
		fmt.Sprintf("%s would be orphaned: %s", message.Count(len(mine), "address"), strings.Join(texts, ", ")))
}

// uncertain says which unreadable objects may block the deletion, or may contain the orphaned addresses. The reasons
// are sorted by name, so that the order of the snapshot does not matter.
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
	for _, d := range e.duplicates {
		b.add("", ReasonDuplicate, d.Name,
			fmt.Sprintf(
				"several ServiceCIDRs are named %s, and one of them overlaps this one: its addresses count as not contained in it",
				d.Name))
	}
}
