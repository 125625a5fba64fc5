package model

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/test/apiserver"
	"github.com/purekube/purekube/rbacaggregate"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/servicecidr"
)

// edited is an action whose request is another one.
type edited struct {
	purekube.Action
	edit func(r *purekube.Request)
}

func (e edited) Request(done []runtime.Object) purekube.Request {
	r := e.Action.Request(done)
	e.edit(&r)
	return r
}

// sending is the world with requests that are edited on their way.
func (w Scenario) sending(edit func(r *purekube.Request)) Scenario {
	return w.deciding(editing(edit))
}

// editing is a change of decisions: their requests are edited on their way.
func editing(edit func(r *purekube.Request)) func(Decision) Decision {
	return func(d Decision) Decision {
		for i, a := range d.Actions {
			d.Actions[i] = edited{a, edit}
		}
		return d
	}
}

// deciding is the world with other decisions.
func (w Scenario) deciding(change func(Decision) Decision) Scenario {
	plan := w.Controller.Plan
	w.Controller.Plan = func(v *View, key string, live *View) Decision { return change(plan(v, key, live)) }
	return w
}

// small is the small world of that name, with a cache lag of one.
func small(name string) Scenario {
	all := smallWorlds()
	w := all[slices.IndexFunc(all, func(w Scenario) bool { return w.Name == name })]
	w.Lag = 1
	return w
}

// hearing is the world in which events affect other keys.
func (w Scenario) hearing(affected func(oldObj, newObj Object, keys []string) []string) Scenario {
	f := w.Controller.Affected
	w.Controller.Affected = func(v *View, oldObj, newObj Object) []string { return affected(oldObj, newObj, f(v, oldObj, newObj)) }
	return w
}

// TestFindsWhatIsBrokenOnPurpose: with one rule, or one of the caller's duties, taken away, the search finds what it
// is for.
func TestFindsWhatIsBrokenOnPurpose(t *testing.T) {
	cidrs := func(o servicecidr.Options) Scenario {
		return serviceCIDRWorld("ServiceCIDRs, twins", o, twins, twoAddrs)
	}
	for _, tc := range []struct {
		name, reason string
		world        Scenario
		broken       string
	}{
		{"no grace period", "allocators that have not heard of a deletion take addresses (BR-31-03)",
			cidrs(servicecidr.Options{GracePeriod: ptr.To(time.Duration(0))}), "no managed address without a range"},
		{"addresses are not heard of", "a deletion waits for an address, and nothing else brings it back",
			cidrs(servicecidr.Options{}).hearing(noAddresses), "at rest"},
		{"RecheckAt is forgotten", "nothing else brings a deletion back when the grace period is over",
			cidrs(servicecidr.Options{}).deciding(withoutRecheck), "a ServiceCIDR that may go is gone"},
		{"an address is overlooked", "a wrong decision: the finalizer goes while an address is in use",
			cidrs(servicecidr.Options{}).seeing(func(v *View) {
				v.objects = slices.DeleteFunc(slices.Clone(v.objects), func(o Object) bool { return o.GetName() == twoAddrs[1] })
			}), "no managed address without a range"},

		{"a label with the finalizer", "the user's labels are none of the controller's business",
			cidrs(servicecidr.Options{}).sending(addLabel), "is changed beyond its finalizers and conditions"},

		{"created claims are forgotten", "until its cache shows a claim, the controller has to remember it (BR-30-04)",
			func() Scenario {
				w := claimWorld(resourceclaim.Options{})
				w.Assumes = schema.GroupVersionResource{}
				return w
			}(),
			"no claim made twice for an entry"},
		{"no new list after a lost answer", "a claim may have been made, and its cache does not show it yet",
			func() Scenario { w := claimWorld(resourceclaim.Options{}); w.ListsAnew = false; return w }(), "no claim made twice for an entry"},
		{"the first list is old", "it may be from before the claim that the controller before it made",
			func() Scenario {
				w := claimWorld(resourceclaim.Options{})
				w.Lag, w.Faults.OldStart = 1, true
				return w
			}(), "no claim made twice for an entry"},
		{"lookups in the cache", "a pod that the cache does not have is not known to be gone (BR-30-06)",
			func() Scenario {
				w := claimWorld(resourceclaim.Options{})
				plan := w.Controller.Plan
				w.Controller.Plan = func(v *View, key string, live *View) Decision {
					if live != nil {
						live = v
					}
					return plan(v, key, live)
				}
				return w
			}(), "no allocation cleared under a live consumer"},
		{"PodGroups are not heard of", "a PodGroup's claims are made when it is created, and its pods' status follows",
			podGroupWorld(resourceclaim.Options{}).hearing(noGroups), "at rest"},
		{"writes without a resourceVersion", "the scheduler adds a consumer while the allocation is cleared",
			claimWorld(resourceclaim.Options{}).without("claim held by a driver").sending(anyVersion), "no allocation cleared under a live consumer"},
		{"devices written with the reservations", "they are the driver's",
			claimWorld(resourceclaim.Options{}).sending(addDevices), "is changed beyond its reservations, allocation and finalizer"},
		{"a reason written with the claims' names", "it is the kubelet's",
			claimWorld(resourceclaim.Options{}).sending(addReason), "is changed beyond its claims' names"},
		{"a PodGroup is deleted", "it is its user's",
			podGroupWorld(resourceclaim.Options{}).sending(func(r *purekube.Request) {
				if r.Resource == apiserver.PodGroups {
					*r = purekube.Request{Verb: "delete", Resource: r.Resource, Namespace: r.Namespace, Name: r.Name}
				}
			}), "PodGroup group-0 is changed"},
		{"the going of pods is not heard of", "a claim stays reserved for a pod that is gone",
			claimWorld(resourceclaim.Options{}).hearing(noDeletions[string]), "at rest"},

		{"created claims are known by their annotation", "an admission policy may drop it",
			policyWorld(resourceclaim.Options{}, "nothing that says whose it is", withoutTraces).deciding(func(d Decision) Decision {
				for i, a := range d.Actions {
					d.Actions[i] = byAnnotation{a}
				}
				return d
			}), "claims for two entries"},
		{"another claim for one without its controller", "an admission policy may drop the flag (D-38)",
			policyWorld(resourceclaim.Options{MatchUpstream: purekube.V1_36}, "no controller flag", withoutController), "claims for two entries"},
		{"what is assumed outlives a restore", "the restored API server never had it",
			func() Scenario { w := restoreWorld(resourceclaim.Options{}); w.KeepsAssumed = true; return w }(), "asks for CreateClaim"},
		{"a forgotten claim is assumed", "the event of its deletion may overtake the answer",
			func() Scenario { w := overtakenWorld(resourceclaim.Options{}); w.Faults.Phantom = true; return w }(), "asks for CreateClaim"},
		{"the owner of a claim being deleted is looked up", "no answer changes what is done (D-17)",
			alienWorld(resourceclaim.Options{}).askingForOwners(), "lookup in vain"},

		{"status without a resourceVersion", "the controller's write takes back what the eviction handler counted",
			budgetWorld(disruption.Options{}).sending(anyVersion), "never more pods gone than the budget allows"},
		{"budget instead of its status", "the spec is the user's",
			budgetWorld(disruption.Options{}).sending(writeSpec), "is changed beyond its status"},
		{"evicted pods are forgotten", "a granted eviction counts before its pod is being deleted (BR-25-04)",
			budgetWorld(disruption.Options{DeletionTimeout: ptr.To(time.Duration(0))}), "never more pods gone than the budget allows"},
		{"pods that become ready are not heard of", "the status stays at what was before",
			budgetWorld(disruption.Options{}).hearing(noReadyPods), "at rest"},

		{"one of two pods is not heard of", "each pod of a PodGroup has the names of its claims in its status",
			small("PodGroups, two pods").hearing(func(_, newObj Object, keys []string) []string {
				if _, pod := newObj.(*corev1.Pod); !pod {
					keys = slices.DeleteFunc(keys, func(key string) bool { return key == "Pod/ns/mate-0" })
				}
				return keys
			}), "at rest"},
		{"claims of a PodGroup are forgotten", "until its cache shows a claim, the controller remembers it (BR-30-04)",
			func() Scenario {
				w := small("PodGroups, the pod is recreated")
				w.Assumes = schema.GroupVersionResource{}
				return w
			}(), "no claim made twice for an entry"},
		{"the going of a PodGroup is not heard of", "what was reserved for it is not its successor's (D-33)",
			small("PodGroups, the PodGroup is recreated").hearing(func(oldObj, newObj Object, keys []string) []string {
				if _, group := oldObj.(*apiserver.PodGroup); group && newObj == nil {
					return nil
				}
				return keys
			}), "at rest"},
		{"no deletion is heard of", "a claim stays reserved for a PodGroup that is gone",
			small("PodGroups, made once").hearing(noDeletions[string]), "at rest"},
		{"a changed budget is not heard of", "its status is for what the user wrote before",
			small("PodDisruptionBudgets, one budget").hearing(func(oldObj, newObj Object, keys []string) []string {
				if oldObj != nil && newObj != nil && oldObj.GetGeneration() != newObj.GetGeneration() {
					return nil
				}
				return keys
			}), "at rest"},
		{"the first of two evictions is forgotten", "it counts before its pod is being deleted (BR-25-04)",
			oneBudgetWorld(disruption.Options{DeletionTimeout: ptr.To(time.Duration(0))}),
			"never more pods gone than the budget allows"},
		{"a preempted pod is not looked at again", "nothing else takes its DisruptionTarget away (BR-25-05)",
			small("PodDisruptionBudgets, one budget, preempted").deciding(withoutRecheck), "at rest"},

		{"only the changed role is heard of", "a source changes its aggregate, at every level",
			clusterRoleWorld(rbacaggregate.Options{}).hearing(func(oldObj, newObj Object, keys []string) []string {
				if oldObj == nil || newObj == nil {
					return nil
				}
				return slices.DeleteFunc(keys, func(k string) bool { return k != newObj.GetName() })
			}), "at rest"},
		{"no UID in the apply", "the apply makes a ClusterRole that a user deleted (D-26)",
			clusterRoleWorld(rbacaggregate.Options{}).sending(func(r *purekube.Request) {
				r.Patch = withoutUID(r.Patch)
			}), "nothing the user did is undone"},
		{"an aggregationRule with the rules", "what is aggregated is the user's to say",
			clusterRoleWorld(rbacaggregate.Options{}).sending(addAggregationRule), "is changed beyond its rules"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := Search(tc.world, true, Bounds{Time: 10 * time.Minute})
			t.Log(r)
			require.Contains(t, r.Broken, tc.broken, tc.reason)
		})
	}
	brokenLoops(t)
}

// What follows are events that affect no key.

func noDeletions[K any](_, newObj Object, keys []K) []K {
	if newObj == nil {
		return nil
	}
	return keys
}

func noAddresses(oldObj, _ Object, keys []string) []string {
	if _, ip := oldObj.(*networkingv1.IPAddress); ip {
		return nil
	}
	return keys
}

func noGroups(oldObj, newObj Object, keys []string) []string {
	for _, o := range []Object{oldObj, newObj} {
		if _, group := o.(*apiserver.PodGroup); group {
			return nil
		}
	}
	return keys
}

func noReadyPods(oldObj, newObj Object, keys []string) []string {
	if p, ok := oldObj.(*corev1.Pod); ok && newObj != nil && !isReady(p) {
		return nil
	}
	return keys
}

func withoutRecheck(d Decision) Decision {
	d.RecheckAt = time.Time{}
	return d
}

// What follows are edits of requests.

func addLabel(r *purekube.Request) {
	r.Patch = bytes.Replace(r.Patch, []byte(`"metadata":{`), []byte(`"metadata":{"labels":{"a":"b"},`), 1)
}

func addReason(r *purekube.Request) {
	r.Patch = bytes.Replace(r.Patch, []byte(`"status":{`), []byte(`"status":{"reason":"None",`), 1)
}

func addAggregationRule(r *purekube.Request) {
	r.Patch = bytes.Replace(r.Patch, []byte(`"rules":`), []byte(`"aggregationRule":{"clusterRoleSelectors":[{}]},"rules":`), 1)
}

func addDevices(r *purekube.Request) {
	if r.Kind == "ResourceClaim" {
		r.Patch = bytes.Replace(r.Patch, []byte(`"status":{`), []byte(`"status":{"devices":[{"driver":"example.com"}],`), 1)
	}
}

var readVersion = regexp.MustCompile(`"resourceVersion":"[0-9]*",?`)

func anyVersion(r *purekube.Request) { r.Patch = readVersion.ReplaceAll(r.Patch, nil) }

func writeSpec(r *purekube.Request) {
	if r.Kind == "PodDisruptionBudget" {
		r.Subresource, r.Patch = "", bytes.Replace(r.Patch, []byte(`"status":{`), []byte(`"spec":{"maxUnavailable":0},"status":{`), 1)
	}
}

// withoutUID takes the UID out of the JSON of an apply.
func withoutUID(patch []byte) []byte {
	before, after, found := strings.Cut(string(patch), `,"uid":"`)
	if !found {
		return patch
	}
	_, after, _ = strings.Cut(after, `"`)
	return []byte(before + after)
}

// seeing is the world whose plans are made from other views.
func (w Scenario) seeing(change func(v *View)) Scenario {
	plan := w.Controller.Plan
	w.Controller.Plan = func(v *View, key string, live *View) Decision {
		seen := *v
		change(&seen)
		return plan(&seen, key, live)
	}
	return w
}
