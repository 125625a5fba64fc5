package main

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/rbacaggregate"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/servicecidr"
)

// compared are the plans of one object: by default, and as kube-controller-manager does it.
type compared struct {
	ours, theirs finding
	// sent: the texts are equal, and the requests are not.
	sent bool
}

// numbersOf are the D-numbers of docs/divergences.md that cause the difference, each with the rule that tells it: a
// reason of the default's plan, or what the two plans have that the other one lacks. Where causes act on the same
// object, all of them are named. It is empty for a difference that no rule tells.
func (c compared) numbersOf(core string, in *cluster, set settings) string {
	found := map[string]bool{}
	switch core {
	case "servicecidr":
		c.serviceCIDR(found)
	case "rbacaggregate":
		c.roles(found)
	case "resourceclaim":
		if c.ours.Object.Kind == "Pod" {
			c.claimsOfPod(found)
		} else {
			c.claim(found)
		}
	case "disruption":
		c.budget(found, in, set)
	}
	var numbers []string
	for number, is := range found {
		if is {
			numbers = append(numbers, number)
		}
	}
	slices.SortFunc(numbers, func(a, b string) int { return numberOf(a) - numberOf(b) })
	return strings.Join(numbers, ", ")
}

func numberOf(divergence string) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(divergence, "D-"))
	return n
}

// because reports whether one of these codes is among the reasons of the default's plan.
func because[Code ~string](c compared, codes ...Code) bool {
	return slices.ContainsFunc(c.ours.Reasons, func(r reason) bool { return slices.Contains(codes, Code(r.code)) })
}

// only are the actions of this type that a has and b has not, by their text.
func only[A purekube.Action](a, b finding) []A {
	var found []A
	for _, x := range a.Actions {
		if typed, is := x.Action.(A); is && !slices.ContainsFunc(b.Actions, func(y action) bool { return y.Text == x.Text }) {
			found = append(found, typed)
		}
	}
	return found
}

// all are the actions of this type.
func all[A purekube.Action](f finding) []A { return only[A](f, finding{}) }

func needs(f finding, kind string) bool {
	return slices.ContainsFunc(f.Needs, func(n purekube.Need) bool { return n.Kind == kind })
}

func (c compared) serviceCIDR(found map[string]bool) {
	if c.sent {
		found["D-3"] = len(all[servicecidr.RemoveFinalizer](c.ours)) > 0
		found["D-26"] = len(all[servicecidr.SetCondition](c.ours)) > 0
		return
	}
	if len(only[servicecidr.RemoveFinalizer](c.theirs, c.ours)) == 0 {
		return
	}
	found["D-1"] = because(c, servicecidr.ReasonContainedByDeleting)
	found["D-2"] = because(c, servicecidr.ReasonUnparsable, servicecidr.ReasonAddressUnknown, servicecidr.ReasonUncertain)
	found["D-25"] = because(c, servicecidr.ReasonContainedByUnprotected)
}

func (c compared) roles(found map[string]bool) {
	for _, a := range all[rbacaggregate.SetRules](c.theirs) {
		found["D-20"] = a.Rules == nil // the apply does not mention rules
	}
	if c.sent {
		found["D-26"] = true
		return
	}
	found["D-35"] = because(c, rbacaggregate.ReasonSourceFails)
	found["D-11"] = because(c, rbacaggregate.ReasonContributesNested, rbacaggregate.ReasonCycle)
}

// claimsOfPod is about what a pod or PodGroup gets: claims, their names in its status, reservations.
func (c compared) claimsOfPod(found map[string]bool) {
	if because(c, resourceclaim.ReasonPodDone) {
		found["D-7"] = true
		return
	}
	names := all[resourceclaim.SetClaimStatuses](c.ours)
	if c.sent {
		found["D-26"] = len(names) > 0
		// continueOnError
		found["D-8"] = len(all[resourceclaim.CreateClaim](c.ours))+len(all[resourceclaim.Reserve](c.ours)) > 0
		return
	}
	if errors.Is(c.ours.Err, resourceclaim.ErrPodGroupClaim) {
		found["D-27"] = true
		return
	}
	ofEntry := func(claims []resourceclaim.CreateClaim, entry string) int {
		return slices.IndexFunc(claims, func(a resourceclaim.CreateClaim) bool { return a.PodClaim == entry })
	}
	mine, other := all[resourceclaim.CreateClaim](c.ours), all[resourceclaim.CreateClaim](c.theirs)
	for _, a := range other {
		switch i := ofEntry(mine, a.PodClaim); {
		case i >= 0:
			found["D-9"] = found["D-9"] || mine[i].Claim.GenerateName != a.Claim.GenerateName
		case needs(c.ours, "ResourceClaim"):
			found["D-28"] = true
		case errors.Is(c.ours.Err, resourceclaim.ErrNotController):
			found["D-38"] = true
		}
	}
	// The controller stops at an entry that fails, or whose claim is not there yet.
	stops := len(only[resourceclaim.Reserve](c.ours, c.theirs)) > 0
	// So does it at a reservation that the API server rejects: here it is an error, and not sent.
	stops = stops || c.ours.Err != nil && len(only[resourceclaim.Reserve](c.theirs, c.ours)) > 0
	for _, a := range mine {
		stops = stops || ofEntry(other, a.PodClaim) < 0
	}
	found["D-8"] = stops
	if theirs := all[resourceclaim.SetClaimStatuses](c.theirs); !stops && len(theirs) > 0 {
		for _, a := range names {
			for _, status := range a.Statuses {
				kept := slices.ContainsFunc(theirs[0].Statuses, func(s corev1.PodResourceClaimStatus) bool {
					return s.Name == status.Name
				})
				found["D-5"] = found["D-5"] || !kept && !slices.Contains(theirs[0].Pending, status.Name)
			}
		}
	}
	reserved := all[resourceclaim.Reserve](c.theirs)
	for i, a := range reserved {
		found["D-16"] = found["D-16"] || slices.ContainsFunc(reserved[:i], func(b resourceclaim.Reserve) bool {
			return b.Claim.Name == a.Claim.Name
		})
	}
}

// claim is about what happens to a claim: releases and deletions.
func (c compared) claim(found map[string]bool) {
	if c.sent {
		found["D-10"] = len(all[resourceclaim.DeleteClaim](c.ours)) > 0
		return
	}
	found["D-17"] = because(c, resourceclaim.ReasonClaimDeleting) &&
		len(only[resourceclaim.DeleteClaim](c.theirs, c.ours)) > 0
	found["D-21"] = needs(c.ours, "Pod")
}

// budget is about the status of a budget, and about events.
func (c compared) budget(found map[string]bool, in *cluster, set settings) {
	for _, e := range c.theirs.Events {
		if !slices.Contains(c.ours.Events, e) {
			found["D-15"] = found["D-15"] || e.Reason == "NotDeleted"
			found["D-29"] = found["D-29"] ||
				slices.Contains([]string{"NoPods", "UnmanagedPods", "MultiplePodDisruptionBudgets"}, e.Reason)
		}
	}
	mine, other := all[disruption.UpdateStatus](c.ours), all[disruption.UpdateStatus](c.theirs)
	failedWith := func(why string, updates []disruption.UpdateStatus) bool {
		return slices.ContainsFunc(updates, func(a disruption.UpdateStatus) bool {
			return slices.ContainsFunc(a.Budget.Status.Conditions, func(c metav1.Condition) bool {
				return c.Reason == policyv1.SyncFailedReason && strings.Contains(c.Message, why)
			})
		})
	}
	failed := func(updates []disruption.UpdateStatus) bool { return failedWith("", updates) }
	switch {
	case len(c.ours.Needs) > 0 || len(c.theirs.Needs) > 0:
		found["D-22"] = true
		return
	case failed(other) && len(mine) == 0:
		found["D-18"] = because(c, disruption.ReasonSyncFailed)
		found["D-13"] = !found["D-18"]
		return
	case failed(other) && !failed(mine):
		found["D-13"] = true
		return
	case len(mine) == 0 && len(other) == 0:
		return
	}
	for _, b := range in.Budgets {
		if disruption.BudgetKey(b.Namespace, b.Name) != c.ours.Object {
			continue
		}
		for pod, evicted := range b.Status.DisruptedPods {
			if hasEntry(other, b, pod) && !hasEntry(mine, b, pod) {
				// After exactly that time the entry has no effect any more, and the controller keeps it.
				expires := set.now.Equal(evicted.Add(disruption.DefaultDeletionTimeout))
				found["D-19"] = found["D-19"] || expires
				found["D-14"] = found["D-14"] || !expires
			}
		}
	}
	for i, a := range mine {
		limit := a.Budget.Status.ExpectedPods == math.MaxInt32
		found["D-23"] = found["D-23"] || limit
		differ := i < len(other) && a.Budget.Status.ExpectedPods != other[i].Budget.Status.ExpectedPods
		found["D-39"] = found["D-39"] || differ && !limit && !failed(mine)
	}
	found["D-39"] = found["D-39"] || failedWith("found no controllers", mine) && !failed(other)
}

// hasEntry reports whether status.disruptedPods names the pod after the updates.
func hasEntry(updates []disruption.UpdateStatus, now *policyv1.PodDisruptionBudget, pod string) bool {
	if len(updates) > 0 {
		now = updates[0].Budget
	}
	_, listed := now.Status.DisruptedPods[pod]
	return listed
}
