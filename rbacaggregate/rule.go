package rbacaggregate

import (
	"encoding/binary"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
)

// ruleID is the same number for two rules exactly if equality.Semantic.DeepEqual holds for them:
// nil and empty lists are equal, the order inside a list matters (BR-27-04).
type ruleID int32

// rule is a rule of the snapshot, which is never handed out but as a copy, with its number.
type rule struct {
	*rbacv1.PolicyRule
	id ruleID
	// held is whether it counts only for a ClusterRole in which it is stored already: see kept.
	held bool
}

// ruleIDs numbers rules. Comparing two rules is comparing two numbers, which is what makes
// aggregation linear in the number of rules.
type ruleIDs struct {
	byKey map[string]ruleID
	key   []byte
}

func (n *ruleIDs) of(r *rbacv1.PolicyRule) ruleID {
	n.key = appendRuleKey(n.key[:0], r)
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

// len is how many there are.
func (n *ruleIDs) len() int { return len(n.byKey) }

func (n *ruleIDs) all(rules []rbacv1.PolicyRule) []rule {
	numbered := make([]rule, len(rules))
	for i := range rules {
		numbered[i] = rule{PolicyRule: &rules[i], id: n.of(&rules[i])}
	}
	return numbered
}

// appendRuleKey writes the rule so that no two different ones read the same: every list begins
// with its length, and so does every string.
func appendRuleKey(key []byte, r *rbacv1.PolicyRule) []byte {
	for _, list := range [...][]string{r.Verbs, r.APIGroups, r.Resources, r.ResourceNames, r.NonResourceURLs} {
		key = binary.AppendUvarint(key, uint64(len(list)))
		for _, s := range list {
			key = binary.AppendUvarint(key, uint64(len(s)))
			key = append(key, s...)
		}
	}
	return key
}

// equalRules reports whether equality.Semantic.DeepEqual holds for two rules.
func equalRules(a, b rbacv1.PolicyRule) bool {
	return slices.Equal(a.Verbs, b.Verbs) && slices.Equal(a.APIGroups, b.APIGroups) && slices.Equal(a.Resources, b.Resources) &&
		slices.Equal(a.ResourceNames, b.ResourceNames) && slices.Equal(a.NonResourceURLs, b.NonResourceURLs)
}

// ruleMarks are the passes in which a rule was collected last, as one that is not held and as one that is.
type ruleMarks struct{ rule, held mark }

// union collects rules, each once, in the order in which they first come (BR-27-04); a rule that is held and the
// same one that is not are two. A union ends when the next one of the same evaluation begins.
type union struct {
	list
	evaluation *evaluation
	pass       mark
}

func (e *evaluation) newUnion() union {
	e.pass++
	e.marked = append(e.marked, make([]ruleMarks, e.ids.len()-len(e.marked))...)
	return union{evaluation: e, pass: e.pass}
}

func (u *union) add(l list) {
	u.addRules(l.rules)
	for _, n := range l.failing {
		if n.failed.first(u.pass) {
			u.failing = append(u.failing, n)
		}
	}
}

// addRules shares the rules as long as they are all that there is, each once.
func (u *union) addRules(rules []rule) {
	if len(u.rules) == 0 {
		n := 0
		for n < len(rules) && u.first(rules[n]) {
			n++
		}
		u.rules = slices.Clip(rules[:n])
		rules = rules[n:]
	}
	for _, r := range rules {
		u.addRule(r)
	}
}

func (u *union) addRule(r rule) {
	if u.first(r) {
		u.rules = append(u.rules, r)
	}
}

func (u *union) first(r rule) bool {
	at := &u.evaluation.marked[r.id].rule
	if r.held {
		at = &u.evaluation.marked[r.id].held
	}
	return at.first(u.pass)
}

// without returns the rules in a that are not in b, each once.
func (e *evaluation) without(a, b []rule) []rule {
	u := e.newUnion()
	u.addRules(b)
	inB := len(u.rules)
	u.addRules(a)
	return u.rules[inB:]
}

// sameRules reports whether two lists are semantically equal.
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

// copyOf returns copies of the rules; never nil.
func copyOf(rules []rule) []rbacv1.PolicyRule {
	copied := make([]rbacv1.PolicyRule, len(rules))
	for i, r := range rules {
		r.DeepCopyInto(&copied[i])
	}
	return copied
}
