package main

// claimRow is one ResourceClaim with its consumers.
type claimRow struct {
	Name, Link string
	Badges     []badge
	Consumers  []claimConsumer
}

type claimConsumer struct{ Kind, Name, Link, Code, State string }

func newClaimRows(g claimGraph, links links) []claimRow {
	var rows []claimRow
	for _, claim := range g {
		row := claimRow{Name: claim.name.String(), Link: links.to("ResourceClaim", claim.name.Namespace, claim.name.Name)}
		if claim.allocated {
			row.Badges = append(row.Badges, badge{"ok", "allocated"})
		} else {
			row.Badges = append(row.Badges, badge{"plain", "not allocated"})
		}
		if claim.deleting {
			row.Badges = append(row.Badges, badge{"note", "being deleted"})
		}
		for _, u := range claim.consumers {
			consumer := claimConsumer{Kind: u.kind, Name: u.name, Code: u.code, State: u.state}
			if u.kind == "Pod" {
				consumer.Link = links.to("Pod", claim.name.Namespace, u.name)
			}
			row.Consumers = append(row.Consumers, consumer)
		}
		rows = append(rows, row)
	}
	return rows
}
