package purekube_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/purekube/purekube"
)

var errRefused = errors.New("refused")

// step is an action that says what was done before it.
type step struct {
	name      string
	proceed   bool  // whether the actions behind it are right if it fails
	err       error // Request.Err
	eventless bool
	before    *[][]runtime.Object
}

func (s step) String() string { return s.name }

func (step) Type() string { return "step" }

func (s step) Request(done []runtime.Object) purekube.Request {
	*s.before = append(*s.before, append([]runtime.Object(nil), done...))
	return purekube.Request{Name: s.name, ContinueOnError: s.proceed, Err: s.err}
}

func (s step) FailureEvent(err error) (purekube.Event, bool) {
	return purekube.Event{Reason: s.name, Message: err.Error()}, !s.eventless
}

func TestCarryOut(t *testing.T) {
	pod := func(name string) runtime.Object {
		p := &corev1.Pod{}
		p.Name = name
		return p
	}
	for _, tc := range []struct {
		name, reason string
		steps        []step
		refused      map[string]bool
		done         []runtime.Object
		before       [][]runtime.Object
		events       []string
		errors       []string
	}{
		{name: "nothing", reason: "a plan without actions makes no call", done: []runtime.Object{}},
		{
			name: "all", reason: "each request knows the answers before it",
			steps: []step{{name: "a"}, {name: "b"}}, done: []runtime.Object{pod("a"), pod("b")},
			before: [][]runtime.Object{nil, {pod("a")}},
		},
		{
			name: "stop", reason: "without ContinueOnError nothing is sent behind a call that failed",
			steps: []step{{name: "a"}, {name: "b"}}, refused: map[string]bool{"a": true},
			done: []runtime.Object{nil}, before: [][]runtime.Object{nil}, events: []string{"a"}, errors: []string{"a: refused"},
		},
		{
			name: "go on", reason: "the request behind it sees nil, although do returned an object",
			steps: []step{{name: "a", proceed: true}, {name: "b"}}, refused: map[string]bool{"a": true},
			done: []runtime.Object{nil, pod("b")}, before: [][]runtime.Object{nil, {nil}}, events: []string{"a"}, errors: []string{"a: refused"},
		},
		{
			name: "both fail", reason: "all errors are returned",
			steps: []step{{name: "a", proceed: true}, {name: "b", eventless: true}}, refused: map[string]bool{"a": true, "b": true},
			done: []runtime.Object{nil, nil}, before: [][]runtime.Object{nil, {nil}}, events: []string{"a"}, errors: []string{"a: refused", "b: refused"},
		},
		{
			name: "a request with an error", reason: "the call is made all the same, and those behind it",
			steps: []step{{name: "a", err: errors.New("no name")}, {name: "b"}}, done: []runtime.Object{pod("a"), pod("b")},
			before: [][]runtime.Object{nil, {pod("a")}}, errors: []string{"a: no name"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var before [][]runtime.Object
			for i := range tc.steps {
				tc.steps[i].before = &before
			}
			do := func(r purekube.Request) (runtime.Object, error) {
				if tc.refused[r.Name] {
					return pod("not to be used"), errRefused
				}
				return pod(r.Name), nil
			}
			var events []string
			done, err := purekube.CarryOut(tc.steps, do, func(e purekube.Event) { events = append(events, e.Reason) })
			require.Equal(t, tc.done, done, tc.reason)
			require.Equal(t, tc.before, before, tc.reason)
			require.Equal(t, tc.events, events, tc.reason)
			if tc.errors == nil {
				require.NoError(t, err, tc.reason)
			}
			for _, text := range tc.errors {
				require.ErrorContains(t, err, text, tc.reason)
			}
			if tc.refused != nil {
				require.ErrorIs(t, err, errRefused)
			}
			before = nil
			again, _ := purekube.CarryOut(tc.steps, do, nil)
			require.Equal(t, tc.done, again, "a caller without a recorder loses events only")
		})
	}
}
