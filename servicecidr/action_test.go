package servicecidr_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/servicecidr"
)

func TestPatch(t *testing.T) {
	at := time.Date(2026, 11, 21, 2, 11, 30, 5, time.FixedZone("", 3600))
	for _, tc := range []struct {
		name, reason string
		action       servicecidr.Action
		kind         types.PatchType
		body         string
	}{
		{"BR-31-01 add", "upstream's bytes, with or without a UID", servicecidr.AddFinalizer{Name: "x", UID: "u"}, types.StrategicMergePatchType,
			`{"metadata":{"finalizers":["networking.k8s.io/service-cidr-finalizer"]}}`},
		{"remove as upstream", "no UID, upstream's bytes", servicecidr.RemoveFinalizer{Name: "x"}, types.StrategicMergePatchType,
			`{"metadata":{"$deleteFromPrimitiveList/finalizers":["networking.k8s.io/service-cidr-finalizer"]}}`},
		{"D-3 remove", "the UID is a precondition", servicecidr.RemoveFinalizer{Name: "x", UID: "u"}, types.StrategicMergePatchType,
			`{"metadata":{"$deleteFromPrimitiveList/finalizers":["networking.k8s.io/service-cidr-finalizer"],"uid":"u"}}`},
		{"D-26 Ready", "an empty reason is sent, to take an earlier one back; the time is UTC; the UID is a precondition", servicecidr.SetCondition{Name: "x", UID: "u", Condition: ready(at)}, types.ApplyPatchType,
			`{"kind":"ServiceCIDR","apiVersion":"networking.k8s.io/v1","metadata":{"name":"x","uid":"u"},"status":{"conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2026-11-21T01:11:30Z","reason":"","message":"Kubernetes Service CIDR is ready"}]}}`},
		{"Terminating as upstream", "all five fields, no UID", servicecidr.SetCondition{Name: "x", Condition: terminating(at)}, types.ApplyPatchType,
			`{"kind":"ServiceCIDR","apiVersion":"networking.k8s.io/v1","metadata":{"name":"x"},"status":{"conditions":[{"type":"Ready","status":"False","lastTransitionTime":"2026-11-21T01:11:30Z","reason":"Terminating","message":"There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR"}]}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := tc.action.Request(nil)
			require.Equal(t, tc.kind, r.PatchType, tc.reason)
			require.Equal(t, tc.body, string(r.Patch), tc.reason)
		})
	}
}

func TestD3_UIDs(t *testing.T) {
	s := snapshotOf(cidrs(
		cidr("new", of("10.0.0.0/24"), finalizers(), conditions()),
		cidr("gone", of("10.1.0.0/24"), deletedAt(longAgo)),
	))
	for o, want := range map[purekube.Upstream][2]types.UID{"": {uid("new"), uid("gone")}, purekube.V1_36: {"", ""}} {
		all := planAll(s, servicecidr.Options{MatchUpstream: o})
		require.Equal(t, actions{
			servicecidr.AddFinalizer{Name: "new", UID: want[0]},
			servicecidr.SetCondition{Name: "new", UID: want[0], Condition: ready(now)},
		}, outcomeOf(all, "new").Result.Actions)
		require.Equal(t, actions{servicecidr.RemoveFinalizer{Name: "gone", UID: want[1]}}, outcomeOf(all, "gone").Result.Actions)
	}
}

// A Request is the whole call: nothing depends on calls before.
func TestRequest(t *testing.T) {
	resource := schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "servicecidrs"}
	set := servicecidr.SetCondition{Name: "x", UID: "u", Condition: ready(now)}
	add, remove := servicecidr.AddFinalizer{Name: "x", UID: "u"}, servicecidr.RemoveFinalizer{Name: "x", UID: "u"}
	for _, tc := range []struct {
		name, reason string
		action       servicecidr.Action
		want         purekube.Request
	}{
		{"AddFinalizer", "the condition after it would be wrong without it: no ContinueOnError", add, purekube.Request{}},
		{"RemoveFinalizer", "the only action of its plan", remove, purekube.Request{Irreversible: true}},
		{"SetCondition", "an apply of the status", set, purekube.Request{Subresource: "status", FieldManager: "service-cidr-controller", Force: true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := tc.want
			want.Verb, want.Resource, want.Kind, want.Name = "patch", resource, "ServiceCIDR", "x"
			want.PatchType, want.Patch = tc.action.Request(nil).PatchType, tc.action.Request(nil).Patch // TestPatch has them
			for _, done := range [][]runtime.Object{nil, {nil}, {&corev1.Pod{}, nil}} {
				require.Equal(t, want, tc.action.Request(done), tc.reason)
			}
		})
	}
	for _, zero := range []servicecidr.Action{servicecidr.AddFinalizer{}, servicecidr.RemoveFinalizer{}, servicecidr.SetCondition{}} {
		require.Empty(t, zero.Request(nil).Name, "the API server refuses a patch of no name")
	}
}

// Apply does to an object what the API server makes of the patch.
func TestApply_IsWhatThePatchDoes(t *testing.T) {
	for _, have := range [][]string{nil, {servicecidr.Finalizer}, {"a", servicecidr.Finalizer, "b"}, {"a", "b"}} {
		latest := cidr("x", of("10.0.0.0/24"), finalizers(have...))
		for _, a := range []interface {
			servicecidr.Action
			Apply(*networkingv1.ServiceCIDR) *networkingv1.ServiceCIDR
		}{servicecidr.AddFinalizer{Name: "x", UID: uid("x")}, servicecidr.RemoveFinalizer{Name: "x", UID: uid("x")}, servicecidr.RemoveFinalizer{Name: "x"}} {
			before, err := json.Marshal(latest)
			require.NoError(t, err)
			after, err := strategicpatch.StrategicMergePatch(before, a.Request(nil).Patch, networkingv1.ServiceCIDR{})
			require.NoError(t, err)
			var want networkingv1.ServiceCIDR
			require.NoError(t, json.Unmarshal(after, &want))
			got := a.Apply(latest)
			require.ElementsMatch(t, want.Finalizers, got.Finalizers, "%v of %v", a, have)
			got.Finalizers, want.Finalizers = nil, nil
			got.Status, want.Status = networkingv1.ServiceCIDRStatus{}, networkingv1.ServiceCIDRStatus{} // times without a zone
			require.Equal(t, &want, got, "nothing else changes")
			require.Equal(t, have, latest.Finalizers, "the object given is left alone")
		}
	}
}

func TestApply(t *testing.T) {
	other := metav1.Condition{Type: "Other", Status: "True"}
	old := ready(longAgo)
	old.ObservedGeneration = 7
	latest := cidr("x", of("10.0.0.0/24"), conditions(other, old))
	want := terminating(now)
	want.ObservedGeneration = 7
	got := servicecidr.SetCondition{Name: "x", Condition: terminating(now)}.Apply(latest)
	require.Equal(t, []metav1.Condition{other, want}, got.Status.Conditions, "in its place; what the patch does not name stays")
	require.Equal(t, []metav1.Condition{other, old}, latest.Status.Conditions, "the object given is left alone")

	got = servicecidr.SetCondition{Name: "x", Condition: ready(now)}.Apply(cidr("x", nil, conditions(other)))
	require.Equal(t, []metav1.Condition{other, ready(now)}, got.Status.Conditions, "appended")

	another := cidr("x", nil, finalizers())
	require.Equal(t, another, servicecidr.AddFinalizer{Name: "x", UID: "another"}.Apply(another), "a new object has a plan of its own")
	require.Equal(t, []string{servicecidr.Finalizer}, servicecidr.AddFinalizer{Name: "x", UID: another.UID}.Apply(another).Finalizers)
	require.Equal(t, []string{servicecidr.Finalizer}, servicecidr.AddFinalizer{Name: "x"}.Apply(another).Finalizers, "without a UID, any object of the name")
	another = cidr("x", nil)
	require.Equal(t, another, servicecidr.RemoveFinalizer{Name: "x", UID: "another"}.Apply(another), "D-3: the patch would be refused")
	require.NotSame(t, another, servicecidr.RemoveFinalizer{Name: "x", UID: "another"}.Apply(another), "a copy all the same")
	require.Equal(t, another, servicecidr.SetCondition{Name: "x", UID: "another", Condition: terminating(now)}.Apply(another), "D-26: the patch would be refused")

	require.Nil(t, servicecidr.AddFinalizer{}.Apply(nil))
	require.Nil(t, servicecidr.RemoveFinalizer{}.Apply(nil))
	require.Nil(t, servicecidr.SetCondition{}.Apply(nil))
}

func TestString(t *testing.T) {
	for want, a := range map[string]servicecidr.Action{
		"AddFinalizer x":                          servicecidr.AddFinalizer{Name: "x"},
		"RemoveFinalizer x":                       servicecidr.RemoveFinalizer{Name: "x"},
		"SetCondition x: Ready=True":              servicecidr.SetCondition{Name: "x", Condition: ready(now)},
		"SetCondition x: Ready=False Terminating": servicecidr.SetCondition{Name: "x", Condition: terminating(now)},
	} {
		require.Equal(t, want, fmt.Sprint(a))
	}
}

func TestFailureEvent(t *testing.T) {
	refused := errors.New("refused")
	e, ok := servicecidr.SetCondition{Name: "x", UID: "u", Condition: ready(now)}.FailureEvent(refused)
	require.True(t, ok)
	require.Equal(t, "Warning", e.Type)
	require.Equal(t, "KubernetesServiceCIDRError", e.Reason)
	require.Equal(t, "The ServiceCIDR Status can not be set to Ready=True", e.Message)
	require.Equal(t, "ServiceCIDR networking.k8s.io/v1 x u", fmt.Sprintf("%s %s %s %s", e.Regarding.Kind, e.Regarding.APIVersion, e.Regarding.Name, e.Regarding.UID))
	_, ok = servicecidr.SetCondition{Name: "x", Condition: terminating(now)}.FailureEvent(refused)
	require.False(t, ok, "upstream records none for Terminating")
	_, ok = servicecidr.SetCondition{Name: "x", Condition: ready(now)}.FailureEvent(nil)
	require.False(t, ok, "nothing failed")
	_, ok = servicecidr.SetCondition{Name: "x", Condition: metav1.Condition{Type: "Other", Status: "True"}}.FailureEvent(refused)
	require.False(t, ok, "the event is about Ready")
	_, ok = servicecidr.SetCondition{}.FailureEvent(refused)
	require.False(t, ok, "the zero action sets no condition")
}
