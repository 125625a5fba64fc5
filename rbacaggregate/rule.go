package rbacaggregate

import (
	"encoding/binary"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Upstream compares each collected rule with all rules before it, by reflection, which is quadratic in the number of
// rules. Here each rule gets a number, and all questions about rules (collected before? stored in the role? the same
// list?) are questions about numbers.

// ruleID is a number of a rule. Two rules have the same number exactly if equality.Semantic.DeepEqual is true for them:
// nil and empty lists are equal, the order inside a list matters (BR-27-04). Numbers begin at 0 and have no gaps, so
// that a slice can have an entry for each rule.
type ruleID int32

// rule is a rule of the snapshot with its number. Results get copies of it only. It is small, because lists of rules
// are copied often: a pointer, a number and a flag.
type rule struct {
	*rbacv1.PolicyRule
	id ruleID
	// unconfirmed reports whether it counts only for a ClusterRole in which it is stored already: see kept.
	unconfirmed bool
}

// ruleIDs numbers rules. Two rules are compared by their numbers, so that aggregation is linear in the number of
// rules.
type ruleIDs struct {
	// key is scratch space for the key of one rule, so that a known rule costs no allocation.
	byKey map[string]ruleID
	key   []byte
}

// of returns the number of a rule, a new number for a new rule.
func (n *ruleIDs) of(r *rbacv1.PolicyRule) ruleID {
	n.key = appendRuleKey(n.key[:0], r)
	// The compiler does not allocate for a conversion inside a map index.
	if id, known := n.byKey[string(n.key)]; known {
		return id
	}
	if n.byKey == nil {
		n.byKey = map[string]ruleID{}
	}
	id := ruleID(len(n.byKey))
	n.byKey[string(n.key)] = id
	return id
}

// len returns how many different rules there are.
func (n *ruleIDs) len() int { return len(n.byKey) }

// all returns the rules of one object with their numbers, in their order.
func (n *ruleIDs) all(rules []rbacv1.PolicyRule) []rule {
	numbered := make([]rule, len(rules))
	for i := range rules {
		numbered[i] = rule{PolicyRule: &rules[i], id: n.of(&rules[i])}
	}
	return numbered
}

// appendRuleKey appends the rule in a form that is different for different rules: every list and every string begins
// with its length. Without the lengths, the verbs [ab] and [a b] would have the same key. An empty list and nil have
// the same length, 0, and so the same key (BR-27-04).
func appendRuleKey(key []byte, r *rbacv1.PolicyRule) []byte {
	// All five fields of a rule: a field that is left out would make different rules equal.
	for _, list := range [...][]string{r.Verbs, r.APIGroups, r.Resources, r.ResourceNames, r.NonResourceURLs} {
		key = binary.AppendUvarint(key, uint64(len(list)))
		for _, s := range list {
			key = binary.AppendUvarint(key, uint64(len(s)))
			key = append(key, s...)
		}
	}
	return key
}

// equalRules reports whether equality.Semantic.DeepEqual is true for two rules. An event compares two versions of one
// object, which have no numbers. slices.Equal takes nil and empty lists as equal.
func equalRules(a, b rbacv1.PolicyRule) bool {
	return slices.Equal(a.Verbs, b.Verbs) && slices.Equal(a.APIGroups, b.APIGroups) && slices.Equal(a.Resources, b.Resources) &&
		slices.Equal(a.ResourceNames, b.ResourceNames) && slices.Equal(a.NonResourceURLs, b.NonResourceURLs)
}

// ruleMarks are the last passes in which a rule was collected: as a confirmed rule, and as an unconfirmed rule. They
// are in a slice by ruleID, beside the rules, so that a collection needs no map.
type ruleMarks struct{ rule, unconfirmed mark }

// union collects rules, each once, in the order of their first occurrence (BR-27-04). A confirmed rule and the same
// rule unconfirmed count as two. Only one union of an evaluation is in use at a time: the next union ends it.
type union struct {
	list
	evaluation *evaluation
	pass       mark
}

// newUnion begins a pass. Number all rules before: a mark is missing for a rule that gets its number later.
func (e *evaluation) newUnion() union {
	e.pass++
	e.marked = append(e.marked, make([]ruleMarks, e.ids.len()-len(e.marked))...)
	return union{evaluation: e, pass: e.pass}
}

// add collects the rules and the failing sources of a list.
func (u *union) add(l list) {
	u.addRules(l.rules)
	for _, n := range l.failing {
		if n.failed.first(u.pass) {
			u.failing = append(u.failing, n)
		}
	}
}

// addRules does not copy the first rules of an empty union, as long as each occurs once: the union shares the slice.
// The common case is one source, or a first source that has most rules, and it costs no copy.
func (u *union) addRules(rules []rule) {
	if len(u.rules) == 0 {
		n := 0
		for n < len(rules) && u.first(rules[n]) {
			n++
		}
		// Clip makes the next append copy the rules, instead of writing into the slice that is shared.
		u.rules = slices.Clip(rules[:n])
		rules = rules[n:]
	}
	for _, r := range rules {
		u.addRule(r)
	}
}

// addRule collects one rule, unless it has been collected.
func (u *union) addRule(r rule) {
	if u.first(r) {
		u.rules = append(u.rules, r)
	}
}

// first marks a rule, and reports whether it has not been collected before.
func (u *union) first(r rule) bool {
	at := &u.evaluation.marked[r.id].rule
	if r.unconfirmed {
		at = &u.evaluation.marked[r.id].unconfirmed
	}
	return at.first(u.pass)
}

// without returns the rules in a that are not in b, each once.
func (e *evaluation) without(a, b []rule) []rule {
	u := e.newUnion()
	// The union first marks the rules of b. What it collects after them is new.
	u.addRules(b)
	inB := len(u.rules)
	u.addRules(a)
	return u.rules[inB:]
}

// sameRules reports whether two lists are semantically equal. The order counts, as in upstream's comparison of the
// collected rules with the stored rules.
func sameRules(a, b []rule) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].id != b[i].id {
			return false
		}
	}
	return true
}

// copyOf returns copies of the rules. The slice is never nil. An empty slice is a decision, "no rules"; nil rules in an
// action leave rules of other field managers (D-20).
func copyOf(rules []rule) []rbacv1.PolicyRule {
	copied := make([]rbacv1.PolicyRule, len(rules))
	for i, r := range rules {
		r.DeepCopyInto(&copied[i])
	}
	return copied
}
