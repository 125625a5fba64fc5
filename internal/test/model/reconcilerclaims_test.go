package model

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/reconcile/claimmemory"
	"github.com/purekube/purekube/internal/test/apiserver"
	"github.com/purekube/purekube/resourceclaim"
)

type claimLoopWorld = LoopWorld[*resourceclaim.Index, resourceclaim.Snapshot, resourceclaim.Action]

// claimMemo is what a claimmemory.Memory remembers, as data: each call makes a Memory from it.
type claimMemo struct {
	written []writtenClaim
	// forgotten are claims that are gone, and whose write may yet be answered.
	forgotten, deleted []types.UID
}

type writtenClaim struct {
	claim *resourcev1.ResourceClaim
	at    time.Time
}

func (c *claimMemo) clone() memo {
	return &claimMemo{slices.Clone(c.written), slices.Clone(c.forgotten), slices.Clone(c.deleted)}
}

func (c *claimMemo) text() string {
	var b strings.Builder
	for _, w := range c.written {
		fmt.Fprintf(&b, "%s %s %s@%s at %s; ", w.claim.Name, w.claim.UID, describeClaimOrPod(w.claim), w.claim.ResourceVersion, w.at.Format(time.TimeOnly))
	}
	fmt.Fprintf(&b, "%v %v", c.forgotten, c.deleted)
	return b.String()
}

func (c *claimMemo) prune(replies map[types.UID]bool) {
	c.forgotten = slices.DeleteFunc(c.forgotten, func(uid types.UID) bool { return !replies[uid] })
}

// call calls a method of the Memory.
func (c *claimMemo) call(now time.Time, method func(*claimmemory.Memory)) {
	m := &claimmemory.Memory{}
	for _, uid := range c.forgotten {
		m.Written.Forget(uid)
	}
	for _, w := range c.written {
		m.Written.Add(w.claim, w.at)
	}
	for _, uid := range c.deleted {
		m.Deleted.Add(uid)
	}
	method(m)
	var written []writtenClaim
	for _, claim := range m.Written.List(time.Time{}, nil) {
		at := now
		for _, before := range c.written {
			if before.claim.UID == claim.UID && before.claim.ResourceVersion == claim.ResourceVersion {
				at = before.at
			}
		}
		written = append(written, writtenClaim{claim, at})
	}
	c.written = written
	c.deleted = slices.DeleteFunc(c.deleted, func(uid types.UID) bool { return !m.Deleted.Has(uid) })
}

// claimsLoop is the controller of clientgo.NewResourceClaim in one of its worlds.
func claimsLoop(w Scenario) claimLoopWorld {
	return claimLoopWorld{
		Scenario: w,
		Empty: func() *resourceclaim.Index {
			return resourceclaim.NewIndex(resourceclaim.Snapshot{}, resourceclaim.Options{})
		},
		Workers: 1, MaxFaults: 1, RetryProblems: true,
		Memory: func() memo { return &claimMemo{} },
		As: func(o Object, _ time.Time, _ memo) (resourceclaim.Snapshot, map[string]string) {
			return part(o), nil
		},
		At: func(now time.Time, index *resourceclaim.Index, m memo) (s resourceclaim.Snapshot, facts map[string]string) {
			m.(*claimMemo).call(now, func(m *claimmemory.Memory) { s = m.At(now, index) })
			facts = map[string]string{}
			for _, claim := range s.Assumed {
				facts["assumed "+claim.Name] = fmt.Sprintf("%s@%s", describeClaimOrPod(claim), claim.ResourceVersion)
			}
			return s, facts
		},
		Answers: claimmemory.Confirmed,
		Answer: func(live *View, n purekube.Need) purekube.Answer {
			var s resourceclaim.Snapshot
			confirm(&s, []purekube.Need{n}, live)
			return s.Answers[n]
		},
		Written: func(now time.Time, o runtime.Object, m memo) {
			m.(*claimMemo).call(now, func(m *claimmemory.Memory) { m.Wrote(now, o) })
		},
		Gone: func(o Object, m memo) (change func(*resourceclaim.Index) (*resourceclaim.Index, []purekube.Key), fact string) {
			c := m.(*claimMemo)
			switch o := o.(type) {
			case *corev1.Pod:
				c.call(Start, func(m *claimmemory.Memory) { change = m.PodGone(o) })
				c.deleted = append(c.deleted, o.UID)
				return change, string(o.UID)
			case *apiserver.PodGroup:
				c.call(Start, func(m *claimmemory.Memory) { change = m.Gone(o.UID) })
				c.deleted = append(c.deleted, o.UID)
				return change, string(o.UID)
			case *resourcev1.ResourceClaim:
				c.call(Start, func(m *claimmemory.Memory) { m.ClaimGone(o) })
				c.forgotten = append(c.forgotten, o.UID)
			}
			return nil, ""
		},
		Right: claimActionIsRight,
		Planned: func(facts map[string]string, a resourceclaim.Action) string {
			create, ok := a.(resourceclaim.CreateClaim)
			if !ok {
				return ""
			}
			for _, owner := range create.Claim.OwnerReferences {
				if known(facts, deletedFact+string(owner.UID)) {
					return fmt.Sprintf("a pod that was seen to be deleted gets nothing: %s for %s", a, owner.UID)
				}
			}
			return ""
		},
	}
}

// claimActionIsRight: what takes something away takes away what is to be taken away at that moment, or less. What is made for
// a pod that is gone meanwhile is collected, and a reservation for it is released again. Who deletes a claim whose pod is
// gone, this controller or the garbage collector, does not matter: nothingTakenFromLivePods is about that.
func claimActionIsRight(a resourceclaim.Action, fresh []purekube.Action) bool {
	switch a := a.(type) {
	case resourceclaim.Release:
		return slices.ContainsFunc(fresh, func(f purekube.Action) bool {
			right, ok := f.(resourceclaim.Release)
			return ok && (right.Deallocate || !a.Deallocate) &&
				!slices.ContainsFunc(a.Removed, func(c resourcev1.ResourceClaimConsumerReference) bool { return !slices.Contains(right.Removed, c) })
		})
	case resourceclaim.RemoveFinalizer:
		return slices.ContainsFunc(fresh, func(f purekube.Action) bool { return f.String() == a.String() })
	}
	return true
}

// entryLoop is of one pod with a template entry: its claim is made, and collected when the pod is gone.
func entryLoop() claimLoopWorld {
	w := claimWorld(resourceclaim.Options{}).with("one-0").only("pod created", "pod deleted", "scheduled", "terminated", "garbage collected")
	w.Name, w.Events[0].Max = "ResourceClaims, an entry", 2
	w.Objects = w.Objects[:1] // no shared claim
	c := claimsLoop(w)
	c.SlowAnswers, c.Replicas = true, true
	return c
}

// hangingLoop is of one pod with a template entry, and watches that may hang for a minute: longer than a fence holds. What
// was written is remembered for that long.
func hangingLoop() claimLoopWorld {
	w := claimWorld(resourceclaim.Options{}).with("one-0").only("pod created")
	w.Name, w.Events[0].Max = "ResourceClaims, watches hang", 1
	label := labeled
	label.Max = 1
	w.Events = append(w.Events, label)
	w.Objects = w.Objects[:1]
	w.Faults.LoseAnswer = false // then nothing is remembered, and only a watch can tell
	w.Until = 20 * time.Second
	c := claimsLoop(w)
	c.MaxAge = 60
	return c
}

// lookedUpLoop is of a pod whose claim is deleted. Before it gets another one, the claim is looked up, and meanwhile the
// pod may go.
func lookedUpLoop() claimLoopWorld {
	w := claimWorld(resourceclaim.Options{}).only("claim deleted", "pod deleted", "terminated", "garbage collected")
	w.Name = "ResourceClaims, a claim is looked up"
	pod := podWithClaims("one-0", 3)
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "one-0-gpu", UID: UID(4),
		Annotations:     map[string]string{podClaimName: "gpu"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: ptr.To(true)}}}}
	pod.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: &claim.Name}}
	w.Objects = append(w.Objects[:1:1], pod, claim)
	return claimsLoop(w)
}

// groupLookedUpLoop is of a claim that is reserved for a PodGroup, which somebody removes by force. Before the claim is
// released, the PodGroup is looked up, and meanwhile somebody makes a pod of that PodGroup, on a node, with that claim.
func groupLookedUpLoop() claimLoopWorld {
	o := resourceclaim.Options{PodGroupOf: podGroupOf}
	w := claimWorld(o).only()
	w.Name = "ResourceClaims, a PodGroup is looked up"
	w.Kinds = []schema.GroupVersionResource{pods, apiserver.PodGroups, claims, templates}
	group := &apiserver.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "group-0", UID: UID(3)}}
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "shared", UID: UID(4), Finalizers: []string{claimFinalizer}}}
	claim.Status.Allocation = &resourcev1.AllocationResult{}
	claim.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{
		{APIGroup: apiserver.PodGroups.Group, Resource: apiserver.PodGroups.Resource, Name: group.Name, UID: group.UID}}
	w.Objects = []Object{group, claim}
	w.Events = []Event{
		{Name: "group removed by force", Max: 1, Do: func(v *View, do func(string, ...Change)) {
			for _, g := range All[*apiserver.PodGroup](v) {
				do("the user removes PodGroup "+g.Name+" by force", Remove(g))
			}
		}},
		{Name: "pod created on a node", Max: 1, Do: func(v *View, do func(string, ...Change)) {
			p := bound(podWithClaims("share-0", v.Fresh))
			p.Labels = map[string]string{memberOf: "group-0"}
			do("the user creates pod share-0 on a node, with claim shared", Put(p))
		}},
	}
	c := claimsLoop(w)
	c.Empty = func() *resourceclaim.Index { return resourceclaim.NewIndex(resourceclaim.Snapshot{}, o) }
	c.Right = nil // of a pod that the caches do not show the controller cannot know
	c.Planned = func(facts map[string]string, a resourceclaim.Action) string {
		if r, ok := a.(resourceclaim.Release); ok && r.Deallocate && known(facts, "pods/share-0") {
			return fmt.Sprintf("no device taken from running pods of a PodGroup: %s, and pod share-0 was seen", a)
		}
		return ""
	}
	return c
}

// sharedLoop is of a pod that shares a claim, and comes back under its name. The claim's plan looks the pod up.
func sharedLoop() claimLoopWorld {
	w := claimWorld(resourceclaim.Options{}).with("share-0").only("pod created", "pod deleted", "scheduled", "terminated")
	w.Name, w.Events[0].Max = "ResourceClaims, shared", 2
	c := claimsLoop(w)
	c.Workers, c.Replicas = 2, true
	return c
}

// vetoedLoop is of a pod with two template entries. A hook vetoes the claim of the first one, and labels the other one.
func vetoedLoop() claimLoopWorld {
	w := claimWorld(resourceclaim.Options{}).with("two-0").only("pod created", "claim deleted", "garbage collected")
	w.Name, w.Events[0].Max = "ResourceClaims, vetoed", 1
	w.Objects = w.Objects[:1]
	w.Rest = func(v *View) string {
		for _, p := range All[*corev1.Pod](v) {
			c := Get[*resourcev1.ResourceClaim](v, "ns", claimsOf(p)["nic"])
			if c == nil || c.Labels["changed"] == "" {
				return "a veto starves nobody: entry nic of " + p.Name + " has no claim with the hook's label"
			}
		}
		return ""
	}
	w.Guarantees = append(slices.Clone(w.Guarantees), Guarantee{"what a hook vetoes is never sent", func(s *Step) string {
		for _, c := range All[*resourcev1.ResourceClaim](s.After) {
			if c.Annotations[podClaimName] == "gpu" {
				return "claim " + c.Name
			}
		}
		return ""
	}})
	c := claimsLoop(w)
	c.Veto = func(r purekube.Request) bool {
		claim, ok := r.Object.(*resourcev1.ResourceClaim)
		return ok && r.Verb == "create" && claim.Annotations[podClaimName] == "gpu"
	}
	c.Change = func(r *purekube.Request) {
		if claim, ok := r.Object.(*resourcev1.ResourceClaim); ok && r.Verb == "create" {
			claim = claim.DeepCopy()
			claim.Labels = map[string]string{"changed": "true"}
			r.Object = claim
		}
	}
	return c
}

// restoredLoop begins with what a backup has, and etcd is restored from that.
func restoredLoop() claimLoopWorld {
	w := restoreWorld(resourceclaim.Options{}).without("restored")
	w.Name = "ResourceClaims, restored"
	c := claimsLoop(w)
	c.Restores, c.SlowAnswers = true, true
	return c
}

// waitingLoop is restoredLoop with nothing but a pod that has no claim yet.
func waitingLoop() claimLoopWorld {
	c := restoredLoop()
	c.Scenario = c.only("garbage collected")
	c.Name = "ResourceClaims, restored, one pod"
	c.Objects = slices.DeleteFunc(slices.Clone(c.Objects), func(o Object) bool { return o.GetName() == "one-0" || o.GetName() == "in-backup" })
	return c
}
