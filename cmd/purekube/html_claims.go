package main

import (
	"cmp"
	"slices"
)

// claimList are the claims, the ones with something to do first.
type claimList struct{ First, More []claimRow }

// claimRow is one ResourceClaim with its consumers.
type claimRow struct {
	Name, Link string
	Badges     []badge
	Consumers  []claimConsumer
	// More is how many consumers are left out.
	More int
}

type claimConsumer struct{ Kind, Name, Link, Code, State string }

func newClaimList(g claimGraph, links links) *claimList {
	if len(g) == 0 {
		return nil
	}
	var rows []claimRow
	for _, claim := range g {
		row := claimRow{Name: claim.name.String(), Link: links.to("ResourceClaim", claim.name.Namespace, claim.name.Name)}
		if claim.allocated {
			row.Badges = append(row.Badges, badge{classOK, "allocated"})
		} else {
			row.Badges = append(row.Badges, badge{classPlain, "not allocated"})
		}
		if claim.deleting {
			row.Badges = append(row.Badges, badge{classNote, "being deleted"})
		}
		for _, u := range claim.consumers {
			consumer := claimConsumer{Kind: u.kind, Name: u.name, Code: u.code, State: u.state}
			if u.kind == "Pod" {
				consumer.Link = links.to("Pod", claim.name.Namespace, u.name)
			}
			row.Consumers = append(row.Consumers, consumer)
		}
		row.Consumers, row.More = atMost(row.Consumers, 0)
		rows = append(rows, row)
	}
	slices.SortStableFunc(rows, func(a, b claimRow) int { return cmp.Compare(a.rank(), b.rank()) })
	shown := min(len(rows), claimsShown)
	return &claimList{rows[:shown], rows[shown:]}
}

// claimsShown is how many claims are shown; the others are one click away.
const claimsShown = 5 * shownAtMost

// rank puts claims that are being deleted first, and claims that are not allocated next.
func (r claimRow) rank() int { return rank(r.Badges[len(r.Badges)-1].Class) }
