package parity

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/resourceclaim"
)

// TestResourceClaimAffected makes one event, and holds ours to name at least the keys that
// upstream works on because of it. A pass over a claim shows in the lookup of a consumer of its
// own that is in no cache; one over a pod shows in what it does.
func TestResourceClaimAffected(t *testing.T) {
	claimsAffected(t, generateClaims, resourceclaim.Options{},
		"pod added", "pod updated", "pod deleted", "claim added", "claim updated", "claim deleted", "template updated",
		"some pod", "some claim", "nothing")
}

// TestResourceClaimPodGroupsAffected does so with PodGroups, and their events.
func TestResourceClaimPodGroupsAffected(t *testing.T) {
	if Release == purekube.V1_36 {
		t.Skip("PodGroups are compared from v1.37 on")
	}
	claimsAffected(t, generateGroups, resourceclaim.Options{PodGroupOf: schedulingGroupOf},
		"pod added", "pod updated", "pod deleted", "claim added", "claim updated", "claim deleted", "template updated",
		"podgroup added", "podgroup updated", "podgroup deleted",
		"some pod", "some claim", "some podgroup", "nothing")
}

func claimsAffected(t *testing.T, generate func(*rand.Rand) claimsCase, o resourceclaim.Options, wanted ...string) {
	run := Settings(t, 5000)
	seen := coverage{}
	matching := o
	matching.MatchUpstream = Release
	events := 8
	if o.PodGroupOf != nil {
		events = 12
	}
	for i := range run.Numbers() {
		r := run.Source(i)
		c := generate(r)
		c.options, c.deleted = o, nil
		for _, claim := range c.snapshot.Claims {
			addAbsentConsumer(&c, claim)
		}
		// With the caches as they are after the event.
		kind := ""
		var affected []purekube.Key
		var worked []string
		Run(t, resourceclaimCore.Objects(c), startClaims(c), func(_ *testing.T, w *World) {
			w.Settle()
			after := c.snapshot
			x := resourceclaim.NewIndex(after, matching)
			with := func(changed resourceclaim.Snapshot) { _, affected = x.With(changed) }
			without := func(gone resourceclaim.Snapshot) { _, affected = x.Without(gone) }
			pods, claims := len(after.Pods), len(after.Claims)
			switch event := r.IntN(events); {
			case event == 8:
				kind = "podgroup added"
				g := someGroup(r, "newcomer")
				after.PodGroups = append(slices.Clone(after.PodGroups), g)
				w.Add(podGroupObjects(after.PodGroups[len(after.PodGroups)-1:])[0])
				with(resourceclaim.Snapshot{PodGroups: []resourceclaim.PodGroup{g}})
			case event > 8 && len(after.PodGroups) > 0:
				k := r.IntN(len(after.PodGroups))
				before := after.PodGroups[k]
				after.PodGroups = slices.Clone(after.PodGroups)
				if event == 9 {
					kind = "podgroup deleted"
					after.PodGroups = slices.Delete(after.PodGroups, k, k+1)
					w.Delete(podGroupObjects([]resourceclaim.PodGroup{before})[0], r.IntN(2) == 0)
					without(resourceclaim.Snapshot{PodGroups: []resourceclaim.PodGroup{before}})
					break
				}
				kind = "podgroup updated"
				g := someGroup(r, before.Name)
				g.UID = before.UID
				after.PodGroups[k] = g
				w.Update(podGroupObjects([]resourceclaim.PodGroup{g})[0])
				with(resourceclaim.Snapshot{PodGroups: []resourceclaim.PodGroup{g}})
			case event == 0:
				kind = "pod added"
				p := someClaimPod(r, "newcomer")
				after.Pods = append(slices.Clone(after.Pods), p)
				w.Add(p)
				with(resourceclaim.Snapshot{Pods: []*corev1.Pod{p}})
			case event == 1 && pods > 0:
				kind = "pod updated"
				k := r.IntN(pods)
				p := someClaimPod(r, after.Pods[k].Name)
				p.UID = after.Pods[k].UID
				after.Pods = slices.Clone(after.Pods)
				after.Pods[k] = p
				w.Update(p)
				with(resourceclaim.Snapshot{Pods: []*corev1.Pod{p}})
			case event == 2 && pods > 0:
				kind = "pod deleted"
				k := r.IntN(pods)
				p := after.Pods[k]
				after.Pods = slices.Delete(slices.Clone(after.Pods), k, k+1)
				w.Delete(p, r.IntN(2) == 0)
				without(resourceclaim.Snapshot{Pods: []*corev1.Pod{p}})
			case event == 3:
				kind = "claim added"
				claim := claimOf("newcomer", "p0", "e0")
				addAbsentConsumer(&c, claim)
				after.Claims = append(slices.Clone(after.Claims), claim)
				w.Add(claim)
				with(resourceclaim.Snapshot{Claims: []*resourcev1.ResourceClaim{claim}})
			case event <= 5 && claims > 0:
				kind = "claim updated"
				k := r.IntN(claims)
				claim := after.Claims[k].DeepCopy()
				claim.ResourceVersion = "300"
				claim.Status.Allocation = &resourcev1.AllocationResult{}
				after.Claims = slices.Clone(after.Claims)
				after.Claims[k] = claim
				w.Update(claim)
				with(resourceclaim.Snapshot{Claims: []*resourcev1.ResourceClaim{claim}})
			case event == 6 && claims > 0:
				kind = "claim deleted"
				k := r.IntN(claims)
				claim := after.Claims[k]
				after.Claims = slices.Delete(slices.Clone(after.Claims), k, k+1)
				w.Delete(claim, r.IntN(2) == 0)
				without(resourceclaim.Snapshot{Claims: []*resourcev1.ResourceClaim{claim}})
			case event == 7 && len(after.Templates) > 0:
				kind = "template updated"
				template := after.Templates[r.IntN(len(after.Templates))].DeepCopy()
				w.Update(template)
				with(resourceclaim.Snapshot{Templates: []*resourcev1.ResourceClaimTemplate{template}})
			default:
				return
			}
			worked = claimKeysOf(w.Settle(), after)
			if o.PodGroupOf != nil && !strings.HasPrefix(kind, "pod ") {
				// Upstream works on all pods of the PodGroup, or of one that uses the claim or template, and on
				// the claims of those that are done, although nothing differs for them.
				worked = slices.DeleteFunc(worked, func(key string) bool { return c.samePlan(key, after, matching) })
			}
		})
		if kind == "" {
			continue
		}
		for _, key := range worked {
			if !slices.ContainsFunc(affected, func(k purekube.Key) bool { return queueKey(k) == key }) {
				t.Fatalf("after %s upstream works on %s, ours names only %v\nfor\n%s\n%s", kind, key, affected, resourceclaimCore.text(c), run.Again(t, i))
			}
		}
		kinds := []string{kind}
		for _, key := range worked {
			of, _, _ := strings.Cut(key, ":")
			kinds = append(kinds, "some "+of)
		}
		if len(worked) == 0 {
			kinds = append(kinds, "nothing")
		}
		seen.add(kinds)
	}
	seen.check(t, wanted)
}

// samePlan reports whether the plan for a key is what it was before the event.
func (c claimsCase) samePlan(key string, after resourceclaim.Snapshot, o resourceclaim.Options) bool {
	kind, object, _ := strings.Cut(key, ":")
	namespace, name, _ := strings.Cut(object, "/")
	parsed := purekube.Key{Kind: map[string]string{"pod": "Pod", "claim": "ResourceClaim", "podgroup": "PodGroup"}[kind], Namespace: namespace, Name: name}
	then, thenErr := resourceclaim.Plan(c.snapshot, parsed, o)
	now, nowErr := resourceclaim.Plan(after, parsed, o)
	return cmp.Equal(then, now) && fmt.Sprint(thenErr) == fmt.Sprint(nowErr)
}

// addAbsentConsumer gives a claim a consumer that only the API server has, so that it is asked for.
func addAbsentConsumer(c *claimsCase, claim *resourcev1.ResourceClaim) {
	absent := claimPod("absent-"+claim.Name, types.UID("uid-absent-"+claim.Name))
	c.live = append(c.live, absent)
	claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: absent.Name, UID: absent.UID})
}

// claimKeysOf are the keys whose passes left these traces.
func claimKeysOf(t Trace, s resourceclaim.Snapshot) []string {
	keys := slices.Clone(t.Failed)
	for _, r := range t.Requests {
		switch {
		case r.Verb == "get" && strings.HasPrefix(r.Name, "absent-"):
			keys = append(keys, fmt.Sprintf("claim:ns/%s", strings.TrimPrefix(r.Name, "absent-")))
		case r.Verb == "apply":
			keys = append(keys, fmt.Sprintf("%s:ns/%s", strings.TrimSuffix(r.Resource, "s"), r.Name))
		case r.Verb == "create":
			var claim resourcev1.ResourceClaim
			if json.Unmarshal([]byte(r.Body), &claim) == nil {
				owner := metav1.GetControllerOf(&claim)
				keys = append(keys, fmt.Sprintf("%s:ns/%s", strings.ToLower(owner.Kind), owner.Name))
			}
		case r.Verb == "update" && r.Subresource == "status":
			// A reservation: it lists a pod that the claim does not list yet.
			var claim resourcev1.ResourceClaim
			if json.Unmarshal([]byte(r.Body), &claim) != nil {
				continue
			}
			for _, cached := range s.Claims {
				for _, ref := range claim.Status.ReservedFor {
					// Which of its pods a PodGroup's reservation is made for does not show.
					if cached.Name == claim.Name && ref.Resource == "pods" && !reservesUID(cached, ref.UID) {
						keys = append(keys, fmt.Sprintf("pod:ns/%s", ref.Name))
					}
				}
			}
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

func reservesUID(claim *resourcev1.ResourceClaim, uid types.UID) bool {
	return slices.ContainsFunc(claim.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool { return r.UID == uid })
}
