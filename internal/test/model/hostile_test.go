package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/apiserver"
	"github.com/purekube/purekube/resourceclaim"
)

// What follows are worlds with a policy, a restored API server, a user who removes finalizers, and one who makes claims
// to keep the controller busy.

// labeled is an event that changes nothing that counts: users label pods.
var labeled = Event{Name: "pod labeled", Max: 2, Do: func(v *View, do func(string, ...Change)) {
	for _, p := range All[*corev1.Pod](v) {
		if p.Annotations == nil {
			p = p.DeepCopy()
			p.Annotations = map[string]string{"a": "b"}
		} else {
			p = p.DeepCopy()
			p.Annotations = nil
		}
		do("the user annotates pod "+p.Name, Put(p))
	}
}}

// policyWorld is a pod with two template entries, and an admission policy that changes the claims that are created.
func policyWorld(o resourceclaim.Options, name string, policy func(*resourcev1.ResourceClaim)) Scenario {
	w := claimWorld(o).with("two-0").only("pod created")
	w.Name += ", a policy: " + name
	w.Events[0].Max = 1
	w.Events = append(w.Events, labeled)
	w.Guarantees = []Guarantee{{"one claim for each entry", func(s *Step) string {
		if claims := All[*resourcev1.ResourceClaim](s.After); s.Request != nil && s.Request.Verb == "create" && len(claims) > 3 { // with the shared one
			return fmt.Sprintf("%d claims for two entries", len(claims)-1)
		}
		return ""
	}}}
	w.Rest = func(v *View) string {
		for _, p := range All[*corev1.Pod](v) {
			for entry, name := range claimsOf(p) {
				if Get[*resourcev1.ResourceClaim](v, "ns", name) == nil {
					return "at rest, every entry of a pod has its claim: the status names none for " + entry
				}
			}
		}
		return ""
	}
	return w.sending(func(r *purekube.Request) {
		if c, ok := r.Object.(*resourcev1.ResourceClaim); ok && r.Verb == "create" {
			policy(c)
		}
	})
}

func withoutAnnotations(c *resourcev1.ResourceClaim) { c.Annotations = nil }
func withoutTraces(c *resourcev1.ResourceClaim)      { c.Annotations, c.OwnerReferences = nil, nil }
func withoutController(c *resourcev1.ResourceClaim)  { c.OwnerReferences[0].Controller = nil }

// byAnnotation is an action that knows the answers before it by their annotation.
type byAnnotation struct{ purekube.Action }

func (a byAnnotation) Request(done []runtime.Object) purekube.Request {
	known := slices.Clone(done)
	for i, o := range known {
		if c, ok := o.(*resourcev1.ResourceClaim); ok && c.Annotations[podClaimName] == "" {
			known[i] = nil
		}
	}
	return a.Action.Request(known)
}

// membersOn is a running pod of the consumer's PodGroup whose status names the claim; empty: there is none.
func membersOn(v *View, c *resourcev1.ResourceClaim, consumer resourcev1.ResourceClaimConsumerReference) string {
	for _, p := range All[*corev1.Pod](v) {
		if consumer.Resource == apiserver.PodGroups.Resource && podGroupOf(p) == consumer.Name && podNeeds(p) && slices.Contains(slices.Collect(maps.Values(claimsOf(p))), c.Name) {
			return fmt.Sprintf("pod %s (%s)", p.Name, p.UID)
		}
	}
	return ""
}

// forcedWorld is a world of PodGroups in which somebody removes one by force. The cache of pods is never behind: of a pod
// that it does not show the controller cannot know.
func forcedWorld(o resourceclaim.Options) Scenario {
	w := podGroupWorld(o).with("team-0").without("claim deleted", "pod bound by hand")
	w.Name += ", removed by force"
	w.Current = []schema.GroupVersionResource{pods, templates}
	w.Events = append(slices.Clone(w.Events), Event{Name: "group removed by force", Max: 1, Do: func(v *View, do func(string, ...Change)) {
		for _, g := range All[*apiserver.PodGroup](v) {
			do("the user removes PodGroup "+g.Name+" by force", Remove(g))
		}
	}})
	w.Guarantees = append(slices.Clone(w.Guarantees), Guarantee{"no device taken from running pods of a PodGroup", func(s *Step) string {
		if s.Request == nil {
			return ""
		}
		for _, before := range All[*resourcev1.ResourceClaim](s.Before) {
			after := Get[*resourcev1.ResourceClaim](s.After, "ns", before.Name)
			for _, r := range before.Status.ReservedFor {
				if pod := membersOn(s.Before, before, r); pod != "" && (after == nil || before.Status.Allocation != nil && after.Status.Allocation == nil) {
					return fmt.Sprintf("claim %s is deallocated, and %s uses it", before.Name, pod)
				}
			}
		}
		return ""
	}})
	return w
}

// restoreWorld begins with what a backup has: a pod that runs on its claim. The pod goes, another one may come, and then
// etcd is restored.
func restoreWorld(o resourceclaim.Options) Scenario {
	pod := bound(podWithClaims("one-0", 3))
	pod.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: ptr.To("in-backup")}}
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "in-backup", UID: UID(4), Finalizers: []string{claimFinalizer}, Annotations: map[string]string{podClaimName: "gpu"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "one-0", UID: pod.UID, Controller: ptr.To(true)}}}}
	claim.Status.Allocation = &resourcev1.AllocationResult{}
	claim.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{consumerOf(claim, pod)}
	waiting := podWithClaims("one-1", 5) // it has no claim yet
	w := claimWorldOf(o).only("terminated", "garbage collected")
	w.Name += ", restored"
	w.Objects = append(w.Objects[:1:1], pod, claim, waiting)
	w.Backup = []Object{pod, claim, waiting}
	w.Events = append(w.Events,
		Event{Name: "pod removed by force", Max: 1, Do: func(v *View, do func(string, ...Change)) {
			if p := Get[*corev1.Pod](v, "ns", "one-0"); p != nil {
				do("the user removes pod one-0 by force", Remove(p))
			}
		}},
		Event{Name: "restored", Max: 1, Restores: true, Do: func(v *View, do func(string, ...Change)) {
			var changes []Change
			for _, o := range v.objects {
				if !slices.ContainsFunc(w.Objects, func(b Object) bool { return b.GetUID() == o.GetUID() }) {
					changes = append(changes, Remove(o))
				}
			}
			for _, o := range w.Backup {
				changes = append(changes, Put(o))
			}
			do("etcd is restored from a backup", changes...)
		}})
	w.Faults = Faults{Crash: true}
	return w
}

// overtakenWorld is a pod whose claim is deleted as soon as it is made.
func overtakenWorld(o resourceclaim.Options) Scenario {
	w := claimWorld(o).with("two-0").only("pod created", "claim deleted", "garbage collected")
	w.Name += ", answers are overtaken"
	w.Events[0].Max = 1
	w.Faults = Faults{Overtake: true}
	return w
}

// lookedUpInVain is the action of a plan that asked for something in vain.
type lookedUpInVain struct{ purekube.Action }

func (lookedUpInVain) String() string { return "a lookup in vain" }
func (lookedUpInVain) Request([]runtime.Object) purekube.Request {
	return purekube.Request{Verb: "delete", Resource: claims, Namespace: "ns", Name: "alien"}
}

// alienWorld has a claim that a user made to keep the controller busy: its owner is a pod of another UID, and a finalizer of
// theirs holds it back. Its plan asks for nothing unless the answer decides.
func alienWorld(o resourceclaim.Options) Scenario {
	w := claimWorld(o).with("one-0").only("pod created", "pod finished", "pod deleted", "scheduled", "terminated", "garbage collected")
	w.Name += ", an alien claim"
	alien := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "alien", UID: UID(6), Finalizers: []string{"example.com/mine"}, DeletionTimestamp: &metav1.Time{Time: Start},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "one-0", UID: UID(60), Controller: ptr.To(true)}}}}
	w.Objects = append(slices.Clone(w.Objects), alien)
	plan := w.Controller.Plan
	w.Controller.Plan = func(v *View, key string, live *View) Decision {
		d := plan(v, key, live)
		if strings.HasSuffix(key, "/alien") && live == nil && len(d.Needs) > 0 {
			d = Decision{Actions: []purekube.Action{lookedUpInVain{}}}
		}
		return d
	}
	w.Guarantees = append(slices.Clone(w.Guarantees), Guarantee{"no lookup in vain", func(s *Step) string {
		if s.Request != nil && s.Request.Verb == "delete" && s.Request.Name == "alien" {
			return "nothing depends on what " + s.Request.Name + " asks for"
		}
		return ""
	}})
	return w
}

// askingForOwners is the world in which a claim's plan asks for its owner where the cache has another pod of that name.
func (w Scenario) askingForOwners() Scenario {
	plan := w.Controller.Plan
	w.Controller.Plan = func(v *View, key string, live *View) Decision {
		d := plan(v, key, live)
		if p := Get[*corev1.Pod](v, "ns", "one-0"); strings.HasSuffix(key, "/alien") && p != nil && live == nil {
			return Decision{Actions: []purekube.Action{lookedUpInVain{}}}
		}
		return d
	}
	return w
}
