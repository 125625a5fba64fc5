package parity

import (
	"context"
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
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/purekube/purekube/disruption"
)

var disruptionDivergences = []divergence{
	{
		ID:    "D-12",
		Title: "a workload without replicas",
		Why: "The API server fills spec.replicas in, but objects come from elsewhere, too: manifests, fixtures, other API servers. Upstream " +
			"panics, for this budget on every pass. Both modes take the API's default, 1.",
		Given: func() []runtime.Object {
			return []runtime.Object{
				guarding("b", "1"), ownedPod("p", "apps/v1", "StatefulSet", "s"),
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
		Title: "nothing may be unavailable, and nobody knows the scale",
		Why: "With maxUnavailable 0 the answer is 0 whatever the scale is. Upstream asks for it all the same, and where it cannot be had (here: a mirror pod, " +
			"which a Node controls) makes the budget fail, with an event on every pass. In the default the number of pods stands in.",
		Setting: "The scale of the Node n cannot be had: \"the scale is out of reach\".",
		Given: func() []runtime.Object {
			return []runtime.Object{guarding("b", "0"), ownedPod("p", "v1", "Node", "n")}
		},
		Run: bothBudgets,
		Upstream: statusWritten("b", 0, `"currentHealthy":0,"desiredHealthy":0,"disruptionsAllowed":0,"expectedPods":0`, "SyncFailed", "the scale is out of reach") +
			"\nevent Warning CalculateExpectedPodCountFailed on PodDisruptionBudget ns/b: Failed to calculate the number of expected pods: the scale is out of reach",
		Ours: statusWritten("b", 0, `"currentHealthy":1,"desiredHealthy":1,"disruptionsAllowed":0,"expectedPods":1,"observedGeneration":1`, "InsufficientPods", ""),
	},
	{
		ID:    "D-14",
		Title: "the entry of a pod that is gone, and a new pod of its name",
		Why: "The eviction handler notes a pod by its name. When a StatefulSet has made the pod anew, upstream takes the new one for the one that was evicted, and " +
			"does not count it for up to two minutes. The default sees that the entry is older than the pod, and drops it.",
		Setting: "The pod s-0 was evicted at 23:59:00 and created anew at 23:59:30.",
		Given: func() []runtime.Object {
			b := guarding("b", "1")
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
		Title: "the event names the budget",
		Why:   "Upstream prints the budget's namespace where its name belongs.",
		Given: func() []runtime.Object {
			b := guarding("b", "1")
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
		Title: "a failure that is written down already",
		Why: "Upstream writes the fail-safe status on every pass, whether it says so already or not. The default writes it once; the event and the " +
			"error come each time.",
		Given: func() []runtime.Object {
			b := guarding("b", "many")
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
		Title: "an entry that is exactly two minutes old",
		Why: "Upstream keeps the entry, counts its pod as healthy all the same, and looks again at once. In the default the two minutes are over in every " +
			"respect, so that there is always something to wait for when it says when to look again.",
		Setting: "The pod s-0 was evicted at 23:58:00.",
		Given: func() []runtime.Object {
			b := guarding("b", "1")
			b.Status.DisruptedPods = map[string]metav1.Time{"s-0": before(2 * time.Minute)}
			return []runtime.Object{b, ownedPod("s-0", "apps/v1", "StatefulSet", "s"), threeReplicas()}
		},
		Run: bothBudgets,
		Upstream: statusWritten("b", 1, `"currentHealthy":1,"desiredHealthy":2,"disruptedPods":{"s-0":"1999-12-31T23:58:00Z"},"disruptionsAllowed":0,"expectedPods":3,"observedGeneration":1`,
			"InsufficientPods", ""),
		Ours: statusWritten("b", 1, `"currentHealthy":1,"desiredHealthy":2,"disruptionsAllowed":0,"expectedPods":3,"observedGeneration":1`, "InsufficientPods", "") +
			"\nevent Warning NotDeleted on Pod ns/s-0: Pod was expected by PDB ns/b to be deleted but it wasn't",
	},
}

const notAPercentage = "event Warning CalculateExpectedPodCountFailed on PodDisruptionBudget ns/b: Failed to calculate the number of expected pods: " +
	"invalid value for IntOrString: invalid type: string is not a percentage"

// statusWritten is the update of a budget that guarding made, with these figures and this condition.
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
		Spec:       appsv1.StatefulSetSpec{Replicas: new(int32(3))},
	}
}

// bothBudgets tells events with their messages.
func bothBudgets(t *testing.T, given []runtime.Object) (upstream, ours string) {
	s := budgetsOf(given)
	outcomes := planAll(s, disruption.Options{})
	trace := budgetTrace(outcomes)
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
	return strings.Join(lines, "\n")
}

func budgetsOf(objects []runtime.Object) disruption.Snapshot {
	s := disruption.Snapshot{Now: Epoch, Scales: map[disruption.ScaleKey]disruption.Scale{
		{Kind: "Node", Namespace: "ns", Name: "n"}: {Err: "the scale is out of reach"}}}
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
