package parity

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
)

var disruptionDivergences = []divergence{
	{
		ID:    "D-12",
		Title: "a workload without spec.replicas",
		Harm: "None with an API server that sets spec.replicas, as the stock one does. Otherwise the controller " +
			"panics on every pass over the budget",
		Since: "v1.6",
		Why: "The API server sets spec.replicas, but objects also come from manifests, test fixtures and other API " +
			"servers. The controller panics on every pass over this budget. purekube uses the API's default, 1, " +
			"with or without Options.MatchUpstream.",
		Given: func() []runtime.Object {
			return []runtime.Object{
				covering("b", "1"), ownedPod("p", "apps/v1", "StatefulSet", "s"),
				&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s", UID: "uid-s"}},
			}
		},
		Run: func(t *testing.T, given []runtime.Object) (upstream, ours string) {
			reallyCrash, handlers := utilruntime.ReallyCrash, utilruntime.PanicHandlers
			defer func() { utilruntime.ReallyCrash, utilruntime.PanicHandlers = reallyCrash, handlers }()
			utilruntime.ReallyCrash = false
			utilruntime.PanicHandlers = []func(context.Context, any){func(_ context.Context, r any) { upstream = fmt.Sprint("panic: ", r) }}
			_, ours = bothBudgets(t, given)
			return upstream, ours
		},
		Upstream: `panic: runtime error: invalid memory address or nil pointer dereference`,
		Ours:     statusWritten("b", 1, `"currentHealthy":1,"desiredHealthy":0,"disruptionsAllowed":1,"expectedPods":1,"observedGeneration":1`, "SufficientPods", ""),
	},
	{
		ID:    "D-13",
		Title: "maxUnavailable is 0 and the scale is unknown",
		Harm: "The status says SyncFailed and its counts are not updated, and every pass records a Warning, " +
			"although the result would be 0 in any case",
		Since: "v1.7",
		Why: "With maxUnavailable 0 no pod that a controller wants may be disrupted. The controller reads the " +
			"scale, since pods beyond that may be. If it is not available, as for a mirror pod, which a Node controls, the budget " +
			"fails with an event on every pass. By default, purekube uses the number of pods instead.",
		Setting: "The scale of the Node n is not available: \"the scale is out of reach\".",
		Given: func() []runtime.Object {
			return []runtime.Object{covering("b", "0"), ownedPod("p", "v1", "Node", "n")}
		},
		Run: bothBudgets,
		Upstream: statusWritten("b", 0, `"currentHealthy":0,"desiredHealthy":0,"disruptionsAllowed":0,"expectedPods":0`, "SyncFailed", "the scale is out of reach") +
			"\nevent Warning CalculateExpectedPodCountFailed on PodDisruptionBudget ns/b: Failed to calculate the number of expected pods: the scale is out of reach",
		Ours: statusWritten("b", 0, `"currentHealthy":1,"desiredHealthy":1,"disruptionsAllowed":0,"expectedPods":1,"observedGeneration":1`, "InsufficientPods", ""),
	},
	{
		ID:    "D-14",
		Title: "an evicted pod is recreated under its name",
		Harm: "A healthy pod of a StatefulSet is not counted for up to two minutes, so evictions are rejected and " +
			"drains take longer",
		Since: "v1.5",
		Why: "The eviction handler records a pod by its name. When a StatefulSet has recreated the pod, the " +
			"controller mistakes the new pod for the evicted one and does not count it as healthy for up to two " +
			"minutes. By default, purekube sees that the entry is older than the pod and removes the entry.",
		Setting: "The pod s-0 was evicted at 23:59:00 and recreated at 23:59:30.",
		Given: func() []runtime.Object {
			b := covering("b", "1")
			b.Status.DisruptedPods = map[string]metav1.Time{"s-0": before(time.Minute)}
			p := ownedPod("s-0", "apps/v1", "StatefulSet", "s")
			p.CreationTimestamp = before(30 * time.Second)
			return []runtime.Object{b, p, threeReplicas()}
		},
		Run: bothBudgets,
		Upstream: statusWritten("b", 1, `"currentHealthy":0,"desiredHealthy":2,"disruptedPods":{"s-0":"1999-12-31T23:59:00Z"},"disruptionsAllowed":0,"expectedPods":3,"observedGeneration":1`,
			"InsufficientPods", ""),
		Ours: statusWritten("b", 1, `"currentHealthy":1,"desiredHealthy":2,"disruptionsAllowed":0,"expectedPods":3,"observedGeneration":1`, "InsufficientPods", ""),
	},
	{
		ID:    "D-15",
		Title: "the event NotDeleted names the wrong object",
		Harm:  "The event NotDeleted shows the namespace of the PodDisruptionBudget instead of its name",
		Since: "v1.5",
		Why: "The controller prints the namespace of the budget twice. By default, purekube prints its namespace " +
			"and its name.",
		Given: func() []runtime.Object {
			b := covering("b", "1")
			b.Status.DisruptedPods = map[string]metav1.Time{"s-0": before(3 * time.Minute)}
			return []runtime.Object{b, ownedPod("s-0", "apps/v1", "StatefulSet", "s"), threeReplicas()}
		},
		Run: func(t *testing.T, given []runtime.Object) (upstream, ours string) {
			upstream, ours = bothBudgets(t, given)
			_, upstream, _ = strings.Cut(upstream, "\n")
			_, ours, _ = strings.Cut(ours, "\n")
			return upstream, ours
		},
		Upstream: `event Warning NotDeleted on Pod ns/s-0: Pod was expected by PDB ns/ns to be deleted but it wasn't`,
		Ours:     `event Warning NotDeleted on Pod ns/s-0: Pod was expected by PDB ns/b to be deleted but it wasn't`,
	},
	{
		ID:    "D-18",
		Title: "the status shows the failure already",
		Harm:  "Every pass over a budget that fails sends a request that changes nothing",
		Since: "at least v1.4",
		Why: "The controller writes the fail-safe status on every pass, even if the status is already like that. " +
			"By default, purekube writes it once; the event and the error are returned each time.",
		Given: func() []runtime.Object {
			b := covering("b", "many")
			b.Status.Conditions = []metav1.Condition{{
				Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.SyncFailedReason,
				Message: "invalid value for IntOrString: invalid type: string is not a percentage", LastTransitionTime: metav1.NewTime(Epoch),
			}}
			return []runtime.Object{b, ownedPod("s-0", "apps/v1", "StatefulSet", "s"), threeReplicas()}
		},
		Run: bothBudgets,
		Upstream: statusWritten("b", "many", `"currentHealthy":0,"desiredHealthy":0,"disruptionsAllowed":0,"expectedPods":0`, "SyncFailed",
			"invalid value for IntOrString: invalid type: string is not a percentage") + "\n" + notAPercentage,
		Ours: notAPercentage + "\nerror for ns/b",
	},
	{
		ID:    "D-19",
		Title: "an entry of disruptedPods that is exactly two minutes old",
		Harm:  "An entry without effect stays in status.disruptedPods, and the controller makes another pass at once",
		Since: "v1.5",
		Why: "The controller keeps the entry, counts its pod as healthy nevertheless, and makes another pass at " +
			"once. By default, the entry has expired in every respect, so RecheckAt is always later than Now.",
		Setting: "The pod s-0 was evicted at 23:58:00.",
		Given: func() []runtime.Object {
			b := covering("b", "1")
			b.Status.DisruptedPods = map[string]metav1.Time{"s-0": before(2 * time.Minute)}
			return []runtime.Object{b, ownedPod("s-0", "apps/v1", "StatefulSet", "s"), threeReplicas()}
		},
		Run: bothBudgets,
		Upstream: statusWritten("b", 1, `"currentHealthy":1,"desiredHealthy":2,"disruptedPods":{"s-0":"1999-12-31T23:58:00Z"},"disruptionsAllowed":0,"expectedPods":3,"observedGeneration":1`,
			"InsufficientPods", ""),
		Ours: statusWritten("b", 1, `"currentHealthy":1,"desiredHealthy":2,"disruptionsAllowed":0,"expectedPods":3,"observedGeneration":1`, "InsufficientPods", "") +
			"\nevent Warning NotDeleted on Pod ns/s-0: Pod was expected by PDB ns/b to be deleted but it wasn't",
	},
	{
		ID:    "D-22",
		Title: "the cache does not have a Deployment",
		Harm: "During a rollout, status.disruptionsAllowed is too high, and more pods are evicted than the budget " +
			"allows",
		Since: "v1.15",
		Why: "During a rollout a ReplicaSet has fewer replicas than its Deployment. When the cache lacks the " +
			"Deployment, the controller uses the scale of the ReplicaSet and allows one disruption too many. By " +
			"default, purekube asks for the scale of the Deployment.",
		Setting: "The scale of the ReplicaSet rs is 3, and the scale of the Deployment d is 4.",
		Given: func() []runtime.Object {
			return []runtime.Object{covering("b", "1"), ownedPod("p-0", "apps/v1", "ReplicaSet", "rs"), ownedPod("p-1", "apps/v1", "ReplicaSet", "rs"),
				ownedPod("p-2", "apps/v1", "ReplicaSet", "rs"), rollingOut()}
		},
		Run: bothBudgets,
		Upstream: statusWritten("b", 1, `"currentHealthy":3,"desiredHealthy":2,"disruptionsAllowed":1,"expectedPods":3,"observedGeneration":1`,
			"SufficientPods", ""),
		Ours: statusWritten("b", 1, `"currentHealthy":3,"desiredHealthy":3,"disruptionsAllowed":0,"expectedPods":4,"observedGeneration":1`, "InsufficientPods", ""),
	},
	{
		ID:    "D-23",
		Title: "the sum of replicas needs more than 32 bits",
		Harm: "status.disruptionsAllowed is too high. It takes workloads with more than 2,147,483,647 replicas in " +
			"total",
		Since: "at least v1.4",
		Why: "The controller adds scales in 32 bits: the sum of 2147483647, 2147483647 and 4 is 2. With " +
			"maxUnavailable 1, two of three pods may then be evicted. By default, the sum stays at the largest " +
			"32-bit number.",
		Given: func() []runtime.Object {
			var objects []runtime.Object
			for i, replicas := range []int32{1<<31 - 1, 1<<31 - 1, 4} {
				name := fmt.Sprint("s", i)
				set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name)}}
				set.Spec.Replicas = ptr.To(replicas)
				objects = append(objects, set, ownedPod("p-"+name, "apps/v1", "StatefulSet", name))
			}
			return append(objects, covering("b", "1"))
		},
		Run: bothBudgets,
		Upstream: statusWritten("b", 1, `"currentHealthy":3,"desiredHealthy":1,"disruptionsAllowed":2,"expectedPods":2,"observedGeneration":1`,
			"SufficientPods", ""),
		Ours: statusWritten("b", 1, `"currentHealthy":3,"desiredHealthy":2147483647,"disruptionsAllowed":0,"expectedPods":2147483647,"observedGeneration":1`, "InsufficientPods", ""),
	},
	{
		ID:    "D-24",
		Title: "an evicted pod is recreated, and clocks differ",
		Harm:  "A healthy pod is not counted for up to two minutes (see D-14)",
		Since: "v1.5",
		Why: "By default, purekube removes an entry that is older than the pod of its name (D-14), but only if the " +
			"pod was not created later than Now. If the pod was created later, the clocks differ and the order of " +
			"the two is unknown: the entry may be one that an eviction has just written, so purekube keeps it. " +
			"The controller keeps both entries.",
		Setting: "The pods s-0 and s-1 were evicted at 23:59:00. s-0 was recreated at 23:59:30 and s-1 at 00:00:30.",
		Given: func() []runtime.Object {
			b := covering("b", "1")
			b.Status.DisruptedPods = map[string]metav1.Time{"s-0": before(time.Minute), "s-1": before(time.Minute)}
			past, future := ownedPod("s-0", "apps/v1", "StatefulSet", "s"), ownedPod("s-1", "apps/v1", "StatefulSet", "s")
			past.CreationTimestamp, future.CreationTimestamp = before(30*time.Second), before(-30*time.Second)
			return []runtime.Object{b, past, future, threeReplicas()}
		},
		Run: bothBudgets,
		Upstream: statusWritten("b", 1, `"currentHealthy":0,"desiredHealthy":2,"disruptedPods":{"s-0":"1999-12-31T23:59:00Z","s-1":"1999-12-31T23:59:00Z"},"disruptionsAllowed":0,`+
			`"expectedPods":3,"observedGeneration":1`, "InsufficientPods", ""),
		Ours: statusWritten("b", 1, `"currentHealthy":1,"desiredHealthy":2,"disruptedPods":{"s-1":"1999-12-31T23:59:00Z"},"disruptionsAllowed":0,"expectedPods":3,"observedGeneration":1`,
			"InsufficientPods", ""),
	},
	{
		ID:    "D-29",
		Title: "events while nothing changes",
		Harm:  "The same events are recorded again on every pass, although nothing has changed",
		Since: "v1.5 (UnmanagedPods: v1.27)",
		Why: "The controller records NoPods and UnmanagedPods on every pass, and MultiplePodDisruptionBudgets at " +
			"every event of a pod. By default, an event comes with the write that it explains. No write belongs " +
			"to MultiplePodDisruptionBudgets; Explain and CheckEviction report it instead.",
		Setting: "The status of each budget is up to date. a selects no pod; b and c select the pod p, which has no " +
			"controller.",
		Given: func() []runtime.Object {
			empty := covering("a", "1")
			empty.Spec.Selector.MatchLabels["app"] = "x"
			pod := ownedPod("p", "v1", "Node", "n")
			pod.OwnerReferences = nil
			objects := []runtime.Object{empty, covering("b", "1"), covering("c", "1"), pod}
			s := budgetsOf(objects)
			settleBudgets(s)
			return []runtime.Object{s.Budgets[0], s.Budgets[1], s.Budgets[2], pod}
		},
		Run: func(t *testing.T, given []runtime.Object) (upstream, ours string) {
			upstream, ours = bothBudgets(t, given)
			// It means it.
			return strings.Replace(upstream, `Chose "c" arbitrarily`, `Chose "b" arbitrarily`, 1), ours
		},
		Upstream: "event Normal NoPods on PodDisruptionBudget ns/a: No matching pods found\n" +
			`event Warning MultiplePodDisruptionBudgets on Pod ns/p: Pod "ns"/"p" matches multiple PodDisruptionBudgets.  Chose "b" arbitrarily.` + "\n" +
			"event Warning UnmanagedPods on PodDisruptionBudget ns/b: " + unmanagedPods + "\n" +
			"event Warning UnmanagedPods on PodDisruptionBudget ns/c: " + unmanagedPods,
		Ours: "nothing",
	},
	{
		ID:    "D-39",
		Title: "pods name two controllers by one UID",
		Harm: "A random order decides whether status.disruptionsAllowed is too high. It takes a pod " +
			"with a made-up owner reference",
		Since: "at least v1.36",
		Why: "The controller adds up controllers by UID alone. The API server gives no UID twice, but whoever creates a " +
			"pod may name any UID. Of two owner references with one UID, the controller looks up only the reference " +
			"of the pod that it visits first, in the random order of its cache. If the other reference is to another " +
			"object, the replicas of that object are missing from the sum. If there is no such object, the controller " +
			"does not notice the pod. By default, kind, name and UID tell controllers apart, and every reference is " +
			"looked up. Where the snapshot has a Deployment and an answer about its scale, the larger number counts.",
		Setting: "The StatefulSets s and t have the same UID and 3 replicas each.",
		Given: func() []runtime.Object {
			twin := threeReplicas()
			twin.Name = "t"
			pod := ownedPod("t-0", "apps/v1", "StatefulSet", "t")
			pod.OwnerReferences[0].UID = twin.UID
			return []runtime.Object{covering("b", "2"), ownedPod("s-0", "apps/v1", "StatefulSet", "s"), pod, threeReplicas(), twin}
		},
		Run: bothBudgets,
		Upstream: statusWritten("b", 2, `"currentHealthy":2,"desiredHealthy":1,"disruptionsAllowed":1,"expectedPods":3,"observedGeneration":1`,
			"SufficientPods", ""),
		Ours: statusWritten("b", 2, `"currentHealthy":2,"desiredHealthy":4,"disruptionsAllowed":0,"expectedPods":6,"observedGeneration":1`, "InsufficientPods", ""),
	},
}

const unmanagedPods = "Pods selected by this PodDisruptionBudget (selector: &LabelSelector{MatchLabels:map[string]string{app: a,},MatchExpressions:[]LabelSelectorRequirement{},}) " +
	"were found to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. " +
	"To account for these pods please set \".spec.minAvailable\" field of the PDB to an integer value."

const notAPercentage = "event Warning CalculateExpectedPodCountFailed on PodDisruptionBudget ns/b: Failed to calculate the number of expected pods: " +
	"invalid value for IntOrString: invalid type: string is not a percentage"

// statusWritten is the update of a budget that covering made, with these figures and this condition.
func statusWritten(name string, maxUnavailable any, figures, reason, message string) string {
	value := fmt.Sprint(maxUnavailable)
	if _, isText := maxUnavailable.(string); isText {
		value = fmt.Sprintf("%q", maxUnavailable)
	}
	observed := `"observedGeneration":1,`
	if reason == policyv1.SyncFailedReason {
		observed = ""
	}
	status := "False"
	if reason == policyv1.SufficientPodsReason {
		status = "True"
	}
	return fmt.Sprintf(`update poddisruptionbudgets/status ns/%s: {"metadata":{"generation":1,"name":%q,"namespace":"ns","resourceVersion":"1","uid":"uid-%s"},`+
		`"spec":{"maxUnavailable":%s,"selector":{"matchLabels":{"app":"a"}}},"status":{"conditions":[{"lastTransitionTime":"2000-01-01T00:00:00Z","message":%q,`+
		`%s"reason":%q,"status":%q,"type":"DisruptionAllowed"}],%s}}`, name, name, name, value, message, observed, reason, status, figures)
}

func before(d time.Duration) metav1.Time { return metav1.NewTime(Epoch.Add(-d)) }

func threeReplicas() *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s", UID: "uid-s"},
		Spec:       appsv1.StatefulSetSpec{Replicas: ptr.To(int32(3))},
	}
}

// rollingOut is a ReplicaSet of the Deployment d.
func rollingOut() *appsv1.ReplicaSet {
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "rs", UID: "uid-rs"}}
	rs.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "d", UID: "uid-d", Controller: ptr.To(true)}}
	rs.Spec.Replicas = ptr.To(int32(3))
	return rs
}

// bothBudgets tells events with their messages.
func bothBudgets(t *testing.T, given []runtime.Object) (upstream, ours string) {
	s := budgetsOf(given)
	outcomes := planAll(s, disruption.Options{})
	trace := budgetTrace(s, outcomes)
	for _, o := range outcomes {
		if o.Err != nil {
			trace.Failed = append(trace.Failed, o.Key.Namespace+"/"+o.Key.Name)
		}
	}
	real := disruptionCore.RunUpstream(t, s)
	return withMessages(t, real), withMessages(t, trace)
}

func withMessages(t *testing.T, trace Trace) string {
	var lines []string
	for _, line := range trace.Lines() {
		for _, e := range trace.Events {
			if e.String() == line {
				require.NotEmpty(t, e.Message)
				line += ": " + e.Message
				break
			}
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return "nothing"
	}
	return strings.Join(lines, "\n")
}

func budgetsOf(objects []runtime.Object) disruption.Snapshot {
	s := disruption.Snapshot{Now: Epoch, Answers: map[purekube.Need]purekube.Answer{
		scaleNeed("", "Node", "ns", "n"):            {Err: errors.New("the scale is out of reach")},
		scaleNeed("apps", "ReplicaSet", "ns", "rs"): scaleAnswer("uid-rs", 3),
		scaleNeed("apps", "Deployment", "ns", "d"):  scaleAnswer("uid-d", 4)}}
	for _, o := range objects {
		switch o := o.(type) {
		case *policyv1.PodDisruptionBudget:
			s.Budgets = append(s.Budgets, o)
		case *corev1.Pod:
			s.Pods = append(s.Pods, o)
		case *appsv1.StatefulSet:
			s.StatefulSets = append(s.StatefulSets, o)
		case *appsv1.Deployment:
			s.Deployments = append(s.Deployments, o)
		case *appsv1.ReplicaSet:
			s.ReplicaSets = append(s.ReplicaSets, o)
		}
	}
	return s
}
