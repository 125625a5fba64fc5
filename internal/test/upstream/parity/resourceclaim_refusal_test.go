package parity

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/resourceclaim"
)

var errQuota = errors.New("exceeded quota")

// runRefused is what the real controller does when the API server refuses some requests.
func runRefused(t *testing.T, c claimsCase, refuse func(Request) error) (upstream Trace) {
	t.Helper()
	start := func(ctx context.Context, w *World) (func(context.Context), error) {
		run, err := startClaims(c)(ctx, w)
		answer := w.Respond
		w.Respond = func(r Request) (runtime.Object, error) {
			if err := refuse(r); err != nil {
				return nil, err
			}
			return answer(r)
		}
		return run, err
	}
	Run(t, resourceclaimCore.Objects(c), start, func(_ *testing.T, w *World) { upstream = w.Settle() })
	return comparableClaims(upstream)
}

// refused is what the plans for each key in upstream's queue come to when the API server refuses
// some of their requests: those behind one that is refused are made only if it says ContinueOnError.
func (c claimsCase) refused(o resourceclaim.Options, refuse func(Request) error) Trace {
	var t Trace
	answers := c.answers()
	for _, key := range c.queue() {
		answers.begin()
		result, _, err := c.plan(key, o)
		t.Events = append(t.Events, EventsOf(result.Events)...)
		_, failed := purekube.CarryOut(result.Actions, func(r purekube.Request) (runtime.Object, error) {
			sent, answer := answers.to(r)
			t.Requests = append(t.Requests, sent)
			if err := refuse(sent); err != nil {
				return nil, err
			}
			return answer, nil
		}, func(e purekube.Event) { t.Events = append(t.Events, EventsOf([]purekube.Event{e})...) })
		if err != nil || failed != nil {
			t.Failed = append(t.Failed, queueKey(key))
		}
	}
	return comparableClaims(t)
}

// TestResourceClaimRefusals holds ContinueOnError and FailureEvent to what the real controller does when a
// request fails: which of the others it makes, and the event with its text.
func TestResourceClaimRefusals(t *testing.T) {
	pod := withEntries(claimPod("p", "uid-p"), named("shared", "shared"), templated("a", "t"), templated("b", "t"))
	pod.Spec.NodeName = "node"
	reserving := withEntries(claimPod("q", "uid-q"), named("x", "one"), named("y", "two"))
	reserving.Spec.NodeName = "node"
	over := claimPod("over", "uid-over")
	over.Status.Phase = corev1.PodFailed
	generated := inUse(claimOf("over-gpu", "over", "gpu"))
	generated.Status.ReservedFor = append(generated.Status.ReservedFor, consumerOf(over))
	unowned := inUse(claimOf("released", "", ""))
	unowned.Status.ReservedFor = append(unowned.Status.ReservedFor, consumerOf(over))
	for _, tc := range []struct{ name, reason, refuse string }{
		{"nothing", "the usual", "none"},
		{"create", "an event, and nothing more for this pod", "create resourceclaims"},
		{"apply", "nothing is reserved", "apply pods/status"},
		{"reserve", "the second claim is not reserved", "update resourceclaims/status ns/one"},
		{"release", "no finalizer is removed, nothing deleted", "update resourceclaims/status ns/over-gpu"},
		{"finalizer", "nothing is deleted", "update resourceclaims ns/over-gpu"},
		{"delete", "nothing is behind it", "delete resourceclaims"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := claimsCaseOf([]runtime.Object{pod, reserving, over, inUse(claimOf("shared", "", "")), inUse(claimOf("one", "", "")), inUse(claimOf("two", "", "")), generated, unowned, claimTemplate("t")})
			c.options.MatchUpstream = Release
			refused := 0
			refuse := func(r Request) error {
				if strings.HasPrefix(r.String(), tc.refuse) {
					refused++
					return errQuota
				}
				return nil
			}
			upstream, ours := runRefused(t, c, refuse), c.refused(c.options, refuse)
			for _, p := range c.snapshot.Pods {
				// Upstream's way to come back to a pod whose status does not name a claim yet.
				if key := "pod:ns/" + p.Name; c.waits(p) && tc.name != "create" && tc.name != "apply" {
					ours.Failed = append(ours.Failed, key)
				}
			}
			require.Equal(t, upstream.String(), ours.String(), tc.reason)
			for i, e := range upstream.Normal().Events {
				require.Equal(t, e.Message, ours.Normal().Events[i].Message)
			}
			require.Equal(t, tc.refuse == "none", refused == 0)
		})
	}
}
