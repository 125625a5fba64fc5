package resourceclaim_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/snapshotfuzz"
	"github.com/purekube/purekube/resourceclaim"
)

// snapshotDocument is a snapshot as JSON.
type snapshotDocument struct {
	Now       time.Time                           `json:"now"`
	Pods      []*corev1.Pod                       `json:"pods"`
	Claims    []*resourcev1.ResourceClaim         `json:"claims"`
	Templates []*resourcev1.ResourceClaimTemplate `json:"templates"`
	Assumed   []*resourcev1.ResourceClaim         `json:"assumed"`
	Deleted   []types.UID                         `json:"deleted"`
	Answers   []snapshotAnswer                    `json:"answers"`
	PodGroups []resourceclaim.PodGroup            `json:"podGroups"`
}

// snapshotAnswer is the answer to a lookup in namespace ns: an object of the kind, or none.
type snapshotAnswer struct {
	Kind  string                    `json:"kind"`
	Name  string                    `json:"name"`
	Pod   *corev1.Pod               `json:"pod"`
	Claim *resourcev1.ResourceClaim `json:"claim"`
	Group *resourceclaim.PodGroup   `json:"group"`
	Err   string                    `json:"err"`
}

func (a snapshotAnswer) need() purekube.Need {
	version := map[string]string{"Pod": "v1", "ResourceClaim": "resource.k8s.io/v1", "PodGroup": "scheduling.k8s.io/v1beta1"}[a.Kind]
	return purekube.Need{APIVersion: version, Kind: a.Kind, Namespace: "ns", Name: a.Name}
}

func (a snapshotAnswer) answer() (answer purekube.Answer) {
	switch {
	case a.Err != "":
		answer.Err = errors.New(a.Err)
	case a.Pod != nil:
		answer.Object = a.Pod
	case a.Claim != nil:
		answer.Object = a.Claim
	case a.Group != nil:
		answer.Object = *a.Group
	}
	return answer
}

// groupOf is the name of the PodGroup that a pod is in.
func groupOf(p *corev1.Pod) string { return p.Labels["group"] }

func (d snapshotDocument) snapshot() resourceclaim.Snapshot {
	s := resourceclaim.Snapshot{Now: d.Now, Pods: d.Pods, Claims: d.Claims, Templates: d.Templates, Assumed: d.Assumed, PodGroups: d.PodGroups}
	if d.Deleted != nil {
		s.Deleted = sets.New(d.Deleted...)
	}
	for _, a := range d.Answers {
		if s.Answers == nil {
			s.Answers = map[purekube.Need]purekube.Answer{}
		}
		s.Answers[a.need()] = a.answer()
	}
	return s
}

var snapshotSeeds = []string{
	`{"pods":[null,
	{"metadata":{"namespace":"ns","name":"two-0","uid":"1"},"spec":{"nodeName":"n","containers":null,"resourceClaims":[{"name":"gpu","resourceClaimTemplateName":"gpu"},{"name":"nic","resourceClaimTemplateName":"nic"},{"name":"shared","resourceClaimName":"shared"}]},
	 "status":{"phase":"Running","resourceClaimStatuses":[{"name":"gpu","resourceClaimName":"two-0-gpu-1"},{"name":"nic"}]}},
	{"metadata":{"namespace":"ns","name":"done-0","uid":"2"},"spec":{"nodeName":"n","containers":null,"resourceClaims":[{"name":"gpu","resourceClaimTemplateName":"gpu"}]},"status":{"phase":"Succeeded","resourceClaimStatuses":[{"name":"gpu","resourceClaimName":"done-0-gpu-1"}]}},
	{"metadata":{"namespace":"ns","name":"new-0","uid":"3"},"spec":{"containers":null,"resourceClaims":[{"name":"gpu","resourceClaimTemplateName":"gpu"},{"name":"bad"}]},"status":{}}],
	"claims":[null,
	{"metadata":{"namespace":"ns","name":"two-0-gpu-1","uid":"11","resourceVersion":"5","finalizers":["resource.kubernetes.io/delete-protection"],"annotations":{"resource.kubernetes.io/pod-claim-name":"gpu"},"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"two-0","uid":"1","controller":true}]},"spec":{"devices":{}},"status":{"allocation":{"devices":{}},"reservedFor":[{"resource":"pods","name":"two-0","uid":"1"}]}},
	{"metadata":{"namespace":"ns","name":"done-0-gpu-1","uid":"12","resourceVersion":"6","finalizers":["resource.kubernetes.io/delete-protection"],"annotations":{"resource.kubernetes.io/pod-claim-name":"gpu"},"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"done-0","uid":"2","controller":true}]},"spec":{"devices":{}},"status":{"allocation":{"devices":{}},"reservedFor":[{"resource":"pods","name":"done-0","uid":"2"}]}},
	{"metadata":{"namespace":"ns","name":"shared","uid":"13","resourceVersion":"7","finalizers":["resource.kubernetes.io/delete-protection"]},"spec":{"devices":{}},"status":{"allocation":{"devices":{}},"reservedFor":[{"resource":"pods","name":"gone-0","uid":"4"},{"resource":"pods","name":"done-0","uid":"2"}]}}],
	"templates":[{"metadata":{"namespace":"ns","name":"gpu"},"spec":{"metadata":{"labels":{"a":"b"}},"spec":{"devices":{}}}},null],
	"assumed":[{"metadata":{"namespace":"ns","name":"shared","uid":"13","resourceVersion":"8"},"spec":{"devices":{}},"status":{}}],
	"deleted":["4"],"answers":[{"kind":"Pod","name":"gone-0"},{"kind":"ResourceClaim","name":"two-0-gpu-1"}]}`,
	`{"pods":[{"metadata":{"namespace":"ns","name":"web-0","uid":"1"},"spec":{"containers":null,"resourceClaims":[{"name":"gpu","resourceClaimTemplateName":"gpu"}]},"status":{"phase":"Pending"}}],
	"claims":[
	{"metadata":{"namespace":"ns","name":"web-0-gpu-1","uid":"11","resourceVersion":"5","deletionTimestamp":"2026-11-21T12:00:00Z","finalizers":["resource.kubernetes.io/delete-protection","other"],"annotations":{"resource.kubernetes.io/pod-claim-name":"gpu"},"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"web-0","uid":"0","controller":true}]},"spec":{"devices":{}},"status":{"allocation":{"devices":{}},"reservedFor":[{"resource":"pods","name":"web-0","uid":"0"}]}},
	{"metadata":{"namespace":"ns","name":"free","uid":"12","resourceVersion":"6","finalizers":["resource.kubernetes.io/delete-protection"],"deletionTimestamp":"2026-11-21T12:00:00Z"},"spec":{"devices":{}},"status":{"allocation":{"devices":{}}}},
	{"metadata":{"namespace":"ns","name":"group","uid":"13","resourceVersion":"7","finalizers":["resource.kubernetes.io/delete-protection"]},"spec":{"devices":{}},"status":{"allocation":{"devices":{}},"reservedFor":[{"apiGroup":"scheduling.k8s.io","resource":"podgroups","name":"g","uid":"9"},{"resource":"pods","name":"web-0","uid":"1"}]}}],
	"templates":[{"metadata":{"namespace":"ns","name":"gpu"},"spec":{"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"c","adminAccess":true}}]}}}}],
	"answers":[{"kind":"Pod","name":"web-0","pod":{"metadata":{"namespace":"ns","name":"web-0","uid":"1"},"spec":{"containers":null},"status":{}}}]}`,
	`{"podGroups":[
	{"APIVersion":"scheduling.k8s.io/v1beta1","Namespace":"ns","Name":"g","UID":"9","ResourceClaims":[{"name":"gpu","resourceClaimTemplateName":"gpu"},{"name":"nic","resourceClaimTemplateName":"nic"}],"ResourceClaimStatuses":[{"name":"gpu","resourceClaimName":"g-gpu-1"}]},
	{"Namespace":"ns","Name":"h","UID":"8","Deleting":true,"ResourceClaims":[{"name":"gpu","resourceClaimName":"shared"}]}],
	"pods":[
	{"metadata":{"namespace":"ns","name":"g-0","uid":"1","labels":{"group":"g"}},"spec":{"nodeName":"n","containers":null,"resourceClaims":[{"name":"gpu","resourceClaimTemplateName":"gpu"},{"name":"own","resourceClaimTemplateName":"gpu"}]},"status":{"phase":"Running","resourceClaimStatuses":[{"name":"gpu","resourceClaimName":"g-gpu-1"}]}},
	{"metadata":{"namespace":"ns","name":"h-0","uid":"2","labels":{"group":"h"}},"spec":{"nodeName":"n","containers":null,"resourceClaims":[{"name":"gpu","resourceClaimName":"shared"}]},"status":{"phase":"Succeeded"}},
	{"metadata":{"namespace":"ns","name":"k-0","uid":"3","labels":{"group":"k"}},"spec":{"containers":null,"resourceClaims":[{"name":"gpu","resourceClaimTemplateName":"gpu"}]},"status":{}}],
	"claims":[
	{"metadata":{"namespace":"ns","name":"g-gpu-1","uid":"11","resourceVersion":"5","finalizers":["resource.kubernetes.io/delete-protection"],"annotations":{"resource.kubernetes.io/pod-claim-name":"gpu"},"ownerReferences":[{"apiVersion":"scheduling.k8s.io/v1beta1","kind":"PodGroup","name":"g","uid":"9","controller":true}]},"spec":{"devices":{}},"status":{"allocation":{"devices":{}},"reservedFor":[{"apiGroup":"scheduling.k8s.io","resource":"podgroups","name":"g","uid":"9"}]}},
	{"metadata":{"namespace":"ns","name":"shared","uid":"12","resourceVersion":"6","finalizers":["resource.kubernetes.io/delete-protection"]},"spec":{"devices":{}},"status":{"allocation":{"devices":{}},"reservedFor":[{"apiGroup":"scheduling.k8s.io","resource":"podgroups","name":"h","uid":"8"},{"apiGroup":"scheduling.k8s.io","resource":"podgroups","name":"gone","uid":"4"}]}},
	{"metadata":{"namespace":"ns","name":"k-gpu-1","uid":"13","resourceVersion":"7","finalizers":["resource.kubernetes.io/delete-protection"],"deletionTimestamp":"2026-11-21T12:00:00Z","ownerReferences":[{"apiVersion":"scheduling.k8s.io/v1alpha2","kind":"PodGroup","name":"k","uid":"7","controller":true}]},"spec":{"devices":{}},"status":{"allocation":{"devices":{}},"reservedFor":[{"apiGroup":"scheduling.k8s.io","resource":"podgroups","name":"k","uid":"7"}]}}],
	"templates":[{"metadata":{"namespace":"ns","name":"gpu"},"spec":{"spec":{"devices":{}}}},{"metadata":{"namespace":"ns","name":"nic"},"spec":{"spec":{"devices":{}}}}],
	"deleted":["4"],"answers":[{"kind":"PodGroup","name":"k"},{"kind":"Pod","name":"h-0","err":"timeout"}]}`,
}

var snapshotWords = []string{"", "ns", "web-0", "two-0", "done-0", "gone-0", "shared", "gpu", "nic", "0", "1", "2", "3", "4", "5", "8", "11", "x", "pods", "podgroups", "v1", "Pod",
	"two-0-gpu-1", "done-0-gpu-1", "Succeeded", "Failed", "Running", "Pending", "n", "resource.kubernetes.io/delete-protection", "other", "2026-11-21T12:00:00Z",
	"g", "h", "k", "gone", "g-gpu-1", "group", "PodGroup", "ResourceClaim", "timeout", "scheduling.k8s.io", "scheduling.k8s.io/v1beta1", "7", "9",
	"sixty-characters-and-more-sixty-characters-and-more-sixty-characters", "a.-b"}

// wholeQuestions are the exported functions for one snapshot.
type wholeQuestions struct {
	planAll    func() ([]resourceclaim.Outcome, error)
	plan       func(key purekube.Key) (resourceclaim.Result, error)
	explainAll func() ([]resourceclaim.Explanation, error)
	explain    func(key purekube.Key) (resourceclaim.Explanation, error)
}

func byFunctions(s resourceclaim.Snapshot, o resourceclaim.Options) wholeQuestions {
	return wholeQuestions{
		func() ([]resourceclaim.Outcome, error) { return resourceclaim.PlanAll(s, o) },
		func(key purekube.Key) (resourceclaim.Result, error) { return resourceclaim.Plan(s, key, o) },
		func() ([]resourceclaim.Explanation, error) { return resourceclaim.NewIndex(s, o).ExplainAll() },
		func(key purekube.Key) (resourceclaim.Explanation, error) {
			return resourceclaim.NewIndex(s, o).Explain(key)
		},
	}
}

func byIndex(x *resourceclaim.Index) wholeQuestions {
	return wholeQuestions{x.PlanAll, x.Plan, x.ExplainAll, x.Explain}
}

// grown is the Index of the snapshot, made object by object where these can be told apart.
func grown(s resourceclaim.Snapshot, o resourceclaim.Options) *resourceclaim.Index {
	if !snapshotfuzz.Plain(s) {
		return resourceclaim.NewIndex(s, o)
	}
	x := resourceclaim.NewIndex(resourceclaim.Snapshot{Now: s.Now, Assumed: s.Assumed, Deleted: s.Deleted, Answers: s.Answers, PodGroups: s.PodGroups}, o)
	rest := s
	rest.Assumed = nil
	snapshotfuzz.OneByOne(rest, func(one resourceclaim.Snapshot) { x, _ = x.With(one) })
	return x
}

func wholeKeys(s resourceclaim.Snapshot) []purekube.Key {
	var keys []purekube.Key
	for _, n := range snapshotfuzz.Names(s.Pods) {
		keys = append(keys, resourceclaim.PodKey(n.Namespace, n.Name))
	}
	for _, n := range snapshotfuzz.Names(slices.Concat(s.Claims, s.Assumed)) {
		keys = append(keys, resourceclaim.ClaimKey(n.Namespace, n.Name))
	}
	for _, g := range snapshotfuzz.Sorted(s.PodGroups) {
		keys = append(keys, resourceclaim.KeyOf(&g))
	}
	return append(keys, purekube.Key{Kind: "what", Namespace: "ns", Name: "shared"})
}

func askAll(s resourceclaim.Snapshot, o resourceclaim.Options, q wholeQuestions) []snapshotfuzz.Answer {
	var answers []snapshotfuzz.Answer
	add := func(question string, value any, err error) {
		answers = append(answers, snapshotfuzz.Answer{Question: question, Value: value, Err: err})
	}
	all, err := q.planAll()
	add("PlanAll", all, err)
	explained, err := q.explainAll()
	add("ExplainAll", explained, err)
	for _, key := range wholeKeys(s) {
		plan, err := q.plan(key)
		add("Plan "+key.String(), plan, err)
		for i, a := range plan.Actions {
			add(fmt.Sprintf("Request %s %d", key, i), []any{a.Request(make([]runtime.Object, i)), a.Request(nil), a.String()}, nil)
		}
		explanation, err := q.explain(key)
		add("Explain "+key.String(), explanation, err)
	}
	index := resourceclaim.NewIndex(s, o)
	without := func(question string, gone resourceclaim.Snapshot) {
		next, affected := index.Without(gone)
		all, err := next.PlanAll()
		add(question, []any{all, affected}, err)
	}
	for i, g := range snapshotfuzz.Sorted(s.PodGroups) {
		without(fmt.Sprintf("Without PodGroup %d", i), resourceclaim.Snapshot{PodGroups: []resourceclaim.PodGroup{g}})
	}
	for i, p := range snapshotfuzz.Sorted(s.Pods) {
		without(fmt.Sprintf("Without pod %d", i), resourceclaim.Snapshot{Pods: []*corev1.Pod{p}})
		claims, made, err := resourceclaim.NewIndex(s, o).Materialize(p, func(entry string) string { return "made-" + entry })
		add(fmt.Sprintf("Materialize %d", i), []any{claims, made}, err)
		if p != nil && len(p.Spec.ResourceClaims) > 0 {
			name, state := resourceclaim.ClaimName(p, &p.Spec.ResourceClaims[0])
			add(fmt.Sprintf("ClaimName %d", i), []any{name, state}, nil)
		}
	}
	for i, c := range snapshotfuzz.Sorted(s.Claims) {
		without(fmt.Sprintf("Without claim %d", i), resourceclaim.Snapshot{Claims: []*resourcev1.ResourceClaim{c}})
	}
	for i, x := range snapshotfuzz.Sorted(s.Templates) {
		without(fmt.Sprintf("Without template %d", i), resourceclaim.Snapshot{Templates: []*resourcev1.ResourceClaimTemplate{x}})
	}
	return answers
}

// FuzzWholeSnapshot: whatever a snapshot holds, no question panics, writes to it, shares memory with it or depends on the
// order of its slices, in both modes, and the Index gives the same answers; and nothing that is missing or of no use makes a
// plan more permissive.
func FuzzWholeSnapshot(f *testing.F) {
	snapshotfuzz.Fuzz(f, snapshotSeeds, snapshotWords, func(t *testing.T, d snapshotDocument, choice []byte) {
		s := d.snapshot()
		if len(s.Pods)+len(s.Claims)+len(s.Assumed)+len(s.Templates)+len(s.PodGroups) > 30 {
			return
		}
		random := rand.New(rand.NewPCG(1, uint64(len(choice))))
		o := snapshotfuzz.Pick(choice, []resourceclaim.Options{{PodGroupOf: groupOf}, {}, {MatchUpstream: purekube.V1_36}, {MatchUpstream: purekube.V1_37, PodGroupOf: groupOf},
			{DenyAdminAccess: true, DenyPrioritizedList: true}}...)
		snapshotfuzz.Check(t, s, random,
			func(s resourceclaim.Snapshot) []snapshotfuzz.Answer { return askAll(s, o, byFunctions(s, o)) },
			func(s resourceclaim.Snapshot) []snapshotfuzz.Answer { return askAll(s, o, byIndex(grown(s, o))) })
		if snapshotfuzz.Pick(choice, true, false, false) {
			neverMorePermissive(t, d)
		}
	})
}

// waits stands for a plan that is not made before something is looked up.
const waits = ": waits"

// takes are what the plans for claims take away.
func takes(s resourceclaim.Snapshot, o resourceclaim.Options) map[string]bool {
	taken := map[string]bool{}
	plans, _ := resourceclaim.PlanAll(s, o)
	for _, p := range plans {
		if len(p.Result.Needs) > 0 {
			taken[p.Key.String()+waits] = true
		}
		for _, a := range p.Result.Actions {
			switch a := a.(type) {
			case resourceclaim.Release:
				for _, r := range a.Removed {
					taken[fmt.Sprintf("%s: release it from %s %s", p.Key, r.Name, r.UID)] = true
				}
				if a.Deallocate {
					taken[p.Key.String()+": deallocate it"] = true
				}
			case resourceclaim.RemoveFinalizer:
				taken[p.Key.String()+": remove its finalizer"] = true
			case resourceclaim.DeleteClaim:
				taken[p.Key.String()+": delete it"] = true
			}
		}
	}
	return taken
}

// neverMorePermissive takes a snapshot apart. A claim that two of its slices have is passed over: without the newer version
// the older one is planned, and its resourceVersion is refused. So is a pod that the API server was asked about: its answer
// counts without the pod. And so is a pod that is left out and whose PodGroup it was asked about: where that is gone,
// nothing but the pod shows that a claim of the PodGroup is in use.
func neverMorePermissive(t *testing.T, d snapshotDocument) {
	t.Helper()
	takesNoMore(t, d, resourceclaim.Options{})
	takesNoMore(t, d, resourceclaim.Options{PodGroupOf: groupOf})
}

func takesNoMore(t *testing.T, d snapshotDocument, o resourceclaim.Options) {
	t.Helper()
	s := d.snapshot()
	before := takes(s, o)
	holds := func(what string, after resourceclaim.Snapshot) {
		t.Helper()
		for p := range takes(after, o) {
			key, does, _ := strings.Cut(p, ": ")
			// A plan that needs lookups decides nothing, so it compares with nothing.
			if !before[p] && !before[key+waits] && ": "+does != waits {
				t.Fatalf("with %s, the plan is: %s", what, p)
			}
		}
	}
	versions := map[types.NamespacedName]int{}
	for _, c := range slices.Concat(s.Claims, s.Assumed) {
		if c != nil {
			versions[types.NamespacedName{Namespace: c.Namespace, Name: c.Name}]++
		}
	}
	snapshotfuzz.Spoiled(s, func(how snapshotfuzz.Spoiling, field string, object runtime.Object, spoiled resourceclaim.Snapshot) {
		name := object.(interface{ GetName() string }).GetName()
		if c, ok := object.(*resourcev1.ResourceClaim); ok && versions[types.NamespacedName{Namespace: c.Namespace, Name: c.Name}] > 1 {
			return
		}
		if p, ok := object.(*corev1.Pod); ok {
			of := how == snapshotfuzz.LeftOut && answered(s, "PodGroup", p.Namespace, groupOf(p))
			if of || answered(s, "Pod", p.Namespace, p.Name) {
				return
			}
		}
		holds(fmt.Sprintf("%s %s %s", field, name, how), spoiled)
	})
	for need, answer := range s.Answers {
		spoiled := s
		spoiled.Answers = maps.Clone(s.Answers)
		delete(spoiled.Answers, need)
		holds("no answer about "+need.String(), spoiled)
		if answer.Err != nil {
			continue // it is none
		}
		for what, none := range map[string]purekube.Answer{"an error": {Err: errors.New("timeout")}, "a nil pod": {Object: (*corev1.Pod)(nil)}, "another type": {Object: need}} {
			spoiled.Answers = maps.Clone(s.Answers)
			spoiled.Answers[need] = none
			holds(what+" for the answer about "+need.String(), spoiled)
		}
	}
	for i, g := range s.PodGroups {
		if slices.ContainsFunc(s.PodGroups[i+1:], func(other resourceclaim.PodGroup) bool { return other.Namespace == g.Namespace && other.Name == g.Name }) ||
			slices.ContainsFunc(s.PodGroups[:i], func(other resourceclaim.PodGroup) bool { return other.Namespace == g.Namespace && other.Name == g.Name }) {
			continue // one the less is one thing the less that is wrong
		}
		if answered(s, "PodGroup", g.Namespace, g.Name) {
			continue
		}
		spoiled := s
		spoiled.PodGroups = slices.Delete(slices.Clone(s.PodGroups), i, i+1)
		holds("no PodGroup "+g.Name, spoiled)
		for what, spoil := range map[string]func(g *resourceclaim.PodGroup){
			"no name": func(g *resourceclaim.PodGroup) { g.Name = "" }, "no UID": func(g *resourceclaim.PodGroup) { g.UID = "" },
			"no entries": func(g *resourceclaim.PodGroup) { g.ResourceClaims = nil }, "no statuses": func(g *resourceclaim.PodGroup) { g.ResourceClaimStatuses = nil },
		} {
			spoiled.PodGroups = slices.Clone(s.PodGroups)
			spoil(&spoiled.PodGroups[i])
			holds(what+" in PodGroup "+g.Name, spoiled)
		}
	}
	spoiled := s
	spoiled.Deleted = nil
	if len(s.Answers) == 0 {
		holds("deleted pods forgotten", spoiled)
	}
	for i, p := range s.Pods {
		if p == nil || p.UID == "" {
			continue
		}
		if answered(s, "Pod", p.Namespace, p.Name) {
			continue
		}
		spoiled := snapshotfuzz.Copy(s)
		spoiled.Pods[i].UID = ""
		holds("no UID in pod "+p.Name, spoiled)
	}
	for i, c := range s.Claims {
		if c == nil {
			continue
		}
		for j := range c.Status.ReservedFor {
			spoiled := snapshotfuzz.Copy(s)
			spoiled.Claims[i].Status.ReservedFor[j].UID = ""
			holds(fmt.Sprintf("no UID in reservedFor[%d] of %s", j, c.Name), spoiled)
			spoiled = snapshotfuzz.Copy(s)
			spoiled.Claims[i].Status.ReservedFor[j].Resource = "what"
			holds(fmt.Sprintf("another resource in reservedFor[%d] of %s", j, c.Name), spoiled)
		}
		liveConsumer(t, s, i, o)
	}
}

// answered reports whether the API server was asked for that object.
func answered(s resourceclaim.Snapshot, kind, namespace, name string) bool {
	for need := range s.Answers {
		if need.Kind == kind && need.Namespace == namespace && need.Name == name {
			return true
		}
	}
	return false
}

// liveConsumer: a claim that one live consumer more reserves loses nothing that it keeps without that one, and neither its
// allocation nor its finalizer nor itself.
func liveConsumer(t *testing.T, s resourceclaim.Snapshot, i int, o resourceclaim.Options) {
	t.Helper()
	c := s.Claims[i]
	if c.Name == "" || !snapshotfuzz.Plain(s) || len(s.Assumed) > 0 {
		return
	}
	for _, p := range s.Pods {
		if p.Namespace != c.Namespace || p.UID == "" || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed ||
			p.DeletionTimestamp != nil || s.Deleted.Has(p.UID) {
			continue
		}
		before := takes(s, o)
		more := snapshotfuzz.Copy(s)
		more.Claims[i].Status.ReservedFor = append(more.Claims[i].Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: p.Name, UID: p.UID})
		after := takes(more, o)
		key := resourceclaim.KeyOf(c).String()
		for what := range after {
			if key, does, _ := strings.Cut(what, ": "); !before[what] && !before[key+waits] && ": "+does != waits {
				t.Fatalf("with %s in reservedFor of %s, the plan is: %s", p.Name, c.Name, what)
			}
		}
		for _, what := range []string{": deallocate it", ": remove its finalizer", ": delete it"} {
			if c.Status.Allocation != nil && after[key+what] {
				t.Fatalf("%s is in reservedFor of %s, and the plan is%s", p.Name, c.Name, what)
			}
		}
	}
}

// TestNeverMorePermissive is neverMorePermissive for many random changes of the seeds.
func TestNeverMorePermissive(t *testing.T) {
	snapshotfuzz.Random(t, snapshotSeeds, snapshotWords, neverMorePermissive)
}
