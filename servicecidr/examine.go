package servicecidr

// examination is all that is known about the deletion of one ServiceCIDR.
type examination struct {
	obstacles
	Deletion
	// covers are, for each prefix of the ServiceCIDR, the others that bear on it.
	covers []covers
}

// covers are the other ServiceCIDRs that bear on the addresses of one prefix.
type covers struct {
	by, unreliable []*object // contain it as a whole; see Coverage
	inside         []*object // reliable, with a prefix inside; only where by is empty
}

// examine finds out whether x may go, or might go if its deletion began now, and what is not known
// about the addresses. It names as many orphans as the limit allows; no limit is 0 or less.
func (c cidrs) examine(x *object, ips addresses, limit int, o Options) (examination, unknown) {
	exposed := set{c.prefixes.exposed(x), x.families}
	orphans, more, u := ips.orphans(exposed, limit)
	e := examination{
		obstacles: c.obstacles(x, len(orphans) > 0, len(exposed.ranges) > 0, u, o),
		Deletion:  Deletion{Orphans: orphans, MoreOrphans: more},
	}
	e.Safe = e.obstacles.none()
	for _, p := range x.prefixes {
		var others covers
		others.by, others.unreliable = c.prefixes.containing(x, p)
		if len(others.by) == 0 {
			others.inside = c.prefixes.coveringInside(x, p)
		}
		e.covers = append(e.covers, others)
		e.Coverage = append(e.Coverage, Coverage{Prefix: p, By: namesOf(others.by), Unreliable: namesOf(others.unreliable)})
	}
	return e, u
}

func namesOf(all []*object) []string {
	var names []string
	for _, x := range all {
		names = append(names, x.Name)
	}
	return names
}
