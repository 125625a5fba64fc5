package rbacaggregate

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// play is a small cluster and all that aggregation can make of it: every order of the passes of its roles.
type play struct {
	roles []*rbacv1.ClusterRole
	// byDefault are the plans of the default, by role and by the rules that are stored in it. They depend on
	// nothing else that passes change.
	byDefault map[string]*SetRules
}

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
			c.mine, c.others = c.mine || m.Manager == FieldManager, c.others || m.Manager != FieldManager
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

// defaultPass carries out the plan of the default.
func (p *play) defaultPass(t testing.TB, s state, i int) (content, bool) {
	key := fmt.Sprint(i, s[i].rules)
	set, known := p.byDefault[key]
	if !known {
		var roles []*rbacv1.ClusterRole
		for k, r := range p.roles {
			c := *r
			c.Rules = s[k].rules
			roles = append(roles, &c)
		}
		result, _ := Plan(Snapshot{ClusterRoles: roles}, Key(p.roles[i].Name), Options{})
		for _, a := range result.Actions {
			a := a.(SetRules)
			set = &a
		}
		p.byDefault[key] = set
	}
	if set == nil {
		return s[i], false
	}
	return content{rules: set.Rules, mine: true}, true
}

// passes are a way to aggregate.
type passes string

const (
	byDefault  passes = "default"
	asUpstream passes = "upstream"
	byBoth     passes = "both"
)

const maxStates = 4000

// all visits every state that passes can make of the cluster, in every order. The states in which nothing is
// left to do are ends.
func (p *play) all(t testing.TB, start state, by passes, visit func(s state, end bool)) (complete bool) {
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
			if by != byDefault {
				c, wrote := p.upstreamPass(t, s, i)
				step(i, c, wrote)
			}
			if by != asUpstream {
				c, wrote := p.defaultPass(t, s, i)
				step(i, c, wrote)
			}
		}
		visit(s, end)
	}
	return true
}

// newPlay is a cluster as it is before or after a write, and its first state. Roles that are not in hidden have
// their managedFields owned by the controller if these are not known.
func newPlay(roles []*rbacv1.ClusterRole, hidden map[string]bool) (*play, state) {
	p := &play{roles: slices.Clone(roles), byDefault: map[string]*SetRules{}}
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
		nil, ownedBy(FieldManager), ownedBy("kubectl"), append(ownedBy(FieldManager), ownedBy("kubectl")...),
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
func (p *play) histories(t testing.TB, start state, by passes) (all map[string]*history, complete bool) {
	all = map[string]*history{}
	for _, r := range p.roles {
		all[r.Name] = &history{rules: map[string]rbacv1.PolicyRule{}, inSome: map[string]bool{}}
	}
	complete = p.all(t, start, by, func(s state, end bool) {
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

// Every rule that a role has at any moment after a write, and did not have before, is one of Grants, unless the
// write makes no difference to the role. So is each rule that it has before and may keep with the write, where
// it may lose it without. Every order of the passes of each cluster is played, by the default, as upstream, and
// with both at once.
func TestGrantsMissNothing(t *testing.T) {
	worlds := uint64(3000)
	if testing.Short() {
		worlds = 800
	}
	gained, kept, large := 0, 0, 0
	for seed := range worlds {
		r := rand.New(rand.NewPCG(seed, 11))
		roles := fewRoles(r)
		oldObj, newObj := smallWrite(r, roles)
		hidden := map[string]bool{}
		for _, role := range roles {
			hidden[role.Name] = r.IntN(2) == 0
		}
		was := Snapshot{ClusterRoles: roles}
		is := was.after(oldObj, newObj)
		before, first := newPlay(was.ClusterRoles, hidden)
		after, written := newPlay(is.ClusterRoles, hidden)
		x := NewIndex(was, Options{})
		for _, by := range []passes{byDefault, asUpstream, byBoth} {
			without, whole := before.histories(t, first, by)
			with, wholeToo := after.histories(t, written, by)
			if !whole || !wholeToo {
				large++
			}
			for _, role := range after.roles {
				grants, _ := x.Grants(oldObj, newObj, Key(role.Name))
				granted := map[string]bool{}
				for _, g := range grants {
					granted[g.Rule.String()] = true
				}
				h, w := with[role.Name], without[role.Name]
				if w == nil { // it is created
					w = &history{}
				}
				has := find(roles, role.Name)
				same := maps.Equal(h.inSome, w.inSome) && maps.Equal(h.inAll, w.inAll)
				if same && maps.Equal(keys(h.rules), keys(w.rules)) && role != newObj {
					continue // the write makes no difference to it
				}
				for text, rule := range h.rules {
					at := fmt.Sprintf("seed %d, %s: %s, %v", seed, by, role.Name, rule)
					if has == nil || !contains(has.Rules, rule) {
						gained++
						require.True(t, granted[text], "%s: it has it then, and it was not granted", at)
					} else if h.inSome[text] && !w.inAll[text] {
						kept++
						require.True(t, granted[text], "%s: it keeps it, and it was not granted", at)
					}
				}
			}
		}
	}
	t.Logf("%d clusters: %d rules gained, %d kept; %d clusters have too many states", worlds, gained, kept, large)
	require.Greater(t, gained, 1000)
	require.Greater(t, kept, 50)
	require.Less(t, large, int(worlds)/100)
}

func keys[V any](m map[string]V) map[string]bool {
	set := map[string]bool{}
	for k := range m {
		set[k] = true
	}
	return set
}
