package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/apiserver"
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

// claimController is the package as a controller.
func claimController(o resourceclaim.Options) Controller {
	snapshot := func(v *View) resourceclaim.Snapshot {
		s := resourceclaim.Snapshot{Now: v.Now, Pods: All[*corev1.Pod](v), PodGroups: podGroupsOf(v), Claims: All[*resourcev1.ResourceClaim](v),
			Templates: All[*resourcev1.ResourceClaimTemplate](v), Deleted: sets.New[types.UID]()}
		// Which UIDs matter: those that a claim or an object has.
		for _, c := range s.Claims {
			for _, r := range c.Status.ReservedFor {
				seenGone(v, s.Deleted, r.UID)
			}
			seenGone(v, s.Deleted, ownerOf(c))
		}
		for _, p := range s.Pods {
			seenGone(v, s.Deleted, p.UID)
		}
		for _, g := range s.PodGroups {
			seenGone(v, s.Deleted, g.UID)
		}
		for _, c := range v.Assumed {
			s.Assumed = append(s.Assumed, c.(*resourcev1.ResourceClaim))
		}
		return s
	}
	return Controller{
		Keys: func(v *View) []string {
			var keys []string
			for _, p := range All[*corev1.Pod](v) {
				keys = append(keys, resourceclaim.KeyOf(p).String())
			}
			for _, c := range All[*resourcev1.ResourceClaim](v) {
				keys = append(keys, resourceclaim.KeyOf(c).String())
			}
			for _, g := range All[*apiserver.PodGroup](v) {
				keys = append(keys, resourceclaim.KeyOf(groupFor(g)).String())
			}
			return keys
		},
		Plan: func(v *View, key string, live *View) Decision {
			k, err := purekube.ParseKey(key)
			if err != nil {
				panic(err)
			}
			s := snapshot(v)
			r, err := resourceclaim.Plan(s, k, o)
			for rounds := 0; live != nil && len(r.Needs) > 0 && rounds < 5; rounds++ {
				confirm(&s, r.Needs, live)
				r, err = resourceclaim.Plan(s, k, o)
			}
			return Decision{Actions(r.Actions), r.Needs, r.RecheckAt, err}
		},
		Affected: func(v *View, oldObj, newObj Object) []string {
			x := resourceclaim.NewIndex(snapshot(v), o)
			// The Index as it was before the event, told of it.
			before, gone := part(oldObj), part(newObj)
			if oldObj != nil {
				x, _ = x.With(before)
			} else {
				x, _ = x.Without(gone)
			}
			_, keys := x.Without(before)
			if newObj != nil {
				_, keys = x.With(gone)
			}
			return texts(keys)
		},
	}
}

// seenGone adds a UID that was seen to be deleted.
func seenGone(v *View, deleted sets.Set[types.UID], uid types.UID) {
	if uid != "" && v.Gone(uid) {
		deleted.Insert(uid)
	}
}

// part is a snapshot of one object; nil: of none.
func part(o Object) (s resourceclaim.Snapshot) {
	switch o := o.(type) {
	case *corev1.Pod:
		s.Pods = append(s.Pods, o)
	case *apiserver.PodGroup:
		s.PodGroups = append(s.PodGroups, *groupFor(o))
	case *resourcev1.ResourceClaim:
		s.Claims = append(s.Claims, o)
	case *resourcev1.ResourceClaimTemplate:
		s.Templates = append(s.Templates, o)
	}
	return s
}

// confirm adds what the API server has for the needs.
func confirm(s *resourceclaim.Snapshot, needs []purekube.Need, live *View) {
	if s.Answers == nil {
		s.Answers = map[purekube.Need]purekube.Answer{}
	}
	for _, n := range needs {
		s.Answers[n] = purekube.Answer{}
		switch n.Kind {
		case "Pod":
			if p := Get[*corev1.Pod](live, n.Namespace, n.Name); p != nil {
				s.Answers[n] = purekube.Answer{Object: p}
			}
		case "ResourceClaim":
			if c := Get[*resourcev1.ResourceClaim](live, n.Namespace, n.Name); c != nil {
				s.Answers[n] = purekube.Answer{Object: c}
			}
		case "PodGroup":
			if g := groupFor(Get[*apiserver.PodGroup](live, n.Namespace, n.Name)); g != nil {
				s.Answers[n] = purekube.Answer{Object: *g}
			}
		}
	}
}

// claimWorld is a pod with a template entry and a shared claim, which comes back under its name, a pod with
// the shared claim only, and that claim. See with for other pods.
func claimWorld(o resourceclaim.Options) World {
	return claimWorldOf(o, "both-0", "share-0")
}

// with is the world with another pod alone, see podWithClaims.
func (w World) with(pod string) World {
	w.Name += " of " + pod
	return w.withPods(pod)
}

// without is the world in which these events do not happen.
func (w World) without(events ...string) World {
	w.Events = slices.DeleteFunc(slices.Clone(w.Events), func(e Event) bool { return slices.Contains(events, e.Name) })
	return w
}

// only is the world in which no other events happen.
func (w World) only(events ...string) World {
	w.Events = slices.DeleteFunc(slices.Clone(w.Events), func(e Event) bool { return !slices.Contains(events, e.Name) })
	return w
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

func claimWorldOf(o resourceclaim.Options, podNames ...string) World {
	template := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "gpu", UID: UID(1)}}
	shared := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "shared", UID: UID(2)}}
	return World{
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
				for _, name := range []string{"share-0", "team-0"} {
					if p := Get[*corev1.Pod](v, "ns", name); p != nil && p.Spec.NodeName == "" && p.DeletionTimestamp == nil {
						do("the user binds pod "+name+" by hand", Put(bound(p)))
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
		Promises: []Promise{
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

// needing is the pod with that UID if it runs or may yet run, or the PodGroup with that UID if it is there; empty: neither.
func needing(v *View, uid types.UID) string {
	if p := podWith(v, uid); p != nil && podNeeds(p) {
		return fmt.Sprintf("pod %s (%s)", p.Name, p.UID)
	}
	if g := groupWith(v, uid); g != nil {
		return fmt.Sprintf("PodGroup %s (%s)", g.Name, g.UID)
	}
	return ""
}

// collectClaims is the garbage collector: it deletes claims whose pod or PodGroup is gone.
func collectClaims(v *View, do func(string, ...Change)) {
	for _, c := range All[*resourcev1.ResourceClaim](v) {
		if owner := ownerOf(c); owner != "" && c.DeletionTimestamp == nil && podWith(v, owner) == nil && groupWith(v, owner) == nil {
			do("the garbage collector deletes claim "+c.Name, Delete(v.Now, c))
		}
	}
}

func nothingTakenFromLivePods(s *Step) string {
	if s.Request == nil {
		return ""
	}
	for _, before := range All[*resourcev1.ResourceClaim](s.Before) {
		after := Get[*resourcev1.ResourceClaim](s.After, "ns", before.Name)
		if after != nil && after.ResourceVersion == before.ResourceVersion {
			continue
		}
		for _, r := range before.Status.ReservedFor {
			user := needing(s.Before, r.UID)
			switch {
			case user == "":
			case after == nil:
				return fmt.Sprintf("claim %s goes, and %s uses it", before.Name, user)
			case !reservedFor(after, r.UID):
				return fmt.Sprintf("claim %s is not reserved for %s any more, which uses it", before.Name, user)
			case before.Status.Allocation != nil && after.Status.Allocation == nil:
				return fmt.Sprintf("claim %s is deallocated, and %s uses it", before.Name, user)
			}
		}
		if owner := needing(s.Before, ownerOf(before)); owner != "" && before.DeletionTimestamp == nil && (after == nil || after.DeletionTimestamp != nil) {
			return fmt.Sprintf("claim %s is deleted, and %s, for which it was made, is alive", before.Name, owner)
		}
	}
	return ""
}

func noSecondClaim(s *Step) string {
	if s.Request == nil || s.Request.Verb != "create" {
		return ""
	}
	by := map[string]string{}
	for _, c := range All[*resourcev1.ResourceClaim](s.After) {
		owner := ownerOf(c)
		if owner == "" || c.DeletionTimestamp != nil {
			continue
		}
		entry := string(owner) + " " + c.Annotations[podClaimName]
		if other := by[entry]; other != "" {
			return fmt.Sprintf("claims %s and %s are both for entry %s of %s", other, c.Name, c.Annotations[podClaimName], owner)
		}
		by[entry] = c.Name
	}
	return ""
}

// claimsKeepWhatIsTheirs: of an existing claim the controller writes nothing but reservedFor, the allocation and
// its own finalizer, and it deletes no claim that was not made for a pod; of a pod or PodGroup it writes nothing but
// the names of claims.
func claimsKeepWhatIsTheirs(s *Step) string {
	if s.Request == nil {
		return ""
	}
	for _, before := range All[*resourcev1.ResourceClaim](s.Before) {
		after := Get[*resourcev1.ResourceClaim](s.After, "ns", before.Name)
		if after == nil || after.DeletionTimestamp != nil && before.DeletionTimestamp == nil {
			if ownerOf(before) == "" && before.DeletionTimestamp == nil {
				return "claim " + before.Name + " is deleted, and nobody made it for a pod"
			}
			continue
		}
		if changedBeyond(before, after, func(c *resourcev1.ResourceClaim) {
			c.Finalizers = slices.DeleteFunc(c.Finalizers, func(f string) bool { return f == claimFinalizer })
			c.Status.Allocation, c.Status.ReservedFor = nil, nil
		}) {
			return "claim " + before.Name + " is changed beyond its reservations, allocation and finalizer"
		}
	}
	return cmp.Or(
		writtenBeyond(s, "pod", "its claims' names", func(p *corev1.Pod) { p.Status.ResourceClaimStatuses = nil }),
		writtenBeyond(s, "PodGroup", "its claims' names", func(g *apiserver.PodGroup) { g.Status.ResourceClaimStatuses = nil }))
}

// writtenBeyond says which object of a type a write took away, or changed in more than what without takes away.
func writtenBeyond[P interface {
	Object
	comparable
}](s *Step, kind, what string, without func(P)) string {
	var none P
	for _, before := range All[P](s.Before) {
		after := Get[P](s.After, before.GetNamespace(), before.GetName())
		if after == none {
			return kind + " " + before.GetName() + " is gone"
		}
		if changedBeyond(before, after, without) {
			return kind + " " + before.GetName() + " is changed beyond " + what
		}
	}
	return ""
}

// changedBeyond reports whether the object changed in more than what without takes away.
func changedBeyond[P Object](before, after P, without func(P)) bool {
	if before.GetResourceVersion() == after.GetResourceVersion() {
		return false
	}
	b, a := before.DeepCopyObject().(P), after.DeepCopyObject().(P)
	for _, o := range []P{b, a} {
		o.SetResourceVersion("")
		without(o)
	}
	return !equality.Semantic.DeepEqual(b, a)
}

func claimsServePods(v *View) string {
	for _, p := range All[*corev1.Pod](v) {
		if !podNeeds(p) || p.DeletionTimestamp != nil {
			continue
		}
		names := claimsOf(p)
		for _, e := range p.Spec.ResourceClaims {
			c := Get[*resourcev1.ResourceClaim](v, "ns", names[e.Name])
			switch {
			case e.ResourceClaimTemplateName != nil && ownEntry(v, p, e.Name) && (c == nil || ownerOf(c) != p.UID):
				return fmt.Sprintf("at rest, every entry of a pod has its claim: entry %s of %s has none", e.Name, p.Name)
			case c != nil && p.Spec.NodeName != "" && c.Status.Allocation != nil && c.DeletionTimestamp == nil && !reservedFor(c, consumerOf(c, p).UID):
				return fmt.Sprintf("at rest, a running pod has its claims reserved: %s is not reserved for %s", c.Name, p.Name)
			}
		}
	}
	for _, c := range All[*resourcev1.ResourceClaim](v) {
		for _, r := range c.Status.ReservedFor {
			if needing(v, r.UID) == "" && membersOn(v, c, r) == "" {
				return fmt.Sprintf("at rest, no claim is held for what does not need it: %s by %s", c.Name, r.Name)
			}
		}
		held := slices.Contains(c.Finalizers, claimFinalizer)
		if c.DeletionTimestamp != nil && len(c.Status.ReservedFor) == 0 && (held || c.Status.Allocation != nil) {
			return "at rest, nothing of this controller's holds back a deletion: " + describeClaimOrPod(c)
		}
		if owner := ownerOf(c); owner != "" && c.DeletionTimestamp == nil && needing(v, owner) == "" {
			return "at rest, no claim is left over: " + c.Name
		}
	}
	return groupsHaveTheirClaims(v)
}

func describeClaimNames(statuses []corev1.PodResourceClaimStatus) string {
	var names []string
	for _, st := range statuses {
		names = append(names, st.Name+"="+ptr.Deref(st.ResourceClaimName, "not needed"))
	}
	if names == nil {
		return ""
	}
	return ", status " + strings.Join(names, " ")
}

func describeClaimOrPod(o Object) string {
	switch o := o.(type) {
	case *corev1.Pod:
		s := fmt.Sprintf("pod %s (%s) %s", o.Name, o.UID, o.Status.Phase)
		if o.Spec.NodeName != "" {
			s += " on a node"
		}
		s += describeClaimNames(o.Status.ResourceClaimStatuses)
		if o.DeletionTimestamp != nil {
			s += ", being deleted"
		}
		return s
	case *apiserver.PodGroup:
		s := fmt.Sprintf("PodGroup %s (%s)", o.Name, o.UID) + describeClaimNames(o.Status.ResourceClaimStatuses)
		if o.DeletionTimestamp != nil {
			s += ", being deleted"
		}
		return s
	case *resourcev1.ResourceClaim:
		s := "claim " + o.Name
		if owner := ownerOf(o); owner != "" {
			s += fmt.Sprintf(" for %s of %s", o.Annotations[podClaimName], owner)
		}
		if o.Status.Allocation != nil {
			s += ", allocated"
		}
		var consumers []string
		for _, r := range o.Status.ReservedFor {
			consumers = append(consumers, fmt.Sprintf("%s (%s)", r.Name, r.UID))
		}
		if consumers != nil {
			s += ", reserved for " + strings.Join(consumers, " and ")
		}
		if len(o.Finalizers) > 0 {
			s += ", finalizers " + strings.Join(o.Finalizers, " and ")
		}
		if o.DeletionTimestamp != nil {
			s += ", being deleted"
		}
		return s
	}
	return o.GetName()
}
