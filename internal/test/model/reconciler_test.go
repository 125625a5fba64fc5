package model

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/reconcile/cidrmemory"
	"github.com/purekube/purekube/servicecidr"
)

type (
	cidrLoopWorld   = LoopWorld[*servicecidr.Index, servicecidr.Snapshot, servicecidr.Action]
	budgetLoopWorld = LoopWorld[*disruption.Index, disruption.Snapshot, disruption.Action]
)

// cidrLoop is the controller of clientgo.NewServiceCIDR in one of its worlds.
func cidrLoop(w Scenario) cidrLoopWorld {
	return cidrLoopWorld{
		Scenario: w,
		Empty:    func() *servicecidr.Index { return servicecidr.NewIndex(servicecidr.Snapshot{}, servicecidr.Options{}) },
		Workers:  1, MaxFaults: 1, Replicas: true, Overlap: 5, Retries: 15,
		Memory: func() memo { return &cidrMemo{} },
		At: func(now time.Time, _ *servicecidr.Index, _ memo) (servicecidr.Snapshot, map[string]string) {
			return servicecidr.Snapshot{Now: now}, nil
		},
		Lists: []string{"ipaddresses", "servicecidrs"}, // as clientgo.ListServiceCIDRs
		Confirm: func(read *View, m memo) (s servicecidr.Snapshot) {
			for _, o := range read.objects {
				part := rangesOf(o)
				s.ServiceCIDRs, s.IPAddresses = append(s.ServiceCIDRs, part.ServiceCIDRs...), append(s.IPAddresses, part.IPAddresses...)
			}
			m.(*cidrMemo).call(func(m *cidrmemory.Memory) { s = m.Confirm(read.Now, s) })
			return s
		},
		Right: func(a servicecidr.Action, fresh []purekube.Action) bool {
			_, removes := a.(servicecidr.RemoveFinalizer)
			return !removes || slices.ContainsFunc(fresh, func(right purekube.Action) bool { return right.String() == a.String() })
		},
		As: func(o Object, now time.Time, m memo) (s servicecidr.Snapshot, facts map[string]string) {
			c, ok := o.(*networkingv1.ServiceCIDR)
			if !ok {
				return rangesOf(o), nil
			}
			m.(*cidrMemo).call(func(m *cidrmemory.Memory) { s = m.See(now, c) })
			facts = map[string]string{}
			for uid, seen := range s.DeletionSeen {
				facts["seen "+string(uid)] = seen.Format(time.RFC3339)
			}
			return s, facts
		},
		Gone: func(o Object, m memo) (change func(*servicecidr.Index) (*servicecidr.Index, []purekube.Key), fact string) {
			if c, ok := o.(*networkingv1.ServiceCIDR); ok {
				m.(*cidrMemo).call(func(m *cidrmemory.Memory) { m.Gone(c) })
			}
			return nil, ""
		},
	}
}

// cidrMemo is what a cidrmemory.Memory remembers, as data: each call makes a Memory from it.
type cidrMemo struct {
	seen map[types.UID]cidrmemory.Deletion
}

func (c *cidrMemo) clone() memo { return &cidrMemo{maps.Clone(c.seen)} }

func (c *cidrMemo) text() string {
	var b strings.Builder
	for _, uid := range slices.Sorted(maps.Keys(c.seen)) {
		fmt.Fprintf(&b, "%s of %s at %s; ", uid, c.seen[uid].Timestamp.Format(time.TimeOnly), c.seen[uid].Seen.Format(time.TimeOnly))
	}
	return b.String()
}

func (*cidrMemo) prune(map[types.UID]bool) {}

// call calls a method of the Memory.
func (c *cidrMemo) call(method func(*cidrmemory.Memory)) {
	m := &cidrmemory.Memory{Seen: c.seen}
	method(m)
	c.seen = m.Seen
}

// twinLoop is of two ServiceCIDRs.
func twinLoop() cidrLoopWorld {
	w := cidrLoop(serviceCIDRWorld("ServiceCIDRs, twins", servicecidr.Options{}, twins, twoAddrs))
	w.Workers = 2
	return w
}

// handedOverLoop is of two equal ServiceCIDRs that have just been deleted. Nothing happens but that a Service gets an address.
func handedOverLoop() cidrLoopWorld {
	w := cidrLoop(serviceCIDRWorld("ServiceCIDRs, handed over", servicecidr.Options{}, twins, twoAddrs[:1]).only("allocated"))
	for i, o := range w.Objects {
		c := o.DeepCopyObject().(*networkingv1.ServiceCIDR)
		c.DeletionTimestamp = ptr.To(metav1.NewTime(Start))
		w.Objects[i] = c
	}
	// The search is to find the harm itself, and not the first wrong request.
	w.Right = nil
	// The standby saw the deletions in another order.
	w.Standby = func(leader memo) memo {
		m := leader.clone().(*cidrMemo)
		inOrder := slices.SortedFunc(maps.Keys(m.seen), func(a, b types.UID) int {
			return cmp.Or(m.seen[a].Seen.Compare(m.seen[b].Seen), cmp.Compare(a, b))
		})
		for i, uid := range inOrder {
			d := m.seen[uid]
			d.Seen = m.seen[inOrder[0]].Seen.Add(-time.Duration(i) * time.Second)
			m.seen[uid] = d
		}
		return m
	}
	return w
}

// inUseLoop is of one ServiceCIDR, which is protected, with an address that is in use.
func inUseLoop() cidrLoopWorld {
	w := serviceCIDRWorld("ServiceCIDRs, in use", servicecidr.Options{}, twins[:1], twoAddrs[:1])
	allocate(&View{objects: w.Objects, Now: Start}, twoAddrs[:1], func(_ string, changes ...Change) { w.Objects = append(w.Objects, changes[0].object) })
	return cidrLoop(w)
}

// hangingCIDRLoop is of one ServiceCIDR. The watches hang for longer than the grace period.
func hangingCIDRLoop() cidrLoopWorld {
	w := cidrLoop(serviceCIDRWorld("ServiceCIDRs, watches hang", servicecidr.Options{}, twins[:1], twoAddrs[:1]).only("deleted", "allocated"))
	w.Replicas, w.MaxAge = false, 60
	return w
}

// newCIDRLoop is of one ServiceCIDR that was made a moment ago.
func newCIDRLoop() cidrLoopWorld {
	w := serviceCIDRWorld("ServiceCIDRs, new", servicecidr.Options{}, twins[:1], twoAddrs[:1])
	w.Objects = []Object{newServiceCIDR("a", 1, twins[0])}
	return cidrLoop(w)
}

// deletedLoop is newCIDRLoop where nothing happens but a deletion, so that a search comes to its end.
func deletedLoop() cidrLoopWorld {
	w := newCIDRLoop()
	w.Scenario = w.only("deleted")
	w.Name = "ServiceCIDRs, deleted"
	return w
}

// lookupsLoop is the controller of clientgo.NewDisruption with one budget, whose pods belong to something that it does
// not watch.
func lookupsLoop() budgetLoopWorld {
	w := budgetWorld(disruption.Options{}).only("eviction", "eviction, second half", "terminated", "replaced", "ready")
	w.Name = "PodDisruptionBudgets with lookups"
	w.Objects = slices.DeleteFunc(w.Objects, func(o Object) bool { return !strings.HasPrefix(o.GetName(), "db") })
	w.Kinds, w.Until = []schema.GroupVersionResource{pods, budgets, statefulSets}, 30*time.Second
	for i := range w.Events {
		if w.Events[i].Name == "eviction" {
			w.Events[i].Max = 1
		}
	}
	return budgetLoopWorld{
		Scenario: w, Unwatched: []string{"statefulsets"},
		Empty:   func() *disruption.Index { return disruption.NewIndex(disruption.Snapshot{}, disruption.Options{}) },
		Workers: 1, MaxFaults: 1, Hangs: true, DecidesWithout: true,
		At: func(now time.Time, _ *disruption.Index, _ memo) (disruption.Snapshot, map[string]string) {
			return disruption.Snapshot{Now: now}, nil
		},
		As: func(o Object, _ time.Time, _ memo) (disruption.Snapshot, map[string]string) {
			return budgetObject(o), nil
		},
		Answers: func(answers map[purekube.Need]purekube.Answer) disruption.Snapshot {
			return disruption.Snapshot{Answers: answers}
		},
		Answer: answerOf,
		Hung: func(v *View) string {
			broken := budgetsAreExact(v)
			for _, b := range All[*policyv1.PodDisruptionBudget](v) {
				c := apimeta.FindStatusCondition(b.Status.Conditions, policyv1.DisruptionAllowedCondition)
				if broken != "" && (b.Status.DisruptionsAllowed > 0 || c == nil || c.Reason != policyv1.SyncFailedReason) {
					return "without answers, a budget refuses: " + describeWorkload(b)
				}
			}
			return ""
		},
	}
}

// growingLoop is lookupsLoop with a StatefulSet that gets a third pod.
func growingLoop() budgetLoopWorld {
	w := lookupsLoop()
	w.Scenario = w.only()
	w.Name = "PodDisruptionBudgets, a workload grows"
	w.Events = append(w.Events, Event{Name: "grown", Max: 1, Do: func(v *View, do func(string, ...Change)) {
		s := Get[*appsv1.StatefulSet](v, "ns", "db").DeepCopy()
		s.Spec.Replicas = ptr.To[int32](3)
		do("StatefulSet db grows to 3", Put(s), Put(ready(newWorkloadPod("db-2", v.Fresh, "db", controlledBy("StatefulSet", "db", 3)))))
	}})
	return w
}

// loopWorlds are searches of each world whose controller is the loop of internal/reconcile.
func loopWorlds() []loopSearch {
	return []loopSearch{
		searchOf(deletedLoop()), searchOf(hangingCIDRLoop()), searchOf(newCIDRLoop()), searchOf(inUseLoop()), searchOf(twinLoop()),
		searchOf(handedOverLoop()), searchOf(lookupsLoop()), searchOf(growingLoop()),
		searchOf(entryLoop()), searchOf(hangingLoop()), searchOf(lookedUpLoop()), searchOf(groupLookedUpLoop()), searchOf(sharedLoop()),
		searchOf(vetoedLoop()), searchOf(restoredLoop()), searchOf(waitingLoop()),
		searchOf(chainLoop()), searchOf(filteredLoop()), searchOf(nodesLoop()),
	}
}

// loopSearch is the search of a world with that cache lag and that defect.
type loopSearch struct {
	name   string
	search func(lag int, b broken, bounds Bounds) Report
}

func searchOf[X purekube.Index[X, S, A], S any, A purekube.Action](w LoopWorld[X, S, A]) loopSearch {
	return loopSearch{w.Name, func(lag int, b broken, bounds Bounds) Report {
		w.Lag, w.Broken = lag, b
		return SearchLoop(w, bounds)
	}}
}

// TestLoopHolds goes through each world whose controller is the loop of internal/reconcile. A state costs more than one of
// TestGuaranteesHold: a full run visits 300 of each world with two of the lags, one that leaves things out 30, and a longer one takes a third
// of the time.
func TestLoopHolds(t *testing.T) {
	for _, lag := range lags {
		if lag.left() || os.Getenv("PUREKUBE_MODEL_LAG") == "" && (lag.name == "two" || lag.name == "three") {
			continue
		}
		for _, w := range loopWorlds() {
			t.Run(w.name+", caches behind by "+lag.name, func(t *testing.T) {
				t.Parallel()
				b := bounds(t)
				b.States, b.Time = b.States/10, b.Time/3
				r := w.search(lag.changes, broken{}, b)
				t.Log(r)
				require.Empty(t, r.Broken)
				require.GreaterOrEqual(t, r.States, 30)
			})
		}
	}
}

// brokenLoops puts a defect around the loop, one at a time, and the search finds it. README.md has the number of steps.
func brokenLoops(t *testing.T) {
	page, err := os.ReadFile("README.md")
	require.NoError(t, err)
	for _, tc := range []struct {
		name, reason string
		search       loopSearch
		put          broken
		broken       string
	}{
		{"planning starts when the caches have synced", "a plan from half an Index takes what is missing for gone",
			searchOf(entryLoop()), broken{StartsWithTheCache: true}, "no claim made twice for an entry"},
		{"writes share the deadline of the lookups", "the status that refuses is written because lookups took too long",
			searchOf(lookupsLoop()), broken{SharesTheContext: true}, "at rest, within an hour"},
		{"a retry is lost", "no event brings back a key whose write was refused",
			searchOf(newCIDRLoop()), broken{LosesRetries: true}, "at rest, a plan from scratch asks for nothing"},
		{"fences are ignored", "an Index without the last write asks for it again",
			searchOf(newCIDRLoop()), broken{IgnoresFences: true}, "no request is sent twice"},
		{"a key that is affected during its turn is dropped", "its plan is from before the event",
			searchOf(newCIDRLoop()), broken{DropsWhileProcessing: true}, "at rest, a plan from scratch asks for nothing"},
		{"nobody ticks for late lookups", "the status that refuses must not wait for them",
			searchOf(lookupsLoop()), broken{ForgetsTicks: true}, "without answers, a budget refuses"},
		{"RecheckAt is forgotten by the loop's caller", "nothing else brings a deletion back when the grace period is over",
			searchOf(inUseLoop()), broken{ForgetsRecheck: true}, "at rest, a plan from scratch asks for nothing"},
		{"no plan is confirmed", "an address was added while the watches hung, before the allocators heard of the deletion",
			searchOf(hangingCIDRLoop()), broken{ConfirmsNothing: true}, "no managed address without a range"},
		{"written claims are forgotten", "a watch may hang for longer than a fence holds",
			searchOf(hangingLoop()), broken{ForgetsWritten: true}, "no claim made twice for an entry"},
		{"deleted pods are forgotten", "the Index still shows a pod that was seen to be deleted",
			searchOf(entryLoop()), broken{ForgetsDeleted: true}, "a pod that was seen to be deleted gets nothing"},
		{"an answer is used again", "what is looked up again has changed since",
			searchOf(sharedLoop()), broken{ReusesAnswers: true}, "at rest, a plan from scratch asks for nothing"},
		{"the pod goes while its claim is looked up", "the plan with the answer does not go by what was seen meanwhile",
			searchOf(lookedUpLoop()), broken{PlansWithTheOldIndex: true}, "a pod that was seen to be deleted gets nothing"},
		{"a pod comes while its PodGroup is looked up", "the plan with the answer does not go by what was seen meanwhile",
			searchOf(groupLookedUpLoop()), broken{PlansWithTheOldIndex: true}, "no device taken from running pods of a PodGroup"},
		{"a write is sent after the Lease was lost", "the other replica has listed before it, and makes the same claim",
			searchOf(entryLoop()), broken{SendsWithoutLease: true}, "no claim made twice for an entry"},
		{"a veto is ignored", "the hook says what is not to be sent",
			searchOf(vetoedLoop()), broken{IgnoresVetoes: true}, "what a hook vetoes is never sent"},
		{"a veto ends the work on a key", "the hook may think otherwise later, and no event tells",
			searchOf(vetoedLoop()), broken{VetoEndsKey: true}, "nobody does"},
		{"what the filter leaves out is planned", "the filter says what is not to be planned",
			searchOf(filteredLoop()), broken{PlansFiltered: true}, "what the filter leaves out is never"},
		{"the filter hides objects from plans", "a role aggregates over one that is left out",
			searchOf(filteredLoop()), broken{HidesFiltered: true}, "at rest"},
		{"a restore is overlooked", "a claim that was made after the backup is believed in for an hour",
			searchOf(waitingLoop()), broken{MissesRestore: true}, "at rest"},
		{"a restore is looked for before turns only", "without an event there is no turn",
			searchOf(waitingLoop()), broken{LooksBeforeTurnsOnly: true}, "at rest"},
		{"late lookups are answered with the last answers", "the pods are newer than the scale that they are compared with",
			searchOf(growingLoop()), broken{AnswersWithTheLast: true}, "without answers, a budget refuses"},
		{"a standby watches before it has the Lease", "its caches are behind when it begins to plan",
			searchOf(entryLoop()), broken{WatchesBeforeLease: true}, "no claim made twice for an entry"},
		{"a standby remembers deletions before it has the Lease", "it saw them in another order",
			searchOf(handedOverLoop()), broken{RemembersBeforeLease: true}, "no managed address without a range"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := tc.search.search(1, tc.put, Bounds{Time: 10 * time.Minute})
			t.Log(r)
			require.Contains(t, r.Broken, tc.broken, tc.reason)
			steps, after, _ := strings.Cut(strings.Join(r.Story, "\x00"), "\x00from here on users do nothing, and nothing fails")
			rest := strings.Count(strings.TrimSuffix(after, "\x00at rest"), "\x00")
			row := fmt.Sprintf("| %s | %s | %d | %d |", tc.name, r.Scenario, strings.Count(steps, "\x00")+1, rest)
			require.True(t, strings.Contains(string(page), row), "README.md has the row %s", row)
		})
	}
}
