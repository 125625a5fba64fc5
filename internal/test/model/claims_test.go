package model

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/resourceclaim"
)

var (
	claims    = resourcev1.SchemeGroupVersion.WithResource("resourceclaims")
	templates = resourcev1.SchemeGroupVersion.WithResource("resourceclaimtemplates")
)

const (
	claimFinalizer = "resource.kubernetes.io/delete-protection"
	podClaimName   = "resource.kubernetes.io/pod-claim-name"
	driverHolds    = "example.com/driver"
)

// claimWorld is a pod with a template entry and a shared claim, which comes back under its name, a pod with
// the shared claim only, and that claim. See with for other pods.
func claimWorld(o resourceclaim.Options) Scenario {
	return claimWorldOf(o, "both-0", "share-0")
}

func createPods(names ...string) func(v *View, do func(string, ...Change)) {
	return func(v *View, do func(string, ...Change)) {
		for _, name := range names {
			if Get[*corev1.Pod](v, "ns", name) == nil {
				p := podWithClaims(name, v.Fresh)
				do(fmt.Sprintf("pod %s is created (%s)", name, p.UID), Put(p))
			}
		}
	}
}

func claimWorldOf(o resourceclaim.Options, podNames ...string) Scenario {
	template := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "gpu", UID: UID(1)}}
	shared := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "shared", UID: UID(2)}}
	return Scenario{
		Name:    "ResourceClaims",
		Kinds:   []schema.GroupVersionResource{pods, claims, templates},
		Lag:     2,
		Current: []schema.GroupVersionResource{templates},
		Objects: []Object{template, shared},
		Events: []Event{
			{Name: "pod created", Max: 3, Do: createPods(podNames...)},
			{Name: "pod deleted", Do: func(v *View, do func(string, ...Change)) {
				for _, p := range All[*corev1.Pod](v) {
					switch {
					case p.DeletionTimestamp != nil:
					case p.Spec.NodeName == "":
						do("the user deletes pod "+p.Name+", which has no node", Remove(p))
					default:
						do("the user deletes pod "+p.Name, deletePod(v, p))
					}
				}
			}},
			{Name: "terminated", Settles: true, Do: terminate},
			{Name: "scheduled", Settles: true, Do: schedule},
			{Name: "pod bound by hand", Max: 1, Do: func(v *View, do func(string, ...Change)) {
				for _, p := range All[*corev1.Pod](v) {
					kind, _, _ := strings.Cut(p.Name, "-")
					if (kind == "share" || kind == "team") && p.Spec.NodeName == "" && p.DeletionTimestamp == nil {
						do("the user binds pod "+p.Name+" by hand", Put(bound(p)))
					}
				}
			}},
			{Name: "pod finished", Do: func(v *View, do func(string, ...Change)) {
				for _, p := range All[*corev1.Pod](v) {
					if p.Spec.NodeName != "" && p.Status.Phase == corev1.PodRunning && p.Labels["app"] == "" {
						p = p.DeepCopy()
						p.Status.Phase = corev1.PodSucceeded
						do("pod "+p.Name+" succeeds", Put(p))
					}
				}
			}},
			{Name: "claim deleted", Max: 1, Do: func(v *View, do func(string, ...Change)) {
				for _, c := range All[*resourcev1.ResourceClaim](v) {
					if c.DeletionTimestamp == nil {
						do("the user deletes claim "+c.Name, Delete(v.Now, c))
					}
				}
			}},
			{Name: "claim held by a driver", Max: 1, Do: func(v *View, do func(string, ...Change)) {
				for _, c := range All[*resourcev1.ResourceClaim](v) {
					if c.DeletionTimestamp == nil && !slices.Contains(c.Finalizers, driverHolds) {
						c = c.DeepCopy()
						c.Finalizers = append(c.Finalizers, driverHolds)
						do("a driver puts its finalizer on claim "+c.Name, Put(c))
					}
				}
			}},
			{Name: "garbage collected", Settles: true, Do: collectClaims},
		},
		Controller: claimController(o),
		Assumes:    claims,
		Remembers:  pods,
		ListsAnew:  true,
		Faults:     Faults{Refuse: true, LoseAnswer: true, Crash: true},
		Guarantees: []Guarantee{
			{"no allocation cleared under a live consumer", nothingTakenFromLivePods},
			{"no claim made twice for an entry", noSecondClaim},
			{"nothing the user did is undone", claimsKeepWhatIsTheirs},
		},
		Rest:     claimsServePods,
		Describe: describeClaimOrPod,
	}
}

// podWithClaims makes a pod whose claims follow from its name: "one-0" has a template entry, "two-0" two of them,
// "share-0" the shared claim, and "both-0" a template entry and the shared claim. "team-0" and
// "mate-0" are in the PodGroup group-0, whose entry they have, and "also-0" in the same with one more template entry.
func podWithClaims(name string, numberOf int) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: UID(numberOf)}, Status: corev1.PodStatus{Phase: corev1.PodPending}}
	template := func(entry string) {
		p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, corev1.PodResourceClaim{Name: entry, ResourceClaimTemplateName: ptr.To("gpu")})
	}
	kind, number, _ := strings.Cut(name, "-")
	if kind == "team" || kind == "mate" || kind == "also" {
		p.Labels = map[string]string{memberOf: "group-" + number}
	}
	if kind != "share" {
		template("gpu")
	}
	if kind == "two" || kind == "also" {
		template("nic")
	}
	if kind == "both" || kind == "share" {
		p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, corev1.PodResourceClaim{Name: "shared", ResourceClaimName: ptr.To("shared")})
	}
	return p
}

func bound(p *corev1.Pod) *corev1.Pod {
	p = p.DeepCopy()
	p.Spec.NodeName, p.Status.Phase = "node", corev1.PodRunning
	return p
}

// podNeeds reports whether a container of the pod runs or may yet run.
func podNeeds(p *corev1.Pod) bool {
	return p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed && (p.DeletionTimestamp == nil || p.Spec.NodeName != "")
}

// claimsOf are the names of the pod's claims by entry; empty: there is none yet.
func claimsOf(p *corev1.Pod) map[string]string {
	names := map[string]string{}
	for _, e := range p.Spec.ResourceClaims {
		names[e.Name] = ptr.Deref(e.ResourceClaimName, "")
	}
	for _, s := range p.Status.ResourceClaimStatuses {
		names[s.Name] = ptr.Deref(s.ResourceClaimName, "")
	}
	return names
}

// ownerOf is the UID of the pod or PodGroup that the claim was made for.
func ownerOf(c *resourcev1.ResourceClaim) types.UID {
	if owner := metav1.GetControllerOf(c); owner != nil {
		return owner.UID
	}
	return ""
}

func podWith(v *View, uid types.UID) *corev1.Pod {
	for _, p := range All[*corev1.Pod](v) {
		if p.UID == uid {
			return p
		}
	}
	return nil
}

// schedule allocates and reserves one claim of a pod after the other, and then binds it.
func schedule(v *View, do func(string, ...Change)) {
pods:
	for _, p := range All[*corev1.Pod](v) {
		if p.Spec.NodeName != "" || p.DeletionTimestamp != nil || !podNeeds(p) {
			continue
		}
		var next *resourcev1.ResourceClaim
		names := claimsOf(p)
		for _, e := range p.Spec.ResourceClaims {
			c := Get[*resourcev1.ResourceClaim](v, "ns", names[e.Name])
			if c == nil || c.DeletionTimestamp != nil || e.ResourceClaimTemplateName != nil && !madeFor(v, c, p) {
				continue pods
			}
			if next == nil && !reservedFor(c, consumerOf(c, p).UID) {
				next = c
			}
		}
		if next == nil {
			do("the scheduler binds pod "+p.Name, Put(bound(p)))
			continue
		}
		next = next.DeepCopy()
		if next.Status.Allocation == nil {
			next.Status.Allocation = &resourcev1.AllocationResult{}
			if !slices.Contains(next.Finalizers, claimFinalizer) {
				next.Finalizers = append(next.Finalizers, claimFinalizer)
			}
		}
		consumer := consumerOf(next, p)
		next.Status.ReservedFor = append(next.Status.ReservedFor, consumer)
		do(fmt.Sprintf("the scheduler allocates claim %s and reserves it for %s %s", next.Name, kindOf(consumer), consumer.Name), Put(next))
	}
}

func reservedFor(c *resourcev1.ResourceClaim, consumer types.UID) bool {
	return slices.ContainsFunc(c.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool { return r.UID == consumer })
}

// collectClaims is the garbage collector: it deletes claims whose pod or PodGroup is gone.
func collectClaims(v *View, do func(string, ...Change)) {
	for _, c := range All[*resourcev1.ResourceClaim](v) {
		if owner := ownerOf(c); owner != "" && c.DeletionTimestamp == nil && podWith(v, owner) == nil && groupWith(v, owner) == nil {
			do("the garbage collector deletes claim "+c.Name, Delete(v.Now, c))
		}
	}
}
