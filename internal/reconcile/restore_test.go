package reconcile

import (
	"testing"

	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/ttl"
)

// reserved is a claim that is reserved for a pod, which the Index does not have. Its plan looks that pod up.
var reserved = &resourcev1.ResourceClaim{
	ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "gpu", UID: "c", ResourceVersion: "5", Finalizers: []string{resourcev1.Finalizer}},
	Status: resourcev1.ResourceClaimStatus{Allocation: &resourcev1.AllocationResult{},
		ReservedFor: []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "p", UID: "p"}}},
}

func reservedLoop(claim *resourcev1.ResourceClaim) *Loop[*resourceclaim.Index, resourceclaim.Snapshot, resourceclaim.Action] {
	index := resourceclaim.NewIndex(resourceclaim.Snapshot{Claims: []*resourcev1.ResourceClaim{claim}}, resourceclaim.Options{})
	return New(index, Options[*resourceclaim.Index, resourceclaim.Snapshot]{
		Synced: func() bool { return true },
		Answers: func(a map[purekube.Need]purekube.Answer) resourceclaim.Snapshot {
			return resourceclaim.Snapshot{Answers: a}
		},
	})
}

// A pod that was gone before a restore from a backup may be back: no plan uses the answer from before, neither one whose
// turn begins after the restore nor one whose turn has begun.
func TestNoAnswerOutlivesARestore(t *testing.T) {
	claims := schema.GroupResource{Group: resourcev1.GroupName, Resource: "resourceclaims"}
	key := resourceclaim.KeyOf(reserved)
	for _, tc := range []struct {
		name string
		// begun: the turn has begun when the cache is listed again.
		begun bool
	}{{"a turn that begins after the restore", false}, {"a turn that has begun", true}} {
		t.Run(tc.name, func(t *testing.T) {
			l := reservedLoop(reserved)
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
			require.True(t, l.Look(start, asking.Ask[0]))
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

// After a restore from a backup everything is planned, and fences hold at the restored resourceVersions.
func TestFenceAfterARestore(t *testing.T) {
	l := newLoop(Options[*ttl.Index, ttl.Snapshot]{})
	l.Start(start)
	see(l, "1000", "")
	require.Empty(t, l.CacheAt(start, nodes, "1000"))
	require.Equal(t, []purekube.Key{key}, l.CacheAt(start, nodes, "50"))
	later := start.Add(FenceTimeout)
	require.Empty(t, l.CacheAt(later, nodes, "50"))
	turn(t, l, later, "51", nil)
	require.Equal(t, Wait, l.Begin(later, key).Step)
	require.Equal(t, []purekube.Key{key, key}, see(l, "51", "0"), "affected, and lifted")
	require.Equal(t, Plan, l.Begin(later, key).Step)
}

// A restore of long ago hides no event: a write that shows at once holds nothing.
func TestEventLongAfterARestoreCounts(t *testing.T) {
	l := newLoop(Options[*ttl.Index, ttl.Snapshot]{})
	l.Start(start)
	require.Empty(t, l.CacheAt(start, nodes, "1000"))
	require.Equal(t, []purekube.Key{key}, l.CacheAt(start, nodes, "50"))
	later := start.Add(FenceTimeout)
	require.Empty(t, l.CacheAt(later, nodes, "50"))
	turn(t, l, later, "51", nil)
	see(l, "51", "0")
	require.Equal(t, Plan, l.Begin(later, key).Step)
}

// Until FenceTimeout after a restore was noticed, handlers may see changes from before it. They lift no fence, neither then
// nor later: their resourceVersions are higher than all that is written after the restore.
func TestEventFromBeforeARestoreLiftsNoFence(t *testing.T) {
	l := newLoop(Options[*ttl.Index, ttl.Snapshot]{})
	l.Start(start)
	require.Empty(t, l.CacheAt(start, nodes, "1000"))
	require.Equal(t, []purekube.Key{key}, l.CacheAt(start, nodes, "50"))
	require.Equal(t, []purekube.Key{key}, see(l, "999", ""), "affected")
	turn(t, l, start, "51", nil)
	held := l.Begin(start, key)
	require.Equal(t, Wait, held.Step)
	require.Equal(t, Next{Requeue: true, After: FenceTimeout}, held.Next)
	later := start.Add(FenceTimeout)
	require.Empty(t, l.CacheAt(later, nodes, "50"))
	turn(t, l, later, "52", nil)
	require.Equal(t, Wait, l.Begin(later, key).Step)
}

// What was written between a restore and the list that tells of it holds its key for FenceTimeout: another plan would
// send it again.
func TestWriteBeforeTheListOfARestore(t *testing.T) {
	l := newLoop(Options[*ttl.Index, ttl.Snapshot]{})
	l.Start(start)
	see(l, "1000", "")
	require.Empty(t, l.CacheAt(start, nodes, "1000"))
	turn(t, l, start, "51", nil)
	require.Contains(t, l.CacheAt(start, nodes, "52"), key)
	held := l.Begin(start, key)
	require.Equal(t, Wait, held.Step)
	require.Equal(t, Next{Requeue: true, After: FenceTimeout}, held.Next)
	require.Equal(t, Plan, l.Begin(start.Add(FenceTimeout), key).Step)
}
