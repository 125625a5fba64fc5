package main

import (
	"cmp"
	"fmt"
	"slices"
)

// rolePicture is the graph of role aggregation: drawn, and as a table with what each edge brings.
type rolePicture struct {
	Width, Height int
	Boxes         []roleBox
	Arrows        []roleArrow
	// TooLarge: there are more ClusterRoles or arrows than a picture can show.
	TooLarge bool
	// Edges are arrows in words, and More is how many are left out.
	Edges []roleEdgeRow
	More  int
}

type roleBox struct {
	X, Y, Width, Height, TextX, TextY int
	Class, Text, Title, Link          string
}

type roleArrow struct {
	Path, Class, Text, Title string
	TextX, TextY             int
}

// roleEdgeRow is one edge in words.
type roleEdgeRow struct {
	From, FromLink, To, ToLink, Label string
	Rules                             []roleRuleRow
	// More is how many rules are left out.
	More int
}

type roleRuleRow struct {
	Text  string
	Fresh bool
}

// Sizes in pixels.
const (
	roleBoxHeight = 26
	roleRowHeight = 40
	roleColumnGap = 150
	roleMargin    = 8
	roleBackDepth = 40 // of an arrow that closes a cycle, below the boxes
	roleCharWidth = 7.3
	roleNameMost  = 36  // characters
	rolesDrawn    = 200 // ClusterRoles
	arrowsDrawn   = 600
)

func newRolePicture(g roleGraph, links links) *rolePicture {
	if len(g.nodes) == 0 {
		return nil
	}
	p := &rolePicture{TooLarge: len(g.nodes) > rolesDrawn || len(g.edges) > arrowsDrawn}
	edges, more := cut(g.edges, arrowsDrawn)
	p.More = len(more)
	for _, e := range edges {
		from, to := g.nodes[e.from].name, g.nodes[e.to].name
		row := roleEdgeRow{From: from, FromLink: links.to("ClusterRole", "", from), To: to,
			ToLink: links.to("ClusterRole", "", to), Label: e.label()}
		for _, r := range e.rules {
			row.Rules = append(row.Rules, roleRuleRow{r.text, r.fresh})
		}
		row.Rules, row.More = atMost(row.Rules, 0)
		p.Edges = append(p.Edges, row)
	}
	if !p.TooLarge {
		p.draw(g, links)
	}
	return p
}

// draw places each ClusterRole in the column of its level, sources left of the ClusterRoles that aggregate them.
func (p *rolePicture) draw(g roleGraph, links links) {
	levels := g.levels()
	rows := g.rows(levels)
	columns := slices.Max(levels) + 1
	width := make([]int, columns)
	for i, n := range g.nodes {
		width[levels[i]] = max(width[levels[i]], int(float64(min(len([]rune(n.name)), roleNameMost))*roleCharWidth)+20)
	}
	left := make([]int, columns)
	for level, x := 0, roleMargin; level < columns; level++ {
		left[level] = x
		x += width[level] + roleColumnGap
	}
	for i, n := range g.nodes {
		box := roleBox{
			X: left[levels[i]], Y: roleMargin + int(rows[i]*roleRowHeight), Width: width[levels[i]], Height: roleBoxHeight,
			Text: short(n.name, roleNameMost), Title: n.name, Link: links.to("ClusterRole", "", n.name), Class: "source",
		}
		if n.aggregated {
			box.Class = "aggregated"
		}
		switch {
		case n.wrong:
			box.Class += " wrong"
			box.Title += ": its plan ended with an error"
		case n.changes:
			box.Class += " changes"
			box.Title += ": the plan writes its rules"
		}
		box.TextX, box.TextY = box.X+10, box.Y+17
		p.Boxes = append(p.Boxes, box)
		p.Width, p.Height = max(p.Width, box.X+box.Width+roleMargin), max(p.Height, box.Y+box.Height+roleMargin)
	}
	for _, e := range g.edges {
		a := arrow(p.Boxes[e.from], p.Boxes[e.to], e, levels[e.from] < levels[e.to])
		a.Title = fmt.Sprintf("%s brings %s to %s", g.nodes[e.from].name, e.label(), g.nodes[e.to].name)
		p.Arrows = append(p.Arrows, a)
	}
	if slices.ContainsFunc(p.Arrows, func(a roleArrow) bool { return a.Class == "back" }) {
		p.Height += roleBackDepth + roleMargin
	}
}

// arrow leads from the right of a box to the left of another. One that closes a cycle leads from bottom to bottom.
func arrow(from, to roleBox, e roleEdge, forward bool) roleArrow {
	a := roleArrow{Text: e.label()}
	if !forward {
		x1, y1, x2, y2 := from.X+from.Width/2, from.Y+from.Height, to.X+to.Width/2, to.Y+to.Height+6
		bend := max(y1, y2) + roleBackDepth
		a.Class = "back"
		a.Path = fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x1, y1, x1, bend, x2, bend, x2, y2)
		a.TextX, a.TextY = (x1+x2)/2, max(y1, y2)+roleBackDepth*3/4+14
		return a
	}
	x1, y1 := from.X+from.Width, from.Y+from.Height/2
	x2, y2 := to.X-6, to.Y+to.Height/2
	a.Class = "forward"
	bend := x2 - roleColumnGap/2
	a.Path = fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x1, y1, bend, y1, bend, y2, x2, y2)
	if e.fresh() > 0 {
		a.Class += " fresh"
	}
	// On the side that the curve turns away from.
	a.TextX, a.TextY = x1+8, y1-5
	if y2 < y1 {
		a.TextY = y1 + 13
	}
	return a
}

// levels are 0 for a ClusterRole without sources and one more than the highest of its sources for others. An edge
// that closes a cycle does not count.
func (g roleGraph) levels() []int {
	sources := make([][]int, len(g.nodes))
	for _, e := range g.edges {
		sources[e.to] = append(sources[e.to], e.from)
	}
	levels := make([]int, len(g.nodes))
	const unseen, open, closed = 0, 1, 2
	state := make([]int, len(g.nodes))
	var visit func(int)
	visit = func(n int) {
		state[n] = open
		for _, s := range sources[n] {
			if state[s] == unseen {
				visit(s)
			}
			if state[s] == closed {
				levels[n] = max(levels[n], levels[s]+1)
			}
		}
		state[n] = closed
	}
	for n := range g.nodes {
		if state[n] == unseen {
			visit(n)
		}
	}
	return levels
}

// rows are the vertical places: the lowest level below each other, in the order in which those above it reach
// them; each other ClusterRole at the middle of its sources, or below the previous one.
func (g roleGraph) rows(levels []int) []float64 {
	sources := make([][]int, len(g.nodes))
	for _, e := range g.edges {
		sources[e.to] = append(sources[e.to], e.from)
	}
	order := make([]int, len(g.nodes))
	for i := range order {
		order[i] = i
	}
	// The highest first, so that what only they aggregate stays together.
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(levels[b], levels[a]) })
	rows := make([]float64, len(g.nodes))
	placed := make([]bool, len(g.nodes))
	next := 0.0
	var reach func(int)
	reach = func(n int) {
		if placed[n] {
			return
		}
		placed[n] = true
		for _, s := range sources[n] {
			reach(s)
		}
		if levels[n] == 0 {
			rows[n] = next
			next++
		}
	}
	for _, n := range order {
		reach(n)
	}
	for level := 1; level <= slices.Max(levels); level++ {
		var column []int
		for n := range g.nodes {
			if levels[n] != level {
				continue
			}
			sum, below := 0.0, 0.0
			for _, s := range sources[n] {
				if levels[s] < level {
					sum += rows[s]
					below++
				}
			}
			rows[n] = sum / below
			column = append(column, n)
		}
		slices.SortStableFunc(column, func(a, b int) int { return cmp.Compare(rows[a], rows[b]) })
		for i := 1; i < len(column); i++ {
			rows[column[i]] = max(rows[column[i]], rows[column[i-1]]+1)
		}
	}
	return rows
}

// short cuts a text after so many characters.
func short(s string, most int) string {
	runes := []rune(s)
	if len(runes) <= most {
		return s
	}
	return string(runes[:most-1]) + "…"
}
