package resourceclaim

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/apiserver"
	"github.com/purekube/purekube/internal/wholecluster"
)

// served is an API server, and a caller whose caches show each write at once.
type served struct {
	*apiserver.Server
	options Options
	// dynamic: claims are returned as a dynamic client returns them.
	dynamic bool
	// events are those of refused calls.
	events []purekube.Event
}

func (c *served) snapshot() Snapshot {
	s := Snapshot{Now: now, Pods: apiserver.List[corev1.Pod](c.Server), Claims: apiserver.List[resourcev1.ResourceClaim](c.Server),
		Templates: apiserver.List[resourcev1.ResourceClaimTemplate](c.Server)}
	for _, g := range apiserver.List[apiserver.PodGroup](c.Server) {
		group := newGroup(g.Name, g.Spec.ResourceClaims...).uid(g.UID)
		group.ResourceClaimStatuses = g.Status.ResourceClaimStatuses
		s.PodGroups = append(s.PodGroups, group)
	}
	s.Answers = wholecluster.Answers(s.Pods, s.Claims)
	return s
}

// carryOut sends the requests of a plan.
func (c *served) carryOut(t *testing.T, actions []Action) {
	t.Helper()
	_, _ = purekube.CarryOut(actions, func(r purekube.Request) (runtime.Object, error) {
		object, err := c.Do(r)
		if claim, ok := object.(*resourcev1.ResourceClaim); ok && c.dynamic {
			return asUnstructured(t, claim), nil
		}
		return object, err
	}, func(e purekube.Event) { c.events = append(c.events, e) }) // what failed is planned again
}

// settle plans and writes until there is nothing left to do. A plan may have an error that nobody can mend.
func (c *served) settle(t *testing.T) {
	t.Helper()
	var last []Outcome
	for range 10 {
		last, _ = PlanAll(c.snapshot(), c.options)
		if !slices.ContainsFunc(last, func(o Outcome) bool { return len(o.Result.Actions) > 0 }) {
			return
		}
		for _, o := range last {
			require.Empty(t, o.Result.Needs)
			c.carryOut(t, o.Result.Actions)
		}
	}
	t.Fatalf("it does not come to rest: %v", last)
}
