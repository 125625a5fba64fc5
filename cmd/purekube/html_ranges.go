package main

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"sort"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/purekube/purekube/internal/message"
	"github.com/purekube/purekube/servicecidr"
)

// rangeGroup is a prefix that no other one contains, and those inside it. They are drawn on one scale.
type rangeGroup struct {
	Span string
	Rows []rangeRow
}

// rangeRow is one prefix of one ServiceCIDR.
type rangeRow struct {
	Prefix, Name, Link string
	Badges             []badge
	// Drawn: there are not too many for pictures. X and Width place the prefix on the scale of its group.
	Drawn    bool
	X, Width string
	// The parts that other ServiceCIDRs contain on which this one may rely.
	Covered []rangePart
	// Ticks are the addresses, neighbouring ones together.
	Ticks []rangeTick
	// Text says in words what the picture shows.
	Text    string
	Orphans []string
}

// rangePart is a piece of a bar.
type rangePart struct{ X, Width, Title string }

// rangeTick is one or more addresses at a place. Class is a CSS class.
type rangeTick struct{ X, Class, Title string }

// tickPlaces is how many places a scale has for addresses.
const tickPlaces = 240

// rangesDrawn is up to how many prefixes are drawn: each picture asks about all others.
const rangesDrawn = 200

// prefixOf is one entry of spec.cidrs with what the core says of it.
type prefixOf struct {
	prefix   netip.Prefix
	name     string
	coverage servicecidr.Coverage
}

func newRangeGroups(c *cluster, set settings, links links) []rangeGroup {
	options := servicecidr.Options{MatchUpstream: set.matchUpstream}
	// What is wrong is among the problems of the report.
	explanations, _ := servicecidr.NewIndex(c.ServiceCIDR(set.now), options).ExplainAll()
	r := ranges{cidrs: c.ServiceCIDRs, explained: map[string]servicecidr.Explanation{}, set: set, options: options,
		links: links}
	var all []prefixOf
	for _, e := range explanations {
		if c.ReadInPart(e.Key) {
			continue
		}
		r.explained[e.Key.Name] = e
		for _, coverage := range e.Deletion.Coverage {
			all = append(all, prefixOf{coverage.Prefix, e.Key.Name, coverage})
		}
	}
	r.drawn = len(all) <= rangesDrawn
	for _, a := range c.IPAddresses {
		if addr, err := netip.ParseAddr(a.Name); err == nil {
			r.addresses = append(r.addresses, addr)
		}
	}
	slices.SortFunc(r.addresses, netip.Addr.Compare)
	r.addresses = slices.Compact(r.addresses)
	slices.SortFunc(all, func(a, b prefixOf) int {
		return cmp.Or(a.prefix.Addr().Compare(b.prefix.Addr()), cmp.Compare(a.prefix.Bits(), b.prefix.Bits()),
			cmp.Compare(a.name, b.name))
	})

	var groups []rangeGroup
	for start := 0; start < len(all); {
		span, end := all[start].prefix, start
		for end < len(all) && span.Contains(all[end].prefix.Addr()) {
			end++
		}
		group := rangeGroup{Span: span.String()}
		for _, p := range all[start:end] {
			group.Rows = append(group.Rows, r.row(p, all[start:end], span))
		}
		groups = append(groups, group)
		start = end
	}
	slices.SortStableFunc(groups, func(a, b rangeGroup) int { return cmp.Compare(a.rank(), b.rank()) })
	return groups
}

// rank is the rank of the worst row.
func (g rangeGroup) rank() int {
	worst := rank(classPlain)
	for _, r := range g.Rows {
		worst = min(worst, rank(r.Badges[0].Class))
	}
	return worst
}

// ranges is what the rows are made of.
type ranges struct {
	cidrs     []*networkingv1.ServiceCIDR
	explained map[string]servicecidr.Explanation
	addresses []netip.Addr
	set       settings
	options   servicecidr.Options
	links     links
	// drawn: there is a picture for each prefix.
	drawn bool
}

func (r ranges) row(p prefixOf, group []prefixOf, span netip.Prefix) rangeRow {
	e := r.explained[p.name]
	row := rangeRow{
		Prefix: p.prefix.String(), Name: p.name, Link: r.links.to("ServiceCIDR", "", p.name),
		X: percent(place(span, p.prefix.Addr()), 1), Width: percent(share(span, p.prefix), 1),
	}
	orphans := map[netip.Addr]string{}
	for _, o := range e.Deletion.Orphans {
		if servicecidr.PrefixContainsIP(p.prefix, o.Address) {
			orphans[o.Address] = o.String()
			row.Orphans = append(row.Orphans, o.String())
		}
	}
	inside := r.inside(p.prefix)
	if r.drawn {
		row.Covered = r.covered(p, group, span)
		row.Ticks = ticks(inside, orphans, span, e.Deleting)
	}
	row.Drawn = r.drawn

	row.Text = message.Count(len(inside), "address")
	if n := len(orphans); n > 0 {
		row.Text += fmt.Sprintf(", %d of them in no other ServiceCIDR", n)
	}
	if by := p.coverage.By; len(by) > 0 {
		row.Text += "; all of it is in " + list(by, 4)
	}
	if others := p.coverage.Unreliable; len(others) > 0 {
		row.Text += "; " + list(others, 4) + " " + verb(len(others), "contains", "contain") + " it too, but may be gone first"
	}
	switch {
	case e.Deleting && len(e.Deletion.Orphans) > 0:
		row.Badges = []badge{{classBad, "being deleted, cannot go"}}
	case e.Deleting && e.Deletion.Safe:
		row.Badges = []badge{{classNote, "being deleted, can go"}}
	case e.Deleting:
		row.Badges = []badge{{classBad, "being deleted, not known"}}
	case e.Deletion.Safe:
		row.Badges = []badge{{classOK, "in use, could go"}}
	default:
		row.Badges = []badge{{classPlain, "in use"}}
	}
	return row
}

// The parts of a prefix that are in ranges of others on which its ServiceCIDR may rely: the whole prefix,
// or the smaller ranges inside it.
func (r ranges) covered(p prefixOf, group []prefixOf, span netip.Prefix) []rangePart {
	if by := p.coverage.By; len(by) > 0 {
		return []rangePart{{percent(place(span, p.prefix.Addr()), 1), percent(share(span, p.prefix), 1),
			p.prefix.String() + " is in " + list(by, 10)}}
	}
	var smaller []string
	for _, q := range group {
		if q.name != p.name && q.prefix.Bits() > p.prefix.Bits() && p.prefix.Contains(q.prefix.Addr()) {
			smaller = append(smaller, q.prefix.String())
		}
	}
	if len(smaller) == 0 {
		return nil
	}
	// The core says of whole prefixes who contains them: so ask as if the ServiceCIDR had just the parts.
	asked := servicecidr.Snapshot{Now: r.set.now}
	for _, x := range r.cidrs {
		if x.Name == p.name {
			x = x.DeepCopy()
			x.Spec.CIDRs = slices.Compact(smaller)
		}
		asked.ServiceCIDRs = append(asked.ServiceCIDRs, x)
	}
	// What is wrong is among the problems of the report.
	answer, _ := servicecidr.NewIndex(asked, r.options).CheckDeletion(servicecidr.Key(p.name), 1)
	var parts []rangePart
	for _, c := range answer.Coverage {
		if len(c.By) > 0 {
			parts = append(parts, rangePart{percent(place(span, c.Prefix.Addr()), 1), percent(share(span, c.Prefix), 1),
				c.Prefix.String() + " is in " + strings.Join(c.By, ", ")})
		}
	}
	return parts
}

// inside are the addresses of a prefix.
func (r ranges) inside(p netip.Prefix) []netip.Addr {
	start, _ := slices.BinarySearchFunc(r.addresses, p.Addr(), netip.Addr.Compare)
	end := sort.Search(len(r.addresses)-start, func(i int) bool { return !p.Contains(r.addresses[start+i]) })
	return r.addresses[start : start+end]
}

// ticks puts addresses on the scale of span.
func ticks(inside []netip.Addr, orphans map[netip.Addr]string, span netip.Prefix, deleting bool) []rangeTick {
	var list []rangeTick
	for start := 0; start < len(inside); {
		at := int(place(span, inside[start]) * tickPlaces)
		end, lost := start, []string{}
		for end < len(inside) && int(place(span, inside[end])*tickPlaces) == at {
			if text := orphans[inside[end]]; text != "" {
				lost = append(lost, text)
			}
			end++
		}
		tick := rangeTick{X: percent(float64(at)+0.5, tickPlaces), Class: "held", Title: inside[start].String()}
		if end-start > 1 {
			tick.Title = fmt.Sprintf("%s from %s to %s", message.Count(end-start, "address"), inside[start], inside[end-1])
		}
		if len(lost) > 0 {
			tick.Class = "only"
			if deleting {
				tick.Class = "orphan"
			}
			tick.Title += ", in no other ServiceCIDR: " + strings.Join(lost[:min(len(lost), 10)], ", ")
		}
		list = append(list, tick)
		start = end
	}
	return list
}

// place is the position of an address in a prefix, from 0 to 1.
func place(span netip.Prefix, a netip.Addr) float64 {
	bits, at, half := a.AsSlice(), 0.0, 0.5
	for i := span.Bits(); i < len(bits)*8 && half > 1e-12; i++ {
		if bits[i/8]&(0x80>>(i%8)) != 0 {
			at += half
		}
		half /= 2
	}
	return at
}

// share is how much of a prefix another one inside it takes, from 0 to 1.
func share(span, inner netip.Prefix) float64 {
	part := 1.0
	for range inner.Bits() - span.Bits() {
		part /= 2
	}
	return part
}
