package rbacaggregate_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/snapshotfuzz"
	"github.com/purekube/purekube/rbacaggregate"
)

// snapshotDocument is a snapshot as JSON.
type snapshotDocument struct {
	ClusterRoles []*rbacv1.ClusterRole `json:"clusterRoles"`
}

func (d snapshotDocument) snapshot() rbacaggregate.Snapshot {
	return rbacaggregate.Snapshot{ClusterRoles: d.ClusterRoles}
}

var snapshotSeeds = []string{
	`{"clusterRoles":[null,
	{"metadata":{"name":"source","uid":"1","labels":{"x":"y","z":""}},"rules":[{"verbs":["get","list"],"apiGroups":[""],"resources":["pods"]},{"verbs":["get"],"nonResourceURLs":["/healthz"]}]},
	{"metadata":{"name":"middle","uid":"2","labels":{"z":"y"}},"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"x":"y"}}]},"rules":[{"verbs":["watch"],"apiGroups":[""],"resources":["pods"]}]},
	{"metadata":{"name":"top","uid":"3"},"aggregationRule":{"clusterRoleSelectors":[{"matchExpressions":[{"key":"z","operator":"Exists"}]},{"matchLabels":{"x":"y"}}]},"rules":[]}]}`,
	`{"clusterRoles":[
	{"metadata":{"name":"a","uid":"1","labels":{"in":"b"}},"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"in":"a"}}]},"rules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}]},
	{"metadata":{"name":"b","uid":"2","labels":{"in":"a"}},"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"in":"b"}}]}},
	{"metadata":{"name":"c","uid":"3","labels":{"in":"a"}},"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["nodes"]}]},
	{"metadata":{"name":"d","uid":"4","labels":{"in":"c"}},"aggregationRule":{"clusterRoleSelectors":[{}]}}]}`,
}

var snapshotWords = []string{"", "a", "b", "c", "source", "middle", "top", "x", "y", "z", "in", "In", "NotIn", "Exists", "DoesNotExist", "What", "get", "*", "-", "a/b/c", "UPPER", "pods", "1", "2"}

// grown is the Index of the snapshot, made object by object where these can be told apart.
func grown(s rbacaggregate.Snapshot, o rbacaggregate.Options) *rbacaggregate.Index {
	if !snapshotfuzz.Plain(s) {
		return rbacaggregate.NewIndex(s, o)
	}
	x := rbacaggregate.NewIndex(rbacaggregate.Snapshot{}, o)
	snapshotfuzz.OneByOne(s, func(one rbacaggregate.Snapshot) { x, _ = x.With(one) })
	return x
}

func askAll(s rbacaggregate.Snapshot, o rbacaggregate.Options, q *rbacaggregate.Index) []snapshotfuzz.Answer {
	var answers []snapshotfuzz.Answer
	add := func(question string, value any, err error) {
		answers = append(answers, snapshotfuzz.Answer{Question: question, Value: value, Err: err})
	}
	all, err := q.PlanAll()
	add("PlanAll", all, err)
	explained, err := q.ExplainAll()
	add("ExplainAll", explained, err)
	for _, n := range snapshotfuzz.Names(s.ClusterRoles) {
		plan, err := q.Plan(rbacaggregate.Key(n.Name))
		add("Plan "+n.Name, plan, err)
		for i, a := range plan.Actions {
			add(fmt.Sprintf("Request %s %d", n.Name, i), []any{a.Request(make([]runtime.Object, i)), a.String()}, nil)
		}
		rules, err := q.Rules(rbacaggregate.Key(n.Name))
		add("Rules "+n.Name, rules, err)
		explanation, err := q.Explain(rbacaggregate.Key(n.Name))
		add("Explain "+n.Name, explanation, err)
		changes, err := q.PreviewDelete(rbacaggregate.Key(n.Name))
		add("PreviewDelete "+n.Name, changes, err)
	}
	x := rbacaggregate.NewIndex(s, o)
	for i, role := range snapshotfuzz.Sorted(s.ClusterRoles) {
		without, affected := x.Without(rbacaggregate.Snapshot{ClusterRoles: []*rbacv1.ClusterRole{role}})
		all, err := without.PlanAll()
		add(fmt.Sprintf("Without %d", i), []any{all, affected}, err)
		if role != nil {
			role = role.DeepCopy()
			role.Labels = map[string]string{"x": "y", "in": "a"}
			role.AggregationRule = nil
		}
		changes, err := q.Preview(role)
		add(fmt.Sprintf("Preview %d", i), changes, err)
		change, err := q.PreviewRole(role, rbacaggregate.Key("top"))
		add(fmt.Sprintf("PreviewRole %d", i), change, err)
		with, affected := x.With(rbacaggregate.Snapshot{ClusterRoles: []*rbacv1.ClusterRole{role}})
		all, err = with.PlanAll()
		add(fmt.Sprintf("With %d", i), []any{all, affected}, err)
	}
	return answers
}

// FuzzWholeSnapshot: whatever a snapshot holds, no question panics, writes to it, shares memory with it or depends on the
// order of its slices, in both modes, and the Index gives the same answers; and nothing that is missing or of no use makes
// an answer more permissive.
func FuzzWholeSnapshot(f *testing.F) {
	snapshotfuzz.Fuzz(f, snapshotSeeds, snapshotWords, func(t *testing.T, d snapshotDocument, choice []byte) {
		s := d.snapshot()
		if len(s.ClusterRoles) > 30 {
			return
		}
		random := rand.New(rand.NewPCG(1, uint64(len(choice))))
		o := snapshotfuzz.Pick(choice, []rbacaggregate.Options{{}, {MatchUpstream: purekube.V1_36}}...)
		snapshotfuzz.Check(t, s, random,
			func(s rbacaggregate.Snapshot) []snapshotfuzz.Answer {
				return askAll(s, o, rbacaggregate.NewIndex(s, o))
			},
			func(s rbacaggregate.Snapshot) []snapshotfuzz.Answer { return askAll(s, o, grown(s, o)) })
		if snapshotfuzz.Pick(choice, true, false, false) {
			neverMorePermissive(t, s)
		}
	})
}

// grants are the rules that each ClusterRole has once the plans are carried out.
func grants(s rbacaggregate.Snapshot) map[string]map[string]bool {
	granted := map[string]map[string]bool{}
	set := func(name string, rules []rbacv1.PolicyRule) {
		granted[name] = map[string]bool{}
		for _, r := range rules {
			granted[name][ruleText(r)] = true
		}
	}
	for _, role := range s.ClusterRoles {
		if role != nil {
			set(role.Name, role.Rules)
		}
	}
	plans, _ := rbacaggregate.PlanAll(s, rbacaggregate.Options{})
	for _, p := range plans {
		for _, a := range p.Result.Actions {
			set(p.Key.Name, a.(rbacaggregate.SetRules).Rules)
		}
	}
	return granted
}

func ruleText(r rbacv1.PolicyRule) string {
	for _, list := range []*[]string{&r.Verbs, &r.APIGroups, &r.Resources, &r.ResourceNames, &r.NonResourceURLs} {
		if len(*list) == 0 {
			*list = nil
		}
	}
	text, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// neverMorePermissive takes a snapshot apart. Where a ClusterRole is missing or of no use, each is granted what it would be
// granted otherwise and what is stored in it already, and nothing else. A source more takes no rule away.
func neverMorePermissive(t *testing.T, s rbacaggregate.Snapshot) {
	t.Helper()
	if !snapshotfuzz.Plain(s) {
		return
	}
	allowed := grants(s)
	for _, role := range s.ClusterRoles {
		for _, r := range role.Rules {
			allowed[role.Name][ruleText(r)] = true
		}
	}
	holds := func(what string, after rbacaggregate.Snapshot) {
		t.Helper()
		for name, rules := range grants(after) {
			for r := range rules {
				if name != "" && !allowed[name][r] {
					t.Fatalf("with %s, %s is granted %s", what, name, r)
				}
			}
		}
	}
	snapshotfuzz.Spoiled(s, func(how snapshotfuzz.Spoiling, _ string, object runtime.Object, spoiled rbacaggregate.Snapshot) {
		holds(fmt.Sprintf("ClusterRole %s %s", object.(*rbacv1.ClusterRole).Name, how), spoiled)
	})
	for i, role := range s.ClusterRoles {
		if role.AggregationRule == nil {
			continue
		}
		for j := range role.AggregationRule.ClusterRoleSelectors {
			spoiled := snapshotfuzz.Copy(s)
			spoiled.ClusterRoles[i].AggregationRule.ClusterRoleSelectors[j].MatchLabels = map[string]string{"a/b/c": "?"}
			holds(fmt.Sprintf("selector %d of %s unreadable", j, role.Name), spoiled)
		}
	}
	before := grants(s)
	// A source more.
	for _, role := range s.ClusterRoles {
		if role.AggregationRule != nil {
			continue
		}
		more := snapshotfuzz.Copy(s)
		source := role.DeepCopy()
		source.Name = "one source more"
		source.Rules = []rbacv1.PolicyRule{{Verbs: []string{"one", "more"}}}
		more.ClusterRoles = append(more.ClusterRoles, source)
		after := grants(more)
		for name := range before {
			if _, err := rbacaggregate.NewIndex(s, rbacaggregate.Options{}).Rules(rbacaggregate.Key(name)); err != nil {
				continue
			}
			for r := range before[name] {
				if !after[name][r] {
					t.Fatalf("with one source more, like %s, %s is not granted %s any more", role.Name, name, r)
				}
			}
		}
	}
}

// TestNeverMorePermissive is neverMorePermissive for many random changes of the seeds.
func TestNeverMorePermissive(t *testing.T) {
	snapshotfuzz.Random(t, snapshotSeeds, snapshotWords, func(t *testing.T, d snapshotDocument) { neverMorePermissive(t, d.snapshot()) })
}
