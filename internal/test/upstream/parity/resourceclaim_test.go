package parity

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/resourceclaim"
)

// claimsCase is a snapshot, and what lies outside of the caches: the UIDs of pods that the
// controller saw go, and the pods and claims that the API server has beyond those in its cache.
type claimsCase struct {
	snapshot   resourceclaim.Snapshot
	deleted    []types.UID
	live       []*corev1.Pod
	liveClaims []*resourcev1.ResourceClaim
	liveGroups []resourceclaim.PodGroup
	options    resourceclaim.Options
}

// plan is ours for one key with the answers to its Needs; needs are the lookups.
func (c claimsCase) plan(key purekube.Key, o resourceclaim.Options) (r resourceclaim.Result, needs []purekube.Need, err error) {
	s := c.snapshot
	s.Deleted = sets.New(c.deleted...)
	for range 8 { // a claim's consumers are asked for first, then its owner; a pod's claims one by one
		r, err = resourceclaim.Plan(s, key, o)
		if len(r.Needs) == 0 {
			break
		}
		if s.Answers == nil {
			s.Answers = map[purekube.Need]purekube.Answer{}
		}
		for _, n := range r.Needs {
			s.Answers[n] = c.answer(n)
		}
		needs = append(needs, r.Needs...)
	}
	return r, needs, err
}

// answer is what the API server says to a Need.
func (c claimsCase) answer(n purekube.Need) (answer purekube.Answer) {
	switch n.Kind {
	case "ResourceClaim":
		if claim := c.lookUpClaim(n.Name); claim != nil {
			answer.Object = claim
		}
	case "PodGroup":
		if g := c.lookUpGroup(n.Name); g != nil {
			answer.Object = *g
		}
	default:
		if p := c.lookUp(n.Name); p != nil {
			answer.Object = p
		}
	}
	return answer
}

// lookUp is what the API server says of a pod.
func (c claimsCase) lookUp(name string) *corev1.Pod {
	for _, p := range slices.Concat(c.live, c.snapshot.Pods) {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// lookUpClaim is what the API server says of a claim.
func (c claimsCase) lookUpClaim(name string) *resourcev1.ResourceClaim {
	for _, claim := range slices.Concat(c.liveClaims, c.snapshot.Claims) {
		if claim.Name == name {
			return claim
		}
	}
	return nil
}

// queue is the order in which upstream comes to work on pods and claims after its start: it
// hears of the pods first, then of the claims.
func (c claimsCase) queue() []purekube.Key {
	var keys []purekube.Key
	add := func(key purekube.Key) {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	for _, p := range c.snapshot.Pods {
		final := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
		if final || p.DeletionTimestamp != nil && p.Spec.NodeName == "" {
			for i := range p.Spec.ResourceClaims {
				if name, state := resourceclaim.ClaimName(p, &p.Spec.ResourceClaims[i]); state == resourceclaim.NameKnown {
					add(resourceclaim.ClaimKey("ns", name))
				}
			}
			if extended := p.Status.ExtendedResourceClaimStatus; extended != nil {
				add(resourceclaim.ClaimKey("ns", extended.ResourceClaimName))
			}
		}
		if c.queued(p) {
			add(resourceclaim.PodKey("ns", p.Name))
		}
	}
	for _, g := range c.snapshot.PodGroups {
		if c.groupQueued(g) {
			add(resourceclaim.PodGroupKey("ns", g.Name))
		}
	}
	for _, claim := range c.snapshot.Claims {
		add(resourceclaim.ClaimKey("ns", claim.Name))
	}
	return keys
}

// queueKey is a key as upstream's work queue has it, "pod:ns/p".
func queueKey(key purekube.Key) string {
	kind := map[string]string{"Pod": "pod", "ResourceClaim": "claim", "PodGroup": "podgroup"}[key.Kind]
	return kind + ":" + key.Namespace + "/" + key.Name
}

// queued reports whether upstream would work on the pod at all. Where the only thing to do is to
// replace a claim that is another pod's, it does not, although its pass over the pod would.
func (c claimsCase) queued(p *corev1.Pod) bool {
	if p.DeletionTimestamp != nil {
		return false
	}
	for i := range p.Spec.ResourceClaims {
		entry := &p.Spec.ResourceClaims[i]
		name, state := resourceclaim.ClaimName(p, entry)
		if state == resourceclaim.NameNotCreated || state == resourceclaim.NameUnsupported {
			return true
		}
		if state == resourceclaim.NameNotNeeded {
			continue
		}
		claim := c.claim(name)
		switch {
		case claim == nil && entry.ResourceClaimTemplateName != nil:
			if !c.leftToGroup(p, entry) {
				return true
			}
		case claim == nil || entry.ResourceClaimTemplateName != nil && !c.owns(p, claim):
		case p.Spec.NodeName != "" && claim.Status.Allocation != nil && !c.reserves(claim, p):
			return true
		}
	}
	return false
}

// waits reports whether upstream's pass over the pod ends with an error because the status does not
// name a claim yet, or names another pod's. That is its way to come back; ours leaves it to the
// events of pod and claim.
func (c claimsCase) waits(p *corev1.Pod) bool {
	if p.Spec.NodeName == "" {
		return false
	}
	for i := range p.Spec.ResourceClaims {
		entry := &p.Spec.ResourceClaims[i]
		name, state := resourceclaim.ClaimName(p, entry)
		if state == resourceclaim.NameNotCreated {
			return true
		}
		if state != resourceclaim.NameKnown {
			continue
		}
		claim := c.claim(name)
		if claim == nil {
			return false
		}
		if entry.ResourceClaimTemplateName != nil && !c.owns(p, claim) {
			return true
		}
	}
	return false
}

func (c claimsCase) claim(name string) *resourcev1.ResourceClaim {
	for _, claim := range c.snapshot.Claims {
		if claim.Name == name {
			return claim
		}
	}
	return nil
}

// reserves reports whether upstream takes the claim for reserved: for the pod by its UID, for its group
// by its name.
func (c claimsCase) reserves(claim *resourcev1.ResourceClaim, p *corev1.Pod) bool {
	return slices.ContainsFunc(claim.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool {
		return r.UID == p.UID || c.groupOf(p) != "" && r.APIGroup == "scheduling.k8s.io" && r.Resource == "podgroups" && r.Name == c.groupOf(p)
	})
}

// owns reports whether upstream takes the claim for the pod's: by its UID, or by its group's name.
func (c claimsCase) owns(p *corev1.Pod, claim *resourcev1.ResourceClaim) bool {
	owner := metav1.GetControllerOf(claim)
	return metav1.IsControlledBy(claim, p) ||
		owner != nil && owner.Kind == "PodGroup" && strings.HasPrefix(owner.APIVersion, "scheduling.k8s.io/") && c.groupOf(p) == owner.Name
}

// groupOf is the pod's group, if PodGroups are on.
func (c claimsCase) groupOf(p *corev1.Pod) string {
	if c.options.PodGroupOf == nil {
		return ""
	}
	return c.options.PodGroupOf(p)
}

// group is the group of that name in the cache.
func (c claimsCase) group(name string) *resourceclaim.PodGroup {
	for i := range c.snapshot.PodGroups {
		if c.snapshot.PodGroups[i].Name == name {
			return &c.snapshot.PodGroups[i]
		}
	}
	return nil
}

// lookUpGroup is what the API server says of a group.
func (c claimsCase) lookUpGroup(name string) *resourceclaim.PodGroup {
	for i := range c.liveGroups {
		if c.liveGroups[i].Name == name {
			return &c.liveGroups[i]
		}
	}
	return c.group(name)
}

// leftToGroup reports whether upstream does not work on a pod on account of an entry whose claim is
// missing: it is one that the pod's group has, or upstream cannot tell.
func (c claimsCase) leftToGroup(p *corev1.Pod, entry *corev1.PodResourceClaim) bool {
	g := c.group(c.groupOf(p))
	if g == nil {
		return false
	}
	for _, e := range g.ResourceClaims {
		if e.ResourceClaimName == nil && e.ResourceClaimTemplateName == nil {
			return true
		}
		if equality.Semantic.DeepEqual(e, *entry) {
			return true
		}
	}
	return false
}

// groupQueued reports whether upstream would work on the group at all.
func (c claimsCase) groupQueued(g resourceclaim.PodGroup) bool {
	if g.Deleting || len(g.ResourceClaims) == 0 {
		return false
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: g.UID, Namespace: "ns"}, Status: corev1.PodStatus{ResourceClaimStatuses: g.ResourceClaimStatuses}}
	for i := range g.ResourceClaims {
		entry := &g.ResourceClaims[i]
		name, state := resourceclaim.ClaimName(pod, entry)
		if state == resourceclaim.NameNotCreated || state == resourceclaim.NameUnsupported {
			return true
		}
		if state == resourceclaim.NameKnown && entry.ResourceClaimTemplateName != nil && c.claim(name) == nil {
			return true
		}
	}
	return false
}

var resourceclaimCore = Core[claimsCase]{
	Name:     "resourceclaim",
	Generate: generateClaims,
	Objects: func(c claimsCase) []runtime.Object {
		var copies []*resourcev1.ResourceClaimTemplate
		for _, t := range c.snapshot.Templates {
			copies = append(copies, t.DeepCopy()) // upstream writes to them (D-6)
		}
		return slices.Concat(asObjects(c.snapshot.Pods), asObjects(c.snapshot.Claims), asObjects(copies), podGroupObjects(c.snapshot.PodGroups))
	},
	Start: startClaims,
	Script: func(c claimsCase, w *World) Trace {
		c.tell(w)
		return w.Settle()
	},
	Upstream: func(c claimsCase, t Trace) Trace { return comparableClaims(c.withoutIdleGets(t)) },
	AnyBytes: true, // statuses come in the order of a Go map
	Ours: func(c claimsCase) Trace {
		o := c.options
		o.MatchUpstream = Release
		return comparableClaims(c.withoutIdleGets(c.trace(o)))
	},
	Kinds: append([]string{
		"nothing", "create resourceclaims", "apply pods/status", "update resourceclaims/status", "update resourceclaims", "delete resourceclaims", "get pods",
		"event Warning FailedResourceClaimCreation", "error",
		"adopted", "deallocated", "reserved", "released and kept", "known to be deleted", "replaced in the cache", "not found", "there after all", "done pod gets a claim",
		"several entries", "not a pod", "unfinished at an error",
	}, claimKindsSince[Release]...),
	Marks:   markClaims,
	Smaller: smallerClaims,
	Describe: func(c claimsCase) string {
		return fmt.Sprintf("options %+v\nseen deleted: %v\non the API server, not in the cache: %s; claims %s", c.options, c.deleted, uids(c.live), owners(c.liveClaims))
	},
}

// claimKindsSince are the kinds of a release beyond those of the one before it.
var claimKindsSince = map[purekube.Upstream][]string{
	purekube.V1_37: {"get resourceclaims", "exists elsewhere"},
}

// withoutIdleGets leaves out the lookups of claims that users name. Since v1.37 the controller makes
// them, and does the same whatever the answer is.
func (c claimsCase) withoutIdleGets(t Trace) Trace {
	t.Requests = slices.DeleteFunc(t.Requests, func(r Request) bool {
		return r.Verb == "get" && r.Resource == "resourceclaims" && slices.ContainsFunc(c.snapshot.Pods, func(p *corev1.Pod) bool {
			return slices.ContainsFunc(p.Spec.ResourceClaims, func(e corev1.PodResourceClaim) bool {
				return e.ResourceClaimName != nil && *e.ResourceClaimName == r.Name
			})
		}) || r.Verb == "get" && r.Resource == "resourceclaims" && slices.ContainsFunc(c.snapshot.PodGroups, func(g resourceclaim.PodGroup) bool {
			return slices.ContainsFunc(g.ResourceClaims, func(e corev1.PodResourceClaim) bool {
				return e.ResourceClaimName != nil && *e.ResourceClaimName == r.Name
			})
		})
	})
	return t
}

func uids(pods []*corev1.Pod) string {
	var out []string
	for _, p := range pods {
		out = append(out, p.Name+" "+string(p.UID))
	}
	return strings.Join(out, ", ")
}

func owners(claims []*resourcev1.ResourceClaim) string {
	var out []string
	for _, c := range claims {
		out = append(out, fmt.Sprintf("%s of %v", c.Name, c.OwnerReferences))
	}
	return strings.Join(out, ", ")
}

// startClaims builds the real controller with the case's features and an API server that has the
// case's pods.
func startClaims(c claimsCase) Start {
	return func(ctx context.Context, w *World) (func(context.Context), error) {
		w.Respond = func(r Request) (runtime.Object, error) {
			if r.Verb == "get" && r.Resource == "pods" {
				if p := c.lookUp(r.Name); p != nil {
					return p, nil
				}
			}
			if r.Verb == "get" && r.Resource == "podgroups" {
				if g := c.lookUpGroup(r.Name); g != nil {
					return podGroupObjects([]resourceclaim.PodGroup{*g})[0], nil
				}
				return nil, apierrors.NewNotFound(schema.GroupResource{Group: "scheduling.k8s.io", Resource: "podgroups"}, r.Name)
			}
			if r.Verb == "get" && r.Resource == "resourceclaims" {
				if claim := c.lookUpClaim(r.Name); claim != nil {
					return claim, nil
				}
				return nil, apierrors.NewNotFound(resourcev1.Resource("resourceclaims"), r.Name)
			}
			return nil, nil
		}
		return startResourceClaim(resourceClaimFeatures{
			AdminAccess: !c.options.DenyAdminAccess, PrioritizedList: !c.options.DenyPrioritizedList, PodGroups: c.options.PodGroupOf != nil,
		})(ctx, w)
	}
}

// tell tells the controller of pods that went, without a change to its cache, and such that it
// has nothing else to do on account of them.
func (c claimsCase) tell(w *World) {
	for _, uid := range c.deleted {
		gone := claimPod("gone", uid)
		gone.DeletionTimestamp = &metav1.Time{Time: Epoch}
		gone.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "x", ResourceClaimTemplateName: ptr.To("none")}}
		for _, h := range w.cacheOf(gone).handlers {
			h.OnDelete(gone)
		}
	}
}

// trace is what a plan for each key in upstream's queue would send.
func (c claimsCase) trace(o resourceclaim.Options) Trace { return c.traceOf(o, c.queue()...) }

// answers play the API server that the snapshot was read from.
func (c claimsCase) answers() *Answers {
	var a Answers
	for _, claim := range c.snapshot.Claims {
		a.Objects = append(a.Objects, claim)
	}
	return &a
}

// traceOf is what the plans for these keys would send.
func (c claimsCase) traceOf(o resourceclaim.Options, keys ...purekube.Key) Trace {
	var t Trace
	answers := c.answers()
	for _, key := range keys {
		result, needs, err := c.plan(key, o)
		for _, n := range needs {
			resource := strings.ToLower(n.Kind) + "s"
			t.Requests = append(t.Requests, Request{Verb: "get", Resource: resource, Namespace: n.Namespace, Name: n.Name})
		}
		t.Requests = append(t.Requests, Planned(answers, result.Actions)...)
		t.Events = append(t.Events, EventsOf(result.Events)...)
		failed := err != nil
		if key.Kind == "Pod" && o.MatchUpstream != "" {
			for _, p := range c.snapshot.Pods {
				failed = failed || p.Name == key.Name && c.waits(p)
			}
		}
		if failed {
			t.Failed = append(t.Failed, queueKey(key))
		}
	}
	return t
}

// comparableClaims leaves out what differs by chance: upstream applies the statuses in the order
// of a Go map, and looks a pod up once for each claim that it holds.
func comparableClaims(t Trace) Trace {
	seen := map[string]bool{}
	var requests []Request
	for _, r := range t.Requests {
		if r.Verb == "get" {
			if seen[r.String()] {
				continue
			}
			seen[r.String()] = true
		}
		if r.Verb == "apply" {
			r.Body = withSortedStatuses(r.Body)
		}
		requests = append(requests, r)
	}
	t.Requests = requests
	return t
}

func withSortedStatuses(body string) string {
	var patch map[string]any
	if json.Unmarshal([]byte(body), &patch) != nil {
		return body
	}
	statuses, ok := patch["status"].(map[string]any)["resourceClaimStatuses"].([]any)
	if !ok {
		return body
	}
	slices.SortFunc(statuses, func(a, b any) int { return strings.Compare(encode(a), encode(b)) })
	return encode(patch)
}

func TestResourceClaim(t *testing.T) { resourceclaimCore.Test(t) }

// TestResourceClaimPatch holds the bytes of the apply to upstream's, not only its meaning. With one
// entry there is no order to differ in.
func TestResourceClaimPatch(t *testing.T) {
	pod := claimPod("p", "uid-p")
	pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: ptr.To("t")}}
	claim := claimOf("c", "p", "gpu")
	s := resourceclaim.Snapshot{Pods: []*corev1.Pod{pod}, Claims: []*resourcev1.ResourceClaim{claim}}
	result, err := resourceclaim.Plan(s, resourceclaim.PodKey("ns", "p"), resourceclaim.Options{MatchUpstream: Release})
	require.NoError(t, err)
	ours := result.Actions[0].Request(nil).Patch
	Run(t, []runtime.Object{pod, claim}, startClaims(claimsCase{}), func(t *testing.T, w *World) {
		w.Settle()
		patches := 0
		for _, a := range w.Client.Actions() {
			if patch, ok := a.(interface{ GetPatch() []byte }); ok {
				patches++
				require.Equal(t, string(patch.GetPatch()), string(ours))
			}
		}
		require.Equal(t, 1, patches)
	})
}

func markClaims(c claimsCase, t Trace) []string {
	var marks []string
	mark := func(yes bool, what string) {
		if yes {
			marks = append(marks, what)
		}
	}
	creates := slices.ContainsFunc(t.Requests, func(r Request) bool { return r.Verb == "create" })
	mark(!slices.Equal(messages(t), messages(c.trace(c.upstreamOptions()))), "another text of an event") // not among the kinds
	for _, key := range c.queue() {
		o := c.options
		o.MatchUpstream = Release
		result, _, err := c.plan(key, o)
		for i, a := range result.Actions {
			switch a := a.(type) {
			case resourceclaim.SetClaimStatuses:
				mark(len(a.Statuses) > 0, "adopted")
			case resourceclaim.Reserve:
				mark(true, "reserved")
			case resourceclaim.Release:
				mark(a.Deallocate, "deallocated")
				mark(len(a.Removed) > 0 && len(a.Claim.Status.ReservedFor) > 0, "released and kept")
			case resourceclaim.CreateClaim:
				mark(err != nil && i == len(result.Actions)-1, "unfinished at an error")
				for _, p := range c.snapshot.Pods {
					mark(p.Name == a.Owner.Name && (p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed), "done pod gets a claim")
				}
			}
		}
		if key.Kind == "ResourceClaim" {
			s := c.snapshot
			s.Deleted = sets.New(c.deleted...)
			s.Answers = map[purekube.Need]purekube.Answer{}
			for _, name := range claimPodNames {
				n := purekube.Need{APIVersion: "v1", Kind: "Pod", Namespace: "ns", Name: name}
				s.Answers[n] = c.answer(n)
			}
			explanation, _ := resourceclaim.NewIndex(s, o).Explain(key)
			for _, r := range explanation.Reasons {
				switch r.Code {
				case resourceclaim.ReasonConsumerDeleted:
					mark(true, "known to be deleted")
				case resourceclaim.ReasonConsumerReplaced:
					mark(true, "replaced in the cache")
				case resourceclaim.ReasonConsumerGone:
					mark(true, "not found")
				case resourceclaim.ReasonConsumerConfirmed:
					mark(true, "there after all")
				case resourceclaim.ReasonConsumerOfOtherKind:
					mark(true, "not a pod")
				}
			}
		}
	}
	mark(slices.ContainsFunc(t.Requests, func(r Request) bool {
		claim := c.lookUpClaim(r.Name)
		return r.Verb == "get" && r.Resource == "resourceclaims" && claim != nil &&
			slices.ContainsFunc(c.snapshot.Pods, func(p *corev1.Pod) bool { return metav1.IsControlledBy(claim, p) })
	}), "exists elsewhere")
	mark(creates && slices.ContainsFunc(c.snapshot.Pods, func(p *corev1.Pod) bool { return len(p.Spec.ResourceClaims) > 1 }), "several entries")
	return marks
}

// upstreamOptions are those of the case, to match the release.
func (c claimsCase) upstreamOptions() resourceclaim.Options {
	o := c.options
	o.MatchUpstream = Release
	return o
}

// messages are the texts of the events, sorted, each once.
func messages(t Trace) []string {
	var texts []string
	for _, e := range t.Events {
		texts = append(texts, e.Message)
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}

func smallerClaims(c claimsCase) []claimsCase {
	var smaller []claimsCase
	with := func(change func(*claimsCase)) {
		less := c
		change(&less)
		smaller = append(smaller, less)
	}
	for _, pods := range Without(c.snapshot.Pods) {
		with(func(less *claimsCase) { less.snapshot.Pods = pods })
	}
	for _, claims := range Without(c.snapshot.Claims) {
		with(func(less *claimsCase) { less.snapshot.Claims = claims })
	}
	for _, templates := range Without(c.snapshot.Templates) {
		with(func(less *claimsCase) { less.snapshot.Templates = templates })
	}
	for _, deleted := range Without(c.deleted) {
		with(func(less *claimsCase) { less.deleted = deleted })
	}
	for _, live := range Without(c.live) {
		with(func(less *claimsCase) { less.live = live })
	}
	for _, groups := range Without(c.snapshot.PodGroups) {
		with(func(less *claimsCase) { less.snapshot.PodGroups = groups })
	}
	for _, groups := range Without(c.liveGroups) {
		with(func(less *claimsCase) { less.liveGroups = groups })
	}
	for _, claims := range Without(c.liveClaims) {
		with(func(less *claimsCase) { less.liveClaims = claims })
	}
	return smaller
}

var (
	claimPodNames = []string{"p0", "p1", "p2", "a-pod.whose-name.is-so-long-that.with-its-entry-it-is-cut-0"}
	claimNames    = []string{"c0", "c1", "c2", "c3", "c4", "c5"}
)

// generateClaims makes pods, claims and templates that refer to each other and to what is not
// there. Everything in it an API server would hold, except that versions and times are made up.
func generateClaims(r *rand.Rand) claimsCase {
	seldom := func() bool { return r.IntN(5) == 0 }
	often := func() bool { return r.IntN(5) > 0 }
	c := claimsCase{snapshot: resourceclaim.Snapshot{Now: Epoch}}
	c.options.DenyAdminAccess = r.IntN(4) == 0 && featuresCanBeOff
	c.options.DenyPrioritizedList = r.IntN(4) == 0 && featuresCanBeOff
	for _, name := range claimPodNames {
		if r.IntN(5) < 2 {
			c.snapshot.Pods = append(c.snapshot.Pods, someClaimPod(r, name))
		} else if seldom() {
			c.live = append(c.live, claimPod(name, someUID(r, name)))
		}
	}
	made := map[string]bool{} // one claim for an entry: of two, upstream takes any
	few := r.IntN(4) == 0
	for _, name := range claimNames {
		if r.IntN(3) == 0 || few && often() {
			continue
		}
		claim := claimOf(name, "", "")
		claim.ResourceVersion = fmt.Sprint(100 + r.IntN(100))
		if often() {
			owner := claimPodNames[r.IntN(len(claimPodNames))]
			uid, entry := someUID(r, owner), fmt.Sprintf("e%d", r.IntN(3))
			if key := string(uid) + entry; !made[key] {
				made[key] = true
				own(claim, owner, uid)
				claim.Annotations = map[string]string{resourcev1.PodResourceClaimAnnotation: entry}
				if seldom() {
					claim.Annotations = nil
				}
				if seldom() {
					claim.OwnerReferences[0].Controller = nil
				}
			}
		}
		if often() {
			claim.Finalizers = []string{resourcev1.Finalizer}
		}
		if seldom() {
			claim.Finalizers = append([]string{"example.com/other"}, claim.Finalizers...)
		}
		if often() {
			claim.Status.Allocation = &resourcev1.AllocationResult{}
			for _, pod := range claimPodNames {
				if r.IntN(3) > 0 {
					continue
				}
				claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: pod, UID: someUID(r, pod)})
			}
			if r.IntN(20) == 0 {
				claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{APIGroup: "scheduling.k8s.io", Resource: "podgroups", Name: "g", UID: "uid-g"})
			}
		}
		if seldom() {
			claim.DeletionTimestamp = &metav1.Time{Time: Epoch}
		}
		c.snapshot.Claims = append(c.snapshot.Claims, claim)
	}
	for _, name := range []string{"plain", "admin", "list"} {
		if !often() {
			continue
		}
		c.snapshot.Templates = append(c.snapshot.Templates, someTemplate(r, name))
	}
	for _, name := range claimNames {
		if r.IntN(2) == 0 && c.claim(name) == nil {
			claim := claimOf(name, "", "")
			if len(c.snapshot.Pods) > 0 && often() {
				owner := c.snapshot.Pods[r.IntN(len(c.snapshot.Pods))]
				own(claim, owner.Name, owner.UID)
			}
			c.liveClaims = append(c.liveClaims, claim)
		}
	}
	for range r.IntN(3) {
		c.deleted = append(c.deleted, someUID(r, claimPodNames[r.IntN(len(claimPodNames))]))
	}
	r.Shuffle(len(c.snapshot.Pods), func(i, j int) { c.snapshot.Pods[i], c.snapshot.Pods[j] = c.snapshot.Pods[j], c.snapshot.Pods[i] })
	return c
}

func someUID(r *rand.Rand, pod string) types.UID {
	if r.IntN(4) == 0 {
		return types.UID("uid-old-" + pod)
	}
	return types.UID("uid-" + pod)
}

func someTemplate(r *rand.Rand, name string) *resourcev1.ResourceClaimTemplate {
	t := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name)}}
	if r.IntN(2) == 0 {
		t.Spec.Labels = map[string]string{"team": "ml"}
		t.Spec.Annotations = map[string]string{"note": "<mine> & yours"}
	}
	request := resourcev1.DeviceRequest{Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", Count: 1}}
	switch name {
	case "admin":
		request.Exactly.AdminAccess = ptr.To(r.IntN(4) > 0)
	case "list":
		request = resourcev1.DeviceRequest{Name: "gpu", FirstAvailable: []resourcev1.DeviceSubRequest{{Name: "big", DeviceClassName: "big", Count: 1}}}
	}
	t.Spec.Spec.Devices.Requests = []resourcev1.DeviceRequest{request}
	return t
}

func someClaimPod(r *rand.Rand, name string) *corev1.Pod {
	p := claimPod(name, someUID(r, name))
	phases := []corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed, corev1.PodUnknown, ""}
	p.Status.Phase = phases[r.IntN(len(phases))]
	if r.IntN(3) > 0 {
		p.Spec.NodeName = "node"
	}
	if r.IntN(6) == 0 {
		p.DeletionTimestamp = &metav1.Time{Time: Epoch}
	}
	for i := range r.IntN(4) {
		entry := corev1.PodResourceClaim{Name: fmt.Sprintf("e%d", i)}
		status := corev1.PodResourceClaimStatus{Name: entry.Name}
		switch r.IntN(12) {
		case 0:
			// From an API that is newer than both.
		case 1, 2, 3, 4:
			entry.ResourceClaimName = ptr.To(claimNames[r.IntN(len(claimNames))])
		default:
			entry.ResourceClaimTemplateName = ptr.To([]string{"plain", "plain", "plain", "admin", "list", "none"}[r.IntN(6)])
			switch r.IntN(6) {
			case 0:
				p.Status.ResourceClaimStatuses = append(p.Status.ResourceClaimStatuses, status)
			case 1, 2:
				status.ResourceClaimName = ptr.To(claimNames[r.IntN(len(claimNames))])
				p.Status.ResourceClaimStatuses = append(p.Status.ResourceClaimStatuses, status)
			}
		}
		p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, entry)
	}
	if r.IntN(5) == 0 {
		p.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: claimNames[r.IntN(len(claimNames))]}
	}
	return p
}

func claimPod(name string, uid types.UID) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: uid, ResourceVersion: "1"}}
}

// claimOf is a claim that was generated for an entry of a pod, or of no pod.
func claimOf(name, pod, entry string) *resourcev1.ResourceClaim {
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name), ResourceVersion: "100"}}
	if pod != "" {
		own(c, pod, types.UID("uid-"+pod))
		c.Annotations = map[string]string{resourcev1.PodResourceClaimAnnotation: entry}
	}
	return c
}

func own(c *resourcev1.ResourceClaim, pod string, uid types.UID) {
	c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod, UID: uid, Controller: ptr.To(true)}}
}
