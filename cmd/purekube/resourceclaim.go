package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/message"
	"github.com/purekube/purekube/internal/wholecluster"
	"github.com/purekube/purekube/resourceclaim"
)

func planResourceClaim(c *cluster, set settings) section {
	snapshot, options := claimSnapshot(c, set)
	index := resourceclaim.NewIndex(snapshot, options)
	outcomes, whole := index.PlanAll()

	reasons := map[purekube.Key][]resourceclaim.Reason{}
	byKey := map[purekube.Key]resourceclaim.Outcome{}
	for _, o := range outcomes {
		byKey[o.Key] = o
	}
	keys := make([]purekube.Key, 0, len(outcomes))
	// Its error is PlanAll's.
	explanations, _ := index.ExplainAll()
	explained := map[purekube.Key]resourceclaim.Explanation{}
	for _, e := range explanations {
		reasons[e.Key], explained[e.Key] = e.Reasons, e
		if _, planned := byKey[e.Key]; set.explain && !planned {
			byKey[e.Key] = resourceclaim.Outcome{Key: e.Key}
		}
	}
	for key := range byKey {
		keys = append(keys, key)
	}
	// Claims come before pods.
	slices.SortFunc(keys, func(a, b purekube.Key) int { return cmp.Or(cmp.Compare(b.Kind, a.Kind), a.Compare(b)) })

	s := section{Headline: claimsHeadline(c), Err: whole}
	for _, key := range keys {
		o := byKey[key]
		f := findingOf(purekube.Key{Kind: key.Kind, Namespace: key.Namespace, Name: key.Name}, o.Result, o.Err,
			func(a resourceclaim.Action) (more, why string) {
				return "", whyClaim(a, reasons[key])
			})
		f.Reasons = reasonsOf(reasons[key])
		if e, found := explained[key]; set.explain && found {
			f.Explained = e
			for _, r := range reasons[key] {
				f.Explanation = append(f.Explanation, r.String())
			}
		}
		s.Findings = append(s.Findings, f)
	}
	return s
}

// claimSnapshot is what the plan of the claims rests on.
func claimSnapshot(c *cluster, set settings) (resourceclaim.Snapshot, resourceclaim.Options) {
	snapshot := c.ResourceClaim(set.now)
	if set.assumeComplete {
		snapshot.Answers = wholecluster.Answers(c.Pods, c.Claims)
	}
	return snapshot, resourceclaim.Options{MatchUpstream: set.matchUpstream}
}

func claimsHeadline(c *cluster) string {
	allocated, users := 0, 0
	for _, claim := range c.Claims {
		if claim.Status.Allocation != nil {
			allocated++
		}
	}
	for _, p := range c.Pods {
		if len(p.Spec.ResourceClaims) > 0 || p.Status.ExtendedResourceClaimStatus != nil {
			users++
		}
	}
	return fmt.Sprintf("%s, %d of them allocated, and %s that %s claims",
		message.Count(len(c.Claims), "ResourceClaim"), allocated, message.Count(users, "pod"), verb(users, "uses", "use"))
}

// whyClaim says what called for an action, from the reasons for its pod or claim.
func whyClaim(a resourceclaim.Action, reasons []resourceclaim.Reason) string {
	switch a := a.(type) {
	case resourceclaim.CreateClaim:
		return "the pod has no claim for this entry yet"
	case resourceclaim.SetClaimStatuses:
		return "the pod's status does not name all of its claims"
	case resourceclaim.Reserve:
		return "it is allocated, and the pod has a node"
	case resourceclaim.Release:
		if len(a.Removed) == 0 {
			return "it has no consumers and is being deleted"
		}
		return list(releasedFrom(a, reasons), 4)
	case resourceclaim.RemoveFinalizer:
		return "it is no longer allocated"
	case resourceclaim.DeleteClaim:
		for _, r := range reasons {
			if r.Code == resourceclaim.ReasonOwnerNeedsNoClaim {
				before, _, _ := strings.Cut(r.Message, ":")
				return before
			}
		}
	}
	return ""
}

// releasedFrom are the reasons for each consumer that is taken away.
func releasedFrom(a resourceclaim.Release, reasons []resourceclaim.Reason) []string {
	gone := []resourceclaim.Code{
		resourceclaim.ReasonConsumerDeleted, resourceclaim.ReasonConsumerReplaced, resourceclaim.ReasonConsumerDone,
		resourceclaim.ReasonConsumerGone,
	}
	var texts []string
	for _, r := range reasons {
		released := slices.ContainsFunc(a.Removed, func(c resourcev1.ResourceClaimConsumerReference) bool {
			return c.Name == r.Object.Name
		})
		if slices.Contains(gone, r.Code) && released {
			texts = append(texts, r.Message)
		}
	}
	return texts
}
