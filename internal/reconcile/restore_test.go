package reconcile

import (
	"testing"

	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/resourceclaim"
)

// A pod that was gone before a restore from a backup may be back: no plan uses the answer from before, neither one whose
// turn begins after the restore nor one whose turn has begun.
func TestNoAnswerOutlivesARestore(t *testing.T) {
	type S = resourceclaim.Snapshot
	claims := schema.GroupResource{Group: resourcev1.GroupName, Resource: "resourceclaims"}
	claim := &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "gpu", UID: "c", ResourceVersion: "5", Finalizers: []string{resourcev1.Finalizer}},
		Status: resourcev1.ResourceClaimStatus{Allocation: &resourcev1.AllocationResult{},
			ReservedFor: []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "p", UID: "p"}}},
	}
	key := resourceclaim.KeyOf(claim)
	for _, tc := range []struct {
		name string
		// begun: the turn has begun when the cache is listed again.
		begun bool
	}{{"a turn that begins after the restore", false}, {"a turn that has begun", true}} {
		t.Run(tc.name, func(t *testing.T) {
			l := New(resourceclaim.NewIndex(S{Claims: []*resourcev1.ResourceClaim{claim}}, resourceclaim.Options{}), Options[*resourceclaim.Index, S]{
				Synced:  func() bool { return true },
				Answers: func(a map[purekube.Need]purekube.Answer) S { return S{Answers: a} },
			})
			l.Watches(claims)
			l.CacheAt(start, claims, "100")
			_, _, started := l.Start(start)
			require.True(t, started)
			plan := func(turn *Turn[*resourceclaim.Index, resourceclaim.Action]) {
				t.Helper()
				require.Equal(t, Plan, turn.Step)
				result, problems := turn.Index.Plan(key)
				l.Planned(start, turn, result, problems)
			}
			asking := l.Begin(start, key)
			plan(asking)
			require.Len(t, asking.Ask, 1)
			require.True(t, l.Look(asking.Ask[0]))
			keys, _, _ := l.Found(asking.Ask[0], purekube.Answer{}, nil) // there is no such pod
			require.Equal(t, []purekube.Key{key}, keys)

			if tc.begun {
				turn := l.Begin(start, key)
				require.Contains(t, l.CacheAt(start, claims, "50"), key)
				plan(turn)
				require.Equal(t, Wait, turn.Step, "nothing is released")
				require.Equal(t, Next{Requeue: true}, turn.Next)
			} else {
				require.Contains(t, l.CacheAt(start, claims, "50"), key)
			}
			again := l.Begin(start, key)
			plan(again)
			require.Equal(t, Wait, again.Step, "nothing is released")
			require.Equal(t, asking.Ask, again.Ask, "the pod is looked up again")
		})
	}
}
