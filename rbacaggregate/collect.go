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
	// unconfirmed reports whether it counts only for a ClusterRole in which it is stored already (D-35).
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

// ruleMarks are the last passes in which a rule was collected: as a confirmed rule, and as an unconfirmed rule. They
// are in a slice by ruleID, beside the rules, so that a collection needs no map.
type ruleMarks struct{ rule, unconfirmed mark }

// collector collects rules, each once, in the order of their first occurrence (BR-27-04). A confirmed rule and the same
// rule unconfirmed count as two. Only one collector of an evaluation is in use at a time: the next one ends it.
type collector struct {
	rules      []rule
	evaluation *evaluation
	pass       mark
}

// collect begins a collection. Number all rules before: a mark is missing for a rule that gets its number later.
func (e *evaluation) collect() collector {
	e.pass++
	e.marked = append(e.marked, make([]ruleMarks, e.ids.len()-len(e.marked))...)
	return collector{evaluation: e, pass: e.pass}
}

// addRules does not copy the first rules of an empty collector, as long as each occurs once: it shares the slice.
// The common case is one source, or a first source that has most rules, and it costs no copy.
func (c *collector) addRules(rules []rule) {
	if len(c.rules) == 0 {
		n := 0
		for n < len(rules) && c.first(rules[n]) {
			n++
		}
		// Clip makes the next append copy the rules, instead of writing into the slice that is shared.
		c.rules = slices.Clip(rules[:n])
		rules = rules[n:]
	}
	for _, r := range rules {
		c.addRule(r)
	}
}

// addRule collects one rule, unless it has been collected.
func (c *collector) addRule(r rule) {
	if c.first(r) {
		c.rules = append(c.rules, r)
	}
}

// first marks a rule, and reports whether it has not been collected before.
func (c *collector) first(r rule) bool {
	at := &c.evaluation.marked[r.id].rule
	if r.unconfirmed {
		at = &c.evaluation.marked[r.id].unconfirmed
	}
	return at.first(c.pass)
}

// union is a list of collected rules, or the ordered union of other unions: their rules in order, each once (BR-27-04).
// One union may be in many others. No union is in itself, however roles aggregate each other.
//
// Unions put off the work. In a chain of ClusterRoles that aggregate each other level by level, each with many rules, a
// list for each level would copy the rules of all levels below. With unions, a level is a short list of pointers, and
// only the role that is asked about gets a list:
//
//	admin   of: [selection of {agg: admin}]
//	            of: [edit, istio-admin]
//	            edit    of: [selection of {agg: edit}]
//	            istio-admin   list: its stored rules
//
// Dropping later occurrences at the end of a walk over the unions gives the same list as dropping them at each level.
type union struct {
	// of is nil once the rules are known.
	of    []*union
	rules []rule
	known bool
	// some reports whether there is a rule, and fails whether one of the roles in it may have an aggregation that fails.
	some, fails bool

	collected mark // the pass in which it was collected
}

// union returns the ordered union of these unions, which is the union itself if there is only one.
func (e *evaluation) union(of ...*union) *union {
	if len(of) == 1 {
		return of[0]
	}
	u := &union{of: of}
	for _, in := range of {
		u.some, u.fails = u.some || in.some, u.fails || in.fails
	}
	// For many roles, each list is needed anyway, and higher unions are made from the lists of lower unions.
	if e.all {
		e.list(u)
	}
	return u
}

// list returns the list of a union. It visits each union inside once, down to unions whose list is computed.
//
// Without the marks, a ladder of diamonds (two ways down at each level) would take 2ⁿ steps for n levels.
func (e *evaluation) list(u *union) []rule {
	if u.known {
		return u.rules
	}
	c := e.collect()
	for path := []*union{u}; len(path) > 0; {
		at := path[len(path)-1]
		path = path[:len(path)-1]
		switch {
		case !at.collected.first(c.pass):
		case at.known:
			c.addRules(at.rules)
		default:
			// The path is a stack: the first union must be on top.
			for _, next := range slices.Backward(at.of) {
				path = append(path, next)
			}
		}
	}
	// The unions inside are let go, so that only the list remains in memory.
	u.of, u.rules, u.known = nil, c.rules, true
	return u.rules
}

// without returns the rules in a that are not in b, each once.
func (e *evaluation) without(a, b []rule) []rule {
	c := e.collect()
	// The rules of b are marked first. What is collected after them is new.
	c.addRules(b)
	inB := len(c.rules)
	c.addRules(a)
	return c.rules[inB:]
}

// copyOf returns copies of the rules, of all five fields. The slice is never nil. An empty slice is a decision, "no
// rules"; nil rules in an action leave rules of other field managers (D-20).
func copyOf(rules []rule) []rbacv1.PolicyRule {
	var entries int
	for _, r := range rules {
		entries += len(r.Verbs) + len(r.APIGroups) + len(r.Resources) + len(r.ResourceNames) + len(r.NonResourceURLs)
	}
	// The lists of all rules are in one array: a ClusterRole can have thousands of short lists. Each list is clipped, so
	// that an append to it copies the list.
	array := make([]string, 0, entries)
	list := func(from []string) []string {
		if from == nil {
			return nil
		}
		begin := len(array)
		array = append(array, from...)
		return slices.Clip(array[begin:])
	}
	copied := make([]rbacv1.PolicyRule, len(rules))
	for i, r := range rules {
		copied[i] = rbacv1.PolicyRule{
			Verbs: list(r.Verbs), APIGroups: list(r.APIGroups), Resources: list(r.Resources),
			ResourceNames: list(r.ResourceNames), NonResourceURLs: list(r.NonResourceURLs),
		}
	}
	return copied
}
