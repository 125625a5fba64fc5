package rbacaggregate

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// play is a small cluster and all that kube-controller-manager can make of it: every order of the passes of its roles.
type play struct{ roles []*rbacv1.ClusterRole }

// state is what passes change of each role.
type state []content

// content is what is stored in a role, and whether the controller and others own it.
type content struct {
	rules        []rbacv1.PolicyRule
	mine, others bool
}

func (s state) key() string {
	var b strings.Builder
	for _, c := range s {
		fmt.Fprintf(&b, "%v%t%t;", c.rules, c.mine, c.others)
	}
	return b.String()
}

// truth is who owns the rules. Where the managedFields were left out of the cache, either may be true: hidden
// says which.
func truth(r *rbacv1.ClusterRole, hidden bool) content {
	c := content{rules: r.Rules}
	for _, m := range r.ManagedFields {
		if strings.Contains(string(m.FieldsV1.Raw), "f:rules") {
			c.mine, c.others = c.mine || m.Manager == fieldManager, c.others || m.Manager != fieldManager
		}
	}
	if len(r.ManagedFields) == 0 {
		c.mine, c.others = !hidden, hidden
	}
	return c
}

// upstreamPass is syncClusterRole of kube-controller-manager, and what server-side apply makes of its request.
func (p *play) upstreamPass(t testing.TB, s state, i int) (content, bool) {
	role := p.roles[i]
	for _, ls := range role.AggregationRule.ClusterRoleSelectors {
		if _, err := metav1.LabelSelectorAsSelector(&ls); err != nil {
			return content{}, false
		}
	}
	rules := sumOfSources(t, p.roles, role, func(source *rbacv1.ClusterRole) []rbacv1.PolicyRule {
		return s[slices.Index(p.roles, source)].rules
	})
	c := s[i]
	switch {
	case equality.Semantic.DeepEqual(rules, c.rules):
		return c, false
	case len(rules) > 0:
		return content{rules: rules, mine: true}, true
	case c.mine && !c.others:
		return content{}, true
	default:
		return content{rules: c.rules, others: c.others}, c.mine
	}
}

const maxStates = 4000

// all visits every state that passes can make of the cluster, in every order. The states in which nothing is
// left to do are ends.
func (p *play) all(t testing.TB, start state, visit func(s state, end bool)) (complete bool) {
	seen := map[string]bool{start.key(): true}
	queue := []state{start}
	for len(queue) > 0 {
		if len(seen) > maxStates {
			return false
		}
		s := queue[0]
		queue = queue[1:]
		end := true
		step := func(i int, c content, wrote bool) {
			if !wrote {
				return
			}
			end = false
			next := slices.Clone(s)
			next[i] = c
			if key := next.key(); !seen[key] {
				seen[key] = true
				queue = append(queue, next)
			}
		}
		for i, r := range p.roles {
			if r.AggregationRule == nil {
				continue
			}
			c, wrote := p.upstreamPass(t, s, i)
			step(i, c, wrote)
		}
		visit(s, end)
	}
	return true
}

// newPlay is a cluster as it is before or after a write, and its first state. Roles that are not in hidden have
// their managedFields owned by the controller if these are not known.
func newPlay(roles []*rbacv1.ClusterRole, hidden map[string]bool) (*play, state) {
	p := &play{slices.Clone(roles)}
	slices.SortFunc(p.roles, func(a, b *rbacv1.ClusterRole) int { return strings.Compare(a.Name, b.Name) })
	var s state
	for _, r := range p.roles {
		s = append(s, truth(r, hidden[r.Name]))
	}
	return p, s
}

// fewRoles makes a cluster of two to four roles.
func fewRoles(r *rand.Rand) []*rbacv1.ClusterRole {
	var roles []*rbacv1.ClusterRole
	for i := range 2 + r.IntN(3) {
		roles = append(roles, smallRole(r, fmt.Sprintf("r%d", i)))
	}
	return roles
}

func smallRole(r *rand.Rand, name string) *rbacv1.ClusterRole {
	role := plain(name, "")
	for _, kind := range []string{"a", "b", "c"} {
		if r.IntN(3) == 0 {
			metav1.SetMetaDataLabel(&role.ObjectMeta, kind, "true")
		}
	}
	for _, rule := range []rbacv1.PolicyRule{pods, secrets} {
		if r.IntN(3) == 0 {
			role.Rules = append(role.Rules, rule)
		}
	}
	role.ManagedFields = [][]metav1.ManagedFieldsEntry{
		nil, ownedBy(fieldManager), ownedBy("kubectl"), append(ownedBy(fieldManager), ownedBy("kubectl")...),
		ownedBy("kubectl", "f:metadata"),
	}[r.IntN(5)]
	if r.IntN(3) == 0 {
		return role
	}
	role.AggregationRule = &rbacv1.AggregationRule{}
	for range r.IntN(3) {
		ls := byLabel([]string{"a", "b", "c"}[r.IntN(3)])
		switch r.IntN(20) {
		case 0:
			ls = badSelector()
		case 1:
			ls = metav1.LabelSelector{}
		}
		role.AggregationRule.ClusterRoleSelectors = append(role.AggregationRule.ClusterRoleSelectors, ls)
	}
	return role
}

// smallWrite is a create, an update or a delete.
func smallWrite(r *rand.Rand, roles []*rbacv1.ClusterRole) (oldObj, newObj *rbacv1.ClusterRole) {
	if r.IntN(4) == 0 {
		return nil, smallRole(r, "new")
	}
	oldObj = roles[r.IntN(len(roles))]
	other := smallRole(r, oldObj.Name)
	newObj = oldObj.DeepCopy()
	switch r.IntN(6) {
	case 0:
		return oldObj, nil
	case 1:
		newObj.Labels = other.Labels
	case 2:
		newObj.Rules = other.Rules
	case 3:
		newObj.ManagedFields = other.ManagedFields
	case 4:
		newObj.AggregationRule = other.AggregationRule
	default:
		newObj = other
	}
	return oldObj, newObj
}

// history is what one role has in all states of a cluster.
type history struct {
	// rules are those that it has in some state, and inAll and inSome those that it has in all ends and in some end.
	rules         map[string]rbacv1.PolicyRule
	inAll, inSome map[string]bool
}

// histories plays a cluster. None are complete if it has too many states.
func (p *play) histories(t testing.TB, start state) (all map[string]*history, complete bool) {
	all = map[string]*history{}
	for _, r := range p.roles {
		all[r.Name] = &history{rules: map[string]rbacv1.PolicyRule{}, inSome: map[string]bool{}}
	}
	complete = p.all(t, start, func(s state, end bool) {
		for i, c := range s {
			h, now := all[p.roles[i].Name], map[string]bool{}
			for _, rule := range c.rules {
				h.rules[rule.String()] = rule
				now[rule.String()] = true
			}
			if !end {
				continue
			}
			maps.Copy(h.inSome, now)
			if h.inAll == nil {
				h.inAll = now
			}
			maps.DeleteFunc(h.inAll, func(rule string, _ bool) bool { return !now[rule] })
		}
	})
	return all, complete
}
