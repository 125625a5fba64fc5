package disruption

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

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
	want := update.Budget.DeepCopy()
	want.APIVersion, want.Kind = "policy/v1", "PodDisruptionBudget"
	for _, done := range [][]runtime.Object{nil, {nil}, {pod("a"), nil}} {
		require.Empty(t, cmp.Diff(purekube.Request{
			Verb: "update", Resource: schema.GroupVersionResource{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"},
			Kind: "PodDisruptionBudget", Subresource: "status", Namespace: ns, Name: "web", Object: want,
		}, update.Request(done)), "with the resourceVersion of the plan")
	}
	require.Empty(t, update.Budget.Kind, "the action stays as it is")

	r, err = Plan(s, podNamed("a"), Options{})
	require.NoError(t, err)
	clear := r.Actions[0].(ClearDisruptionTarget)
	wantPod := clear.Pod.DeepCopy()
	wantPod.APIVersion, wantPod.Kind = "v1", "Pod"
	require.Empty(t, cmp.Diff(purekube.Request{
		Verb: "update", Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"},
		Kind: "Pod", Subresource: "status", Namespace: ns, Name: "a", Object: wantPod,
	}, clear.Request(nil)), "with the resourceVersion of the plan")

	for _, zero := range []Action{UpdateStatus{}, ClearDisruptionTarget{}} {
		request := zero.Request(nil)
		require.Equal(t, "update", request.Verb)
		require.Equal(t, "status", request.Subresource)
		require.Empty(t, request.Name, "which an API server refuses")
		require.NotNil(t, request.Object)
	}
}
