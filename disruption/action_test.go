package disruption

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/purekube/purekube"
)

func TestActions(t *testing.T) {
	s := web(budget(maxUnavailable("1")), 2, pods(2, 2, byWeb)...)
	r, err := Plan(s, key("web"), Options{})
	require.NoError(t, err)
	update := r.Actions[0].(UpdateStatus)
	require.Equal(t, "UpdateStatus shop/web: 1 allowed, 2 healthy, 1 desired, 2 expected", update.String())

	latest := budget(maxUnavailable("2"))
	latest.ResourceVersion = "9"
	got := update.Apply(latest)
	require.Equal(t, update.Budget.Status, got.Status)
	require.Equal(t, value("2"), got.Spec.MaxUnavailable, "a status update leaves the spec alone")
	require.Equal(t, "7", got.ResourceVersion, "so that the API server notices what was written since")
	require.Equal(t, "9", latest.ResourceVersion, "latest is not written to")
	got.Status.Conditions[0].Reason = "x"
	require.NotEqual(t, "x", update.Budget.Status.Conditions[0].Reason, "a copy")
	require.Nil(t, update.Apply(nil))
	require.Equal(t, latest, UpdateStatus{}.Apply(latest))

	broken := web(budget(maxUnavailable("x%")), 2)
	r, err = Plan(broken, key("web"), Options{})
	require.Error(t, err)
	require.Contains(t, r.Actions[0].(UpdateStatus).String(), "UpdateStatus shop/web: 0 allowed, sync failed: invalid value")
	require.Equal(t, "UpdateStatus", UpdateStatus{}.String())
	require.Equal(t, "ClearDisruptionTarget", ClearDisruptionTarget{}.String())
	require.Nil(t, ClearDisruptionTarget{}.Apply(nil))
	require.Equal(t, pod("p"), ClearDisruptionTarget{}.Apply(pod("p")), "the zero action changes nothing")
	require.Nil(t, ClearDisruptionTarget{Pod: pod("p")}.Apply(nil))
	require.Equal(t, pod("p"), ClearDisruptionTarget{Pod: pod("p")}.Apply(pod("p")), "without the condition there is none to set")

	var problem *purekube.ObjectError
	require.ErrorAs(t, err, &problem)
}

func TestRequest(t *testing.T) {
	s := web(budget(maxUnavailable("1")), 2, pod("a", byWeb, target("True", "x", time.Hour)), pod("b", byWeb))
	r, err := Plan(s, key("web"), Options{})
	require.NoError(t, err)
	update := r.Actions[0].(UpdateStatus)
	for _, done := range [][]runtime.Object{nil, {nil}, {pod("a"), nil}} {
		require.Empty(t, cmp.Diff(purekube.Request{
			Verb: "patch", Resource: schema.GroupVersionResource{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"},
			Kind: "PodDisruptionBudget", Subresource: "status", Namespace: ns, Name: "web", PatchType: types.StrategicMergePatchType,
			Patch: []byte(`{"metadata":{"resourceVersion":"7","uid":"uid-web"},"status":{` +
				`"conditions":[{"lastTransitionTime":"2026-11-21T12:00:00Z","message":"","observedGeneration":1,"reason":"SufficientPods","status":"True","type":"DisruptionAllowed"}],` +
				`"currentHealthy":2,"desiredHealthy":1,"disruptedPods":{"$patch":"replace"},"disruptionsAllowed":1,"expectedPods":2,"observedGeneration":1}}`),
		}, update.Request(done)), "with the resourceVersion of the plan")
	}
	require.Empty(t, update.Budget.Kind, "the action stays as it is")

	r, err = Plan(s, podNamed("a"), Options{})
	require.NoError(t, err)
	clear := r.Actions[0].(ClearDisruptionTarget)
	require.Empty(t, cmp.Diff(purekube.Request{
		Verb: "patch", Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"},
		Kind: "Pod", Subresource: "status", Namespace: ns, Name: "a", PatchType: types.StrategicMergePatchType,
		Patch: []byte(`{"metadata":{"resourceVersion":"7","uid":"uid-a"},"status":{"conditions":[{"lastProbeTime":null,` +
			`"lastTransitionTime":"2026-11-21T12:00:00Z","message":null,"observedGeneration":1,"reason":null,"status":"False","type":"DisruptionTarget"}]}}`),
	}, clear.Request(nil)), "with the resourceVersion of the plan")

	for _, zero := range []Action{UpdateStatus{}, ClearDisruptionTarget{}} {
		request := zero.Request(nil)
		require.Equal(t, "patch", request.Verb)
		require.Equal(t, "status", request.Subresource)
		require.Empty(t, request.Name, "which an API server refuses")
	}
}

// A patch leaves what its plan did not mean to change, also the fields that the types of this build lack.
func TestPatchesChangeWhatApplyChanges(t *testing.T) {
	read := budget(maxUnavailable("1"))
	read.Status.DisruptedPods = map[string]metav1.Time{"a": metav1.NewTime(now.Add(-time.Minute)), "gone": metav1.NewTime(now.Add(-time.Hour))}
	read.Status.Conditions = []metav1.Condition{{Type: "Mine", Status: metav1.ConditionTrue, Reason: "Mine", LastTransitionTime: metav1.NewTime(now)}}
	stale := pod("a", byWeb, target("True", "EvictionByEvictionAPI", time.Hour))
	stale.Status.Conditions = append(stale.Status.Conditions, corev1.PodCondition{Type: "Mine", Status: corev1.ConditionTrue})
	s := web(read, 2, stale, pod("b", byWeb))

	r, err := Plan(s, key("web"), Options{})
	require.NoError(t, err)
	update := r.Actions[0].(UpdateStatus)
	require.Len(t, update.Budget.Status.DisruptedPods, 1, "an entry goes")
	var got policyv1.PodDisruptionBudget
	document := patched(t, read, update, &got)
	byType := cmpopts.SortSlices(func(a, b metav1.Condition) bool { return a.Type < b.Type }) // the API has no order of them
	require.Empty(t, cmp.Diff(update.Apply(read), &got, cmpopts.EquateEmpty(), byType))
	require.Equal(t, 2, strings.Count(document, "unheardOf"), document)

	r, err = Plan(s, podNamed("a"), Options{})
	require.NoError(t, err)
	clear := r.Actions[0].(ClearDisruptionTarget)
	var after corev1.Pod
	document = patched(t, stale, clear, &after)
	require.Empty(t, cmp.Diff(clear.Apply(stale), &after, cmpopts.EquateEmpty()))
	require.Equal(t, 2, strings.Count(document, "unheardOf"), document)
}

// patched decodes the object after the action's patch. Its document has a field in spec and one in status that its type lacks.
func patched(t *testing.T, object any, a Action, after any) (document string) {
	t.Helper()
	body, err := json.Marshal(object)
	require.NoError(t, err)
	var fields map[string]any
	require.NoError(t, json.Unmarshal(body, &fields))
	for _, of := range []string{"spec", "status"} {
		fields[of].(map[string]any)["unheardOf"] = true
	}
	body, err = json.Marshal(fields)
	require.NoError(t, err)
	body, err = strategicpatch.StrategicMergePatch(body, a.Request(nil).Patch, object)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(body, after))
	return string(body)
}
