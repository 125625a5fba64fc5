package parity

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	upstream "k8s.io/kubernetes/pkg/api/servicecidr"
	"k8s.io/kubernetes/pkg/controller/servicecidrs"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/servicecidr"
)

var servicecidrCore = Core[servicecidr.Snapshot]{
	Name:     "servicecidr",
	Generate: generateRanges,
	Objects: func(s servicecidr.Snapshot) []runtime.Object {
		return slices.Concat(asObjects(s.ServiceCIDRs), asObjects(s.IPAddresses))
	},
	Start: func(servicecidr.Snapshot) Start { return startServiceCIDR },
	Ours: func(s servicecidr.Snapshot) Trace {
		return rangeTrace(plannedRanges(s))
	},
	Kinds: []string{
		"nothing", "patch servicecidrs", "apply servicecidrs/status",
		"finalizer added", "finalizer removed", "Ready=True", "Ready=False", "waits for the grace period",
		"does not parse", "another one contains it", "equal ones leave together",
	},
	Marks: markRanges,
	Smaller: func(s servicecidr.Snapshot) []servicecidr.Snapshot {
		var smaller []servicecidr.Snapshot
		for _, cidrs := range Without(s.ServiceCIDRs) {
			smaller = append(smaller, servicecidr.Snapshot{Now: s.Now, ServiceCIDRs: cidrs, IPAddresses: s.IPAddresses})
		}
		for _, ips := range Without(s.IPAddresses) {
			smaller = append(smaller, servicecidr.Snapshot{Now: s.Now, ServiceCIDRs: s.ServiceCIDRs, IPAddresses: ips})
		}
		return smaller
	},
}

// rangeTrace leaves errors out: upstream's passes end with none, whatever it is given.
func rangeTrace(outcomes []servicecidr.Outcome) Trace {
	var trace Trace
	for _, o := range outcomes {
		trace.Requests = append(trace.Requests, Planned(&Answers{}, o.Result.Actions)...)
		trace.Events = append(trace.Events, EventsOf(o.Result.Events)...)
	}
	return trace
}

// matchRanges asks for what upstream does.
// startServiceCIDR builds the real controller. Its errors come to light after fifteen tries
// only, so that there are none in a trace.
func startServiceCIDR(ctx context.Context, w *World) (func(context.Context), error) {
	networking := w.Informers.Networking().V1()
	c := servicecidrs.NewController(ctx, networking.ServiceCIDRs(), networking.IPAddresses(), w.Client)
	return func(ctx context.Context) { c.Run(ctx, w.Workers) }, nil
}

var matchRanges = servicecidr.Options{MatchUpstream: Release}

// plannedRanges is upstream's plan. What is wrong with the snapshot as a whole is not an error to
// upstream, and is left out.
func plannedRanges(s servicecidr.Snapshot) []servicecidr.Outcome {
	outcomes, _ := servicecidr.PlanAll(s, matchRanges)
	return outcomes
}

func TestServiceCIDR(t *testing.T) { servicecidrCore.Test(t) }

// TestServiceCIDRNoErrorsForValid holds ours to upstream's silence wherever an API server
// would have let the objects in.
func TestServiceCIDRNoErrorsForValid(t *testing.T) {
	run := Settings(t, 5000)
	for i := range run.Numbers() {
		s := generateRanges(run.Source(i))
		if !validRanges(s) {
			continue
		}
		outcomes, err := servicecidr.PlanAll(s, matchRanges)
		require.NoError(t, err)
		for _, o := range outcomes {
			if o.Err != nil {
				t.Fatalf("%q: %v\nfor\n%s\n%s", o.Key, o.Err, servicecidrCore.text(s), run.Again(t, i))
			}
		}
	}
}

// TestServiceCIDRRecheck lets time pass up to each RecheckAt, to the nanosecond: the real controller
// has to stay quiet before and to do then what the plan for that moment says.
func TestServiceCIDRRecheck(t *testing.T) {
	run := Settings(t, 5000)
	moments := 0
	for i := range run.Numbers() {
		s := generateRanges(run.Source(i))
		rechecks := map[time.Time][]string{}
		for _, o := range plannedRanges(s) {
			if at := o.Result.RecheckAt; !at.IsZero() {
				rechecks[at] = append(rechecks[at], o.Key.Name)
			}
		}
		if len(rechecks) == 0 {
			continue
		}
		Run(t, servicecidrCore.Objects(s), startServiceCIDR, func(t *testing.T, w *World) {
			w.Settle()
			atEachRecheck(t, w, rechecks, func(at time.Time, keys []string) (ours Trace) {
				moments++
				s.Now = at
				for _, key := range keys {
					result, _ := servicecidr.Plan(s, servicecidr.Key(key), matchRanges)
					require.Zero(t, result.RecheckAt, key)
					ours.Requests = append(ours.Requests, Planned(&Answers{}, result.Actions)...)
				}
				return ours
			}, func() string { return servicecidrCore.text(s) + "\n" + run.Again(t, i) })
			if late := w.Sleep(time.Hour).String(); late != "nothing" {
				t.Fatalf("after the last recheck:\n%s\nfor\n%s\n%s", late, servicecidrCore.text(s), run.Again(t, i))
			}
		})
	}
	t.Logf("%d moments", moments)
	require.Greater(t, moments, run.Count/50)
}

// TestServiceCIDRFailureEvent: when the condition cannot be written, an event says so.
func TestServiceCIDRFailureEvent(t *testing.T) {
	cidr := serviceRange("a", "10.0.0.0/24")
	cidr.Finalizers = []string{servicecidr.Finalizer}
	Run(t, []runtime.Object{cidr}, startServiceCIDR, func(t *testing.T, w *World) {
		w.Respond = func(Request) (runtime.Object, error) { return nil, errors.New("no") }
		s := servicecidr.Snapshot{Now: Epoch, ServiceCIDRs: []*networkingv1.ServiceCIDR{cidr}}
		result, err := servicecidr.Plan(s, servicecidr.Key("a"), matchRanges)
		require.NoError(t, err)
		require.Len(t, result.Actions, 1)
		event, ok := result.Actions[0].(purekube.FailureReporter).FailureEvent(errors.New("no"))
		require.True(t, ok)
		require.Equal(t, "event Warning KubernetesServiceCIDRError on ServiceCIDR /a",
			Event{Type: event.Type, Reason: event.Reason, Kind: event.Regarding.Kind, Name: event.Regarding.Name}.String())
		require.Contains(t, w.Settle().String(), "event Warning KubernetesServiceCIDRError on ServiceCIDR /a")
	})
}

// TestServiceCIDRRetries: upstream tries again after 5 ms, then after twice as long each time, 15 times (BR-31-04).
func TestServiceCIDRRetries(t *testing.T) {
	cidr := serviceRange("a", "10.0.0.0/24")
	Run(t, []runtime.Object{cidr}, startServiceCIDR, func(t *testing.T, w *World) {
		w.Respond = func(Request) (runtime.Object, error) { return nil, errors.New("no") }
		require.Len(t, w.Settle().Requests, 1)
		for retry, delay := 1, 5*time.Millisecond; retry <= 15; retry, delay = retry+1, 2*delay {
			require.Empty(t, w.Sleep(delay-1).Requests, "retry %d is not before %s", retry, delay)
			require.Len(t, w.Sleep(1).Requests, 1, "retry %d is after %s", retry, delay)
		}
		require.Empty(t, w.Sleep(24*time.Hour).Requests, "no retry 16")
	})
}

// someOf is the object in a list, empty for nil.
func someOf[T any](o *T) []*T {
	if o == nil {
		return nil
	}
	return []*T{o}
}

// affectedRanges are the names that an Index says are affected when an object is added (oldObj is empty), updated or
// deleted (newObj is empty); s is the snapshot afterwards.
func affectedRanges(s, oldObj, newObj servicecidr.Snapshot, o servicecidr.Options) (names []string) {
	oldObj.Now, newObj.Now = time.Time{}, time.Time{} // no time passes
	x, _ := servicecidr.NewIndex(s, o).Without(newObj)
	x, _ = x.With(oldObj)
	change, changed := x.With, newObj
	if len(newObj.ServiceCIDRs)+len(newObj.IPAddresses) == 0 {
		change, changed = x.Without, oldObj
	}
	_, affected := change(changed)
	for _, key := range affected {
		names = append(names, key.Name)
	}
	return names
}

// TestServiceCIDRAffected compares the keys that an event leads to: with MatchUpstream they are the
// same, and the default names these and maybe more (D-4). No ServiceCIDR here has its finalizer, so
// that every pass over one shows.
func TestServiceCIDRAffected(t *testing.T) {
	run := Settings(t, 5000)
	seen := coverage{}
	for i := range run.Numbers() {
		r := run.Source(i)
		s := generateRanges(r)
		for _, c := range s.ServiceCIDRs {
			c.DeletionTimestamp, c.Finalizers = nil, nil
		}
		kind, gone := "", ""
		var event func(o servicecidr.Options) (affected []string)
		ranges := func(oldObj, newObj *networkingv1.ServiceCIDR) {
			event = func(o servicecidr.Options) []string {
				return affectedRanges(s, rangesOf(asObjects(someOf(oldObj))), rangesOf(asObjects(someOf(newObj))), o)
			}
		}
		addresses := func(oldObj, newObj *networkingv1.IPAddress) {
			event = func(o servicecidr.Options) []string {
				return affectedRanges(s, rangesOf(asObjects(someOf(oldObj))), rangesOf(asObjects(someOf(newObj))), o)
			}
		}
		var worked []string
		Run(t, servicecidrCore.Objects(s), startServiceCIDR, func(_ *testing.T, w *World) {
			w.Settle()
			cidrs := slices.Clone(s.ServiceCIDRs)
			switch n, ips := len(cidrs), len(s.IPAddresses); r.IntN(5) {
			case 0:
				kind = "IPAddress added"
				ip := someAddress(r, "managed")
				w.Add(ip)
				addresses(nil, ip)
			case 1:
				if ips > 0 {
					kind = "IPAddress deleted"
					ip := s.IPAddresses[r.IntN(ips)]
					w.Delete(ip, r.IntN(2) == 0)
					addresses(ip, nil)
				}
			case 2:
				kind = "ServiceCIDR added"
				c := someRange(r, "newcomer")
				c.DeletionTimestamp, c.Finalizers = nil, nil
				cidrs = append(cidrs, c)
				w.Add(c)
				ranges(nil, c)
			case 3:
				if n > 0 {
					kind = "ServiceCIDR updated"
					k := r.IntN(n)
					oldObj, c := cidrs[k], cidrs[k].DeepCopy()
					cidrs[k] = c
					w.Update(c)
					ranges(oldObj, c)
				}
			default:
				if n > 0 {
					kind = "ServiceCIDR deleted"
					k := r.IntN(n)
					c := cidrs[k]
					gone = c.Name
					cidrs = slices.Delete(cidrs, k, k+1)
					w.Delete(c, r.IntN(2) == 0)
					ranges(c, nil)
				}
			}
			worked = names(w.Settle().Requests)
			s.ServiceCIDRs = cidrs
		})
		if kind == "" {
			continue
		}
		slices.Sort(worked)
		worked = slices.Compact(worked)
		affected := event(matchRanges)
		if kind == "ServiceCIDR deleted" {
			// Upstream queues the name of what is gone, and finds nothing under it.
			affected = slices.DeleteFunc(affected, func(name string) bool { return name == gone })
		}
		require.Subset(t, event(servicecidr.Options{}), affected, kind)
		if diff := cmp.Diff(worked, affected, equateEmpty); diff != "" {
			t.Fatalf("other keys after %s (- kube-controller-manager, + ours):\n%s\nfor\n%s\n%s",
				kind, diff, servicecidrCore.text(s), run.Again(t, i))
		}
		kinds := []string{kind}
		if len(worked) == 0 {
			kinds = append(kinds, "none")
		}
		if len(worked) > 1 {
			kinds = append(kinds, "several")
		}
		seen.add(kinds)
	}
	seen.check(t, []string{
		"IPAddress added", "IPAddress deleted", "ServiceCIDR added", "ServiceCIDR updated", "ServiceCIDR deleted", "none", "several",
	})
}

// TestServiceCIDRContainsIP compares what a prefix contains.
func TestServiceCIDRContainsIP(t *testing.T) {
	run := Settings(t, 5000)
	seen := coverage{}
	for i := range run.Numbers() {
		r := run.Source(i)
		address := netip.MustParseAddr(someAddresses[r.IntN(len(someAddresses))])
		for _, c := range generateRanges(r).ServiceCIDRs {
			for _, text := range c.Spec.CIDRs {
				if p, err := netip.ParsePrefix(text); err == nil {
					want := upstream.PrefixContainsIP(p, address)
					require.Equal(t, want, servicecidr.PrefixContainsIP(p, address), "%s, %s", p, address)
					seen.add([]string{fmt.Sprint(want)})
				}
			}
		}
	}
	seen.check(t, []string{"true", "false"})
}

func markRanges(s servicecidr.Snapshot, t Trace) []string {
	var marks []string
	for _, r := range t.Requests {
		for _, sign := range [][2]string{
			{`"finalizers":[`, "finalizer added"}, {`$deleteFromPrimitiveList/finalizers`, "finalizer removed"},
			{`"status":"True"`, "Ready=True"}, {`"status":"False"`, "Ready=False"},
		} {
			if strings.Contains(r.Body, sign[0]) && (sign[1] != "finalizer added" || !strings.Contains(r.Body, "$delete")) {
				marks = append(marks, sign[1])
			}
		}
	}
	leaving := map[string]bool{}
	for _, c := range s.ServiceCIDRs {
		for _, text := range c.Spec.CIDRs {
			if _, err := netip.ParsePrefix(text); err != nil {
				marks = append(marks, "does not parse")
			}
			if c.DeletionTimestamp != nil {
				if leaving[text] {
					marks = append(marks, "equal ones leave together")
				}
				leaving[text] = true
			}
		}
		if d, err := servicecidr.NewIndex(s, matchRanges).CheckDeletion(servicecidr.KeyOf(c), 0); err == nil && c.DeletionTimestamp != nil {
			if covered := func(c servicecidr.Coverage) bool { return len(c.By) > 0 }; slices.ContainsFunc(d.Coverage, covered) {
				marks = append(marks, "another one contains it")
			}
			if d.Safe && Epoch.Sub(c.DeletionTimestamp.Time) < servicecidr.DeletionGracePeriod {
				marks = append(marks, "waits for the grace period")
			}
		}
	}
	return marks
}

// validRanges reports whether an API server would hold such objects.
func validRanges(s servicecidr.Snapshot) bool {
	for _, c := range s.ServiceCIDRs {
		families := map[bool]int{}
		for _, text := range c.Spec.CIDRs {
			p, err := netip.ParsePrefix(text)
			if err != nil {
				return false
			}
			families[p.Addr().Is4()]++
		}
		if len(families) == 0 || families[true] > 1 || families[false] > 1 {
			return false
		}
	}
	return !slices.ContainsFunc(s.IPAddresses, func(ip *networkingv1.IPAddress) bool {
		_, err := netip.ParseAddr(ip.Name)
		return err != nil
	})
}

// generateRanges makes a few ServiceCIDRs that overlap, contain each other and are equal, and
// addresses on and around their borders.
func generateRanges(r *rand.Rand) servicecidr.Snapshot {
	s := servicecidr.Snapshot{Now: Epoch}
	for _, name := range []string{"kubernetes", "a", "b", "c", "d"}[:r.IntN(6)] {
		s.ServiceCIDRs = append(s.ServiceCIDRs, someRange(r, name))
	}
	named := map[string]bool{}
	for range r.IntN(6) {
		if ip := someAddress(r, "mostly"); !named[ip.Name] {
			named[ip.Name] = true
			s.IPAddresses = append(s.IPAddresses, ip)
		}
	}
	r.Shuffle(len(s.ServiceCIDRs), func(i, j int) {
		s.ServiceCIDRs[i], s.ServiceCIDRs[j] = s.ServiceCIDRs[j], s.ServiceCIDRs[i]
	})
	return s
}

func someRange(r *rand.Rand, name string) *networkingv1.ServiceCIDR {
	v4 := []string{
		"10.0.0.0/24", "10.0.0.0/24", "10.0.0.0/24", "10.0.0.0/25", "10.0.0.128/25", "10.0.0.0/26", "10.0.0.0/30", "10.0.0.0/31", "10.0.0.4/32",
		"10.0.0.0/23", "10.0.1.0/24", "0.0.0.0/0",
	}
	v6 := []string{
		"fd00::/120", "fd00::/120", "fd00::/112", "fd00::100/120", "fd00::/127", "fd00::4/128", "fd00:0:0::/120", "FD00::/120", "::/0",
	}
	c := serviceRange(name)
	switch r.IntN(20) {
	case 0:
		bad := []string{"10.0.0.0/33", "10.0.0.0", "", "fd00::/129", "10.0.0.0/024", "::ffff:10.0.0.0%eth0/120"}
		c.Spec.CIDRs = []string{bad[r.IntN(len(bad))]}
		if r.IntN(2) == 0 {
			c.Spec.CIDRs = append(c.Spec.CIDRs, v4[r.IntN(len(v4))])
		}
	case 1:
		// As no API server has it: two of one family, host bits, or none at all.
		c.Spec.CIDRs = [][]string{{"10.0.0.0/24", "10.0.0.0/25"}, {"10.0.0.0/25", "10.0.0.0/25"}, {"10.0.0.5/24"}, nil}[r.IntN(4)]
	case 2, 3, 4, 5:
		c.Spec.CIDRs = []string{v6[r.IntN(len(v6))]}
	case 6, 7, 8, 9:
		c.Spec.CIDRs = []string{v4[r.IntN(len(v4))], v6[r.IntN(len(v6))]}
		if r.IntN(2) == 0 {
			slices.Reverse(c.Spec.CIDRs)
		}
	default:
		c.Spec.CIDRs = []string{v4[r.IntN(len(v4))]}
	}

	switch r.IntN(4) {
	case 0:
	case 1:
		c.Finalizers = []string{"example.com/other", servicecidr.Finalizer}
	default:
		c.Finalizers = []string{servicecidr.Finalizer}
	}
	if r.IntN(2) == 0 {
		ago := []int{0, 1, 9, 10, 11, 3600, -5}[r.IntN(7)]
		c.DeletionTimestamp = &metav1.Time{Time: Epoch.Add(-time.Duration(ago) * time.Second)}
	}
	c.Status.Conditions = someReady(r)
	return c
}

func someReady(r *rand.Rand) []metav1.Condition {
	before := metav1.NewTime(Epoch.Add(-time.Minute))
	right := metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Message: "Kubernetes Service CIDR is ready", LastTransitionTime: before}
	blocked := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: "Terminating", LastTransitionTime: before,
		Message: "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR"}
	switch r.IntN(8) {
	case 0:
		return nil
	case 1:
		c := right
		c.Reason = "Because"
		return []metav1.Condition{c}
	case 2:
		c := blocked
		c.Message = "no"
		return []metav1.Condition{c}
	case 3:
		return []metav1.Condition{{Type: "Other", Status: metav1.ConditionTrue, Reason: "X", LastTransitionTime: before}}
	case 4, 5:
		return []metav1.Condition{{Type: "Other", Status: metav1.ConditionTrue, Reason: "X", LastTransitionTime: before}, blocked}
	}
	return []metav1.Condition{right}
}

// someAddresses are on and around the borders of the prefixes.
var someAddresses = []string{
	"10.0.0.0", "10.0.0.1", "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.63", "10.0.0.64", "10.0.0.127", "10.0.0.128",
	"10.0.0.129", "10.0.0.254", "10.0.0.255", "10.0.1.0", "10.0.1.1", "10.0.1.255", "192.168.0.1",
	"fd00::", "fd00::1", "fd00::1", "fd00::4", "fd00::ff", "fd00::100", "fd00::101", "fd01::1", "::ffff:10.0.0.1", "::1",
}

// someAddress makes an IPAddress whose labels are as the allocator sets them: "managed" always,
// "mostly" most of the time.
func someAddress(r *rand.Rand, labels string) *networkingv1.IPAddress {
	ip := &networkingv1.IPAddress{ObjectMeta: metav1.ObjectMeta{Name: someAddresses[r.IntN(len(someAddresses))]}}
	if r.IntN(40) == 0 {
		ip.Name = []string{"not-an-address", "10.0.0.01"}[r.IntN(2)]
	}
	ip.UID = types.UID("uid-" + ip.Name)
	family := "IPv4"
	if strings.Contains(ip.Name, ":") {
		family = "IPv6"
	}
	ip.Labels = map[string]string{networkingv1.LabelManagedBy: servicecidr.ManagedBy, networkingv1.LabelIPAddressFamily: family}
	if labels == "managed" {
		return ip
	}
	switch r.IntN(12) {
	case 0:
		ip.Labels = nil
	case 1:
		ip.Labels[networkingv1.LabelManagedBy] = "someone.example.com"
	case 2:
		delete(ip.Labels, networkingv1.LabelIPAddressFamily)
	case 3:
		ip.Labels[networkingv1.LabelIPAddressFamily] = map[string]string{"IPv4": "IPv6", "IPv6": "IPv4"}[family]
	}
	return ip
}

func serviceRange(name string, cidrs ...string) *networkingv1.ServiceCIDR {
	return &networkingv1.ServiceCIDR{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), ResourceVersion: "1"},
		Spec:       networkingv1.ServiceCIDRSpec{CIDRs: cidrs},
	}
}
