package rbacaggregate

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/purekube/purekube/internal/persistent"
)

// This file connects roles and selectors in both directions, without comparing each selector with each role:
//
//	matched       selector ▶ roles:   x.labels finds the roles that have a label that the selector demands
//	aggregators   role ▶ selectors:   x.selectors finds the selectors that demand labels of the role,
//	                                  x.requests finds the roles that have these selectors
//
// Upstream lists all ClusterRoles of the cache for each selector of each role. In a cluster in which every team has its
// own aggregated ClusterRole, that is n² comparisons for each event.

// filedSelector is a selector, filed under its text. The text is the identity: the same selector in admin and in edit
// is filed once.
type filedSelector = persistent.Filed[*selector]

// file makes an entry that is in no collection. The pointer is the identity of the entry: see aggregators.
func file(s *selector) *filedSelector {
	return &filedSelector{Name: s.text, Demands: s.demands, Value: s}
}

// request is a selector, by its text, and a role that has it.
type request struct{ text, role string }

// compareRequests sorts by text first, so that the roles of one selector are neighbors.
func compareRequests(a, b request) int {
	return cmp.Or(strings.Compare(a.text, b.text), strings.Compare(a.role, b.role))
}

// fileSelectors files the selectors of all roles from scratch. It is for a new Index, and for an Index of which half of
// the selectors have changed.
func (x *Index) fileSelectors() {
	filed := map[string]*filedSelector{}
	requests := persistent.NewMap[request, *filedSelector](compareRequests).Edit()
	for name, a := range x.aggregations.All() {
		for _, s := range a.selectors {
			if s == nil {
				continue
			}
			if filed[s.text] == nil {
				filed[s.text] = file(s)
			}
			requests.Set(request{s.text, name.Name}, filed[s.text])
		}
	}
	// The terms of a role depend on the tree of selectors, so the closure keeps the tree that the labels are arranged
	// for. All collections that refileSelectors derives from the tree accept these terms.
	selectors := persistent.NewSelectors(slices.Collect(maps.Values(filed)))
	x.selectors, x.requests = selectors, requests.Map()
	x.labels = persistent.NewTermIndex(x.objects, func(terms []uint64, object *rbacv1.ClusterRole) []uint64 {
		return selectors.AppendTerms(terms, "", object.Labels)
	})
}

// refileSelectors files the selectors of the roles that changed. before are the aggregations before the changes.
func (x *Index) refileSelectors(changes []persistent.Change[*rbacv1.ClusterRole], before *aggregations) {
	// The map is the same if no aggregating role is among the changes: then no selector can have changed.
	if x.aggregations == before {
		return
	}
	// The edits are copies: the Index before the change may be in use by other goroutines.
	requests, selectors := x.requests.Edit(), x.selectors.Edit()
	for _, c := range changes {
		old, _ := before.Get(c.Name)
		now, _ := x.aggregations.Get(c.Name)
		had, has := old.byText(), now.byText()
		for text, s := range has {
			f := filedAs(text, requests.Ceiling)
			if f == nil {
				f = file(s)
				selectors.Put(f)
			}
			requests.Set(request{text, c.Name.Name}, f)
		}
		// A selector is taken out only with its last role. The role's own request is deleted first, so that what is
		// left says whether another role has the selector.
		for text := range had {
			if has[text] != nil {
				continue
			}
			f := filedAs(text, requests.Ceiling)
			requests.Delete(request{text, c.Name.Name})
			if filedAs(text, requests.Ceiling) == nil {
				selectors.Delete(f)
			}
		}
	}
	x.requests, x.selectors = requests.Map(), selectors.Selectors()
}

// filedAs returns the selector with a text, or nil if no role has it. ceiling returns the first request that is not
// before a given request.
func filedAs(text string, ceiling func(request) (request, *filedSelector, bool)) *filedSelector {
	// The role "" sorts before all roles, so the first request from here on is the first role of this text, or of a
	// later text.
	if at, f, _ := ceiling(request{text: text}); at.text == text {
		return f
	}
	return nil
}

// matched returns the ClusterRoles that a selector matches, sorted by name. It costs what the roles with the rarest
// demanded label cost. A selector that demands no label, such as one with only the operator NotIn, costs a look
// at all roles.
func (x *Index) matched(s *selector) []*rbacv1.ClusterRole {
	candidates := x.objects.All()
	// Some role of the Index has the selector, so it is filed.
	if lists := x.selectors.Alternatives(filedAs(s.text, x.requests.Ceiling)); len(lists) > 0 {
		candidates = x.labels.Find(lists[x.labels.Rarest(lists)]...)
	}
	var matched []*rbacv1.ClusterRole
	for object := range candidates {
		// Candidates are found by hashes of labels, and by the demands of one selector among several in a node. Only
		// the match itself decides.
		if s.matches(object.Labels) {
			matched = append(matched, object)
		}
	}
	slices.SortFunc(matched, byName)
	return slices.Compact(matched) // an object may be found by several values
}

// aggregators calls f for each role with a selector that matches an object, perhaps several times. This includes the
// role of the object itself if one of its own selectors matches. Selectors whose text is in done are skipped, and the
// texts of matching selectors are added to done. If done is nil, no selector is skipped. It costs what the selectors
// cost that demand labels of the object, and their roles.
func (x *Index) aggregators(object *rbacv1.ClusterRole, done map[string]bool, f func(name string)) {
	if object == nil {
		return
	}
	// The array saves an allocation for each role of each event, as a role is matched by few selectors.
	var scratch [8]*filedSelector
	for _, filed := range x.selectors.Append(scratch[:0], "", object.Labels) {
		text := filed.Value.text
		if done[text] || !filed.Value.matches(object.Labels) {
			continue
		}
		for at, is := range x.requests.From(request{text: text}) {
			// The roles of the text end where the entry is another one. x.selectors also returns entries that have been
			// deleted. Such an entry is in no request: its text has no request, or a newer entry that was filed when a
			// role got the selector again.
			if is != filed {
				break
			}
			if done != nil {
				done[text] = true
			}
			f(at.role)
		}
	}
}
