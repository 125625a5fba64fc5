package servicecidr_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/snapshotfuzz"
	"github.com/purekube/purekube/servicecidr"
)

// snapshotDocument is a snapshot as JSON.
type snapshotDocument struct {
	Now          time.Time                   `json:"now"`
	ServiceCIDRs []*networkingv1.ServiceCIDR `json:"serviceCIDRs"`
	IPAddresses  []*networkingv1.IPAddress   `json:"ipAddresses"`
	DeletionSeen sightings                   `json:"deletionSeen"`
}

var snapshotSeeds = []string{
	`{"now":"2026-11-21T12:00:20Z","serviceCIDRs":[
	{"metadata":{"name":"a","uid":"1","creationTimestamp":null,"deletionTimestamp":"2026-11-21T12:00:00Z","finalizers":["networking.k8s.io/service-cidr-finalizer"]},"spec":{"cidrs":["10.0.0.0/24"]},
	 "status":{"conditions":[{"type":"Ready","status":"True","reason":"","message":"Kubernetes Service CIDR is ready","lastTransitionTime":"2026-11-21T11:00:00Z"}]}},
	{"metadata":{"name":"b","uid":"2","deletionTimestamp":"2026-11-21T12:00:00Z","finalizers":["networking.k8s.io/service-cidr-finalizer"]},"spec":{"cidrs":["10.0.0.0/24"]}},
	{"metadata":{"name":"c","uid":"3","finalizers":["networking.k8s.io/service-cidr-finalizer"]},"spec":{"cidrs":["10.0.0.0/16","fd00::/112"]}},null],
	"ipAddresses":[
	{"metadata":{"name":"10.0.0.5","labels":{"ipaddress.kubernetes.io/managed-by":"ipallocator.k8s.io","ipaddress.kubernetes.io/ip-family":"IPv4"}},"spec":{"parentRef":{"resource":"services","namespace":"ns","name":"web"}}},
	{"metadata":{"name":"fd00::5","labels":{"ipaddress.kubernetes.io/managed-by":"ipallocator.k8s.io","ipaddress.kubernetes.io/ip-family":"IPv6"}},"spec":{"parentRef":null}},
	{"metadata":{"name":"10.0.1.5","labels":{"ipaddress.kubernetes.io/managed-by":"ipallocator.k8s.io","ipaddress.kubernetes.io/ip-family":"IPv4"}}},null]}`,
	`{"now":"2026-11-21T12:00:05Z","serviceCIDRs":[
	{"metadata":{"name":"wide","deletionTimestamp":"2026-11-21T12:00:01Z","finalizers":["networking.k8s.io/service-cidr-finalizer"]},"spec":{"cidrs":["10.0.0.0/24","fd00::/112"]}},
	{"metadata":{"name":"low","finalizers":["networking.k8s.io/service-cidr-finalizer","other"]},"spec":{"cidrs":["10.0.0.0/25"]}},
	{"metadata":{"name":"high"},"spec":{"cidrs":["10.0.0.128/25"]}},
	{"metadata":{"name":"bad"},"spec":{"cidrs":["10.0.0.0/33"]}}],
	"ipAddresses":[
	{"metadata":{"name":"10.0.0.127","labels":{"ipaddress.kubernetes.io/managed-by":"ipallocator.k8s.io","ipaddress.kubernetes.io/ip-family":"IPv4"}}},
	{"metadata":{"name":"10.0.0.200","labels":{"ipaddress.kubernetes.io/managed-by":"ipallocator.k8s.io","ipaddress.kubernetes.io/ip-family":"IPv4"}}},
	{"metadata":{"name":"what","labels":{"ipaddress.kubernetes.io/managed-by":"ipallocator.k8s.io","ipaddress.kubernetes.io/ip-family":"IPv6"}}}]}`,
	`{"now":"2026-11-21T12:00:20Z","serviceCIDRs":[
	{"metadata":{"name":"a","uid":"1","deletionTimestamp":"2026-11-21T12:00:00Z","finalizers":["networking.k8s.io/service-cidr-finalizer"]},"spec":{"cidrs":["10.0.0.0/24"]}},
	{"metadata":{"name":"b","uid":"2","deletionTimestamp":"2026-11-21T12:00:05Z","finalizers":["networking.k8s.io/service-cidr-finalizer"]},"spec":{"cidrs":["10.0.0.0/24"]}}],
	"ipAddresses":[
	{"metadata":{"name":"10.0.0.5","labels":{"ipaddress.kubernetes.io/managed-by":"ipallocator.k8s.io","ipaddress.kubernetes.io/ip-family":"IPv4"}}}],
	"deletionSeen":{"1":"2026-11-21T12:00:06Z","2":"2026-11-21T12:00:04Z"}}`,
}

var snapshotWords = []string{"", "a", "b", "c", "10.0.0.0/24", "10.0.0.0/16", "10.0.0.0/25", "10.0.0.128/25", "10.0.0.5/24", "10.0.0.0/33", "0.0.0.0/0", "::/0", "fd00::/112",
	"fd00::/64", "::ffff:10.0.0.0/120", "10.0.0.5/32", "10.0.0.4/31", "10.0.0.5", "10.0.0.0", "10.0.0.255", "fd00::", "fd00::5", "FD00:0::5", "fe80::1%eth0", "::ffff:10.0.0.5", "010.0.0.1",
	"IPv4", "IPv6", "ipallocator.k8s.io", "networking.k8s.io/service-cidr-finalizer", "True", "False", "Ready", "Terminating",
	"2026-11-21T12:00:00Z", "2026-11-21T12:00:20Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"}

func (d snapshotDocument) snapshot() servicecidr.Snapshot {
	return servicecidr.Snapshot{Now: d.Now, ServiceCIDRs: d.ServiceCIDRs, IPAddresses: d.IPAddresses, DeletionSeen: d.DeletionSeen}
}

// wholeQuestions are the exported functions for one snapshot.
type wholeQuestions struct {
	planAll    func() ([]servicecidr.Outcome, error)
	plan       func(purekube.Key) (servicecidr.Result, error)
	explainAll func() ([]servicecidr.Explanation, error)
	explain    func(purekube.Key) (servicecidr.Explanation, error)
	deletion   func(purekube.Key) (servicecidr.Deletion, error)
}

func byFunctions(s servicecidr.Snapshot, o servicecidr.Options) wholeQuestions {
	q := byIndex(servicecidr.NewIndex(s, o))
	q.planAll = func() ([]servicecidr.Outcome, error) { return servicecidr.PlanAll(s, o) }
	q.plan = func(key purekube.Key) (servicecidr.Result, error) { return servicecidr.Plan(s, key, o) }
	return q
}

func byIndex(x *servicecidr.Index) wholeQuestions {
	return wholeQuestions{x.PlanAll, x.Plan, x.ExplainAll, x.Explain, func(key purekube.Key) (servicecidr.Deletion, error) { return x.CheckDeletion(key, 0) }}
}

// grown is the Index of the snapshot, made object by object where these can be told apart.
func grown(s servicecidr.Snapshot, o servicecidr.Options) *servicecidr.Index {
	if !snapshotfuzz.Plain(s) {
		return servicecidr.NewIndex(s, o)
	}
	x := servicecidr.NewIndex(servicecidr.Snapshot{Now: s.Now}, o)
	snapshotfuzz.OneByOne(s, func(one servicecidr.Snapshot) { x, _ = x.With(one) })
	x, _ = x.With(servicecidr.Snapshot{DeletionSeen: s.DeletionSeen})
	return x
}

func askAll(s servicecidr.Snapshot, q wholeQuestions) []snapshotfuzz.Answer {
	var answers []snapshotfuzz.Answer
	add := func(question string, value any, err error) {
		answers = append(answers, snapshotfuzz.Answer{Question: question, Value: value, Err: err})
	}
	all, err := q.planAll()
	add("PlanAll", all, err)
	explained, err := q.explainAll()
	add("ExplainAll", explained, err)
	for _, n := range snapshotfuzz.Names(s.ServiceCIDRs) {
		plan, err := q.plan(servicecidr.Key(n.Name))
		add("Plan "+n.Name, plan, err)
		for i, a := range plan.Actions {
			add(fmt.Sprintf("Request %s %d", n.Name, i), []any{a.Request(make([]runtime.Object, i)), a.String()}, nil)
		}
		deletion, err := q.deletion(servicecidr.Key(n.Name))
		add("CheckDeletion "+n.Name, deletion, err)
		explanation, err := q.explain(servicecidr.Key(n.Name))
		add("Explain "+n.Name, explanation, err)
	}
	return answers
}

// askAffected asks about each object as updated, added and deleted.
func askAffected(s servicecidr.Snapshot, o servicecidr.Options) []snapshotfuzz.Answer {
	var answers []snapshotfuzz.Answer
	x := servicecidr.NewIndex(s, o)
	without := func(question string, gone servicecidr.Snapshot) {
		next, affected := x.Without(gone)
		all, err := next.PlanAll()
		answers = append(answers, snapshotfuzz.Answer{Question: question, Value: []any{all, affected}, Err: err})
	}
	with := func(question string, one servicecidr.Snapshot) {
		_, updated := x.With(one)
		gone, _ := x.Without(one)
		_, added := gone.With(one)
		answers = append(answers, snapshotfuzz.Answer{Question: question, Value: []any{updated, added}})
	}
	for i, c := range snapshotfuzz.Sorted(s.ServiceCIDRs) {
		one := servicecidr.Snapshot{ServiceCIDRs: []*networkingv1.ServiceCIDR{c}}
		with(fmt.Sprintf("With ServiceCIDR %d", i), one)
		without(fmt.Sprintf("Without ServiceCIDR %d", i), one)
	}
	for i, ip := range snapshotfuzz.Sorted(s.IPAddresses) {
		one := servicecidr.Snapshot{IPAddresses: []*networkingv1.IPAddress{ip}}
		with(fmt.Sprintf("With IPAddress %d", i), one)
		without(fmt.Sprintf("Without IPAddress %d", i), one)
	}
	return answers
}

// FuzzWholeSnapshot: whatever a snapshot holds, no question panics, writes to it, shares memory with it or depends on the
// order of its slices, in both modes; and nothing that is missing or of no use makes an answer more permissive.
func FuzzWholeSnapshot(f *testing.F) {
	snapshotfuzz.Fuzz(f, snapshotSeeds, snapshotWords, func(t *testing.T, d snapshotDocument, choice []byte) {
		s := d.snapshot()
		if len(s.ServiceCIDRs)+len(s.IPAddresses) > 30 {
			return
		}
		random := rand.New(rand.NewPCG(1, uint64(len(choice))))
		o := snapshotfuzz.Pick(choice, modes()...)
		snapshotfuzz.Check(t, s, random, func(s servicecidr.Snapshot) []snapshotfuzz.Answer {
			return append(askAll(s, byFunctions(s, o)), askAffected(s, o)...)
		}, func(s servicecidr.Snapshot) []snapshotfuzz.Answer {
			return append(askAll(s, byIndex(grown(s, o))), askAffected(s, o)...)
		})
		if snapshotfuzz.Pick(choice, true, false, false) {
			neverMorePermissive(t, s)
		}
	})
}

// permits are the removals that a snapshot allows: the finalizers that plans remove and the deletions that are safe.
func permits(s servicecidr.Snapshot) map[string]bool {
	allowed := map[string]bool{}
	plans, _ := servicecidr.PlanAll(s, servicecidr.Options{})
	for _, p := range plans {
		for _, a := range p.Result.Actions {
			if _, removes := a.(servicecidr.RemoveFinalizer); removes {
				allowed["remove the finalizer of "+p.Key.Name] = true
			}
		}
	}
	explanations, _ := servicecidr.NewIndex(s, servicecidr.Options{}).ExplainAll()
	for _, e := range explanations {
		if e.Deletion.Safe {
			allowed["delete "+e.Key.Name] = true
		}
	}
	return allowed
}

// neverMorePermissive takes a snapshot apart. An IPAddress that is left out, or has another name, is an address that is free:
// that alone may allow more.
func neverMorePermissive(t *testing.T, s servicecidr.Snapshot) {
	t.Helper()
	before := permits(s)
	holds := func(what string, after servicecidr.Snapshot) {
		t.Helper()
		for p := range permits(after) {
			if !before[p] {
				t.Fatalf("with %s, one may %s", what, p)
			}
		}
	}
	snapshotfuzz.Spoiled(s, func(how snapshotfuzz.Spoiling, field string, object runtime.Object, spoiled servicecidr.Snapshot) {
		if field == "IPAddresses" && how == snapshotfuzz.LeftOut {
			return
		}
		name := object.(interface{ GetName() string }).GetName()
		holds(fmt.Sprintf("%s %s %s", field, name, how), spoiled)
	})
	for i, c := range s.ServiceCIDRs {
		if c == nil {
			continue
		}
		for j := range c.Spec.CIDRs {
			spoiled := snapshotfuzz.Copy(s)
			spoiled.ServiceCIDRs[i].Spec.CIDRs[j] = "?"
			holds(fmt.Sprintf("spec.cidrs[%d] of %s unreadable", j, c.Name), spoiled)
		}
		spoiled := snapshotfuzz.Copy(s)
		spoiled.ServiceCIDRs[i].Spec.CIDRs = nil
		holds("no spec.cidrs in "+c.Name, spoiled)
		spoiled = snapshotfuzz.Copy(s)
		spoiled.ServiceCIDRs[i].Finalizers = nil
		holds("no finalizer on "+c.Name, spoiled)
	}
	for uid := range s.DeletionSeen {
		spoiled := snapshotfuzz.Copy(s)
		delete(spoiled.DeletionSeen, uid)
		holds("no record of the deletion of "+string(uid), spoiled)
	}
	for i, ip := range s.IPAddresses {
		if ip == nil {
			continue
		}
		spoiled := snapshotfuzz.Copy(s)
		spoiled.IPAddresses[i].Name = "?"
		holds("IPAddress "+ip.Name+" unreadable", spoiled)
		// One address more.
		for _, more := range []string{"10.0.0.5", "10.0.0.0", "fd00::5", snapshotWords[len(ip.Name)%len(snapshotWords)]} {
			spoiled := snapshotfuzz.Copy(s)
			other := ip.DeepCopy()
			other.Name = more
			spoiled.IPAddresses = append(spoiled.IPAddresses, other)
			holds("IPAddress "+more+" more", spoiled)
		}
	}
}

// TestNeverMorePermissive is neverMorePermissive for many random changes of the seeds.
func TestNeverMorePermissive(t *testing.T) {
	snapshotfuzz.Random(t, snapshotSeeds, snapshotWords, func(t *testing.T, d snapshotDocument) { neverMorePermissive(t, d.snapshot()) })
}
