package rbacaggregate

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/purekube/purekube/internal/persistent"
)

// filedSelector is a selector, filed under its text.
type filedSelector = persistent.Filed[*selector]

func file(s *selector) *filedSelector {
	return &filedSelector{Name: s.text, Demands: s.demands, Value: s}
}

// request is a selector, by its text, and a role that has it.
type request struct{ text, role string }

func compareRequests(a, b request) int {
	return cmp.Or(strings.Compare(a.text, b.text), strings.Compare(a.role, b.role))
}

// fileSelectors files the selectors of all roles from scratch.
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
	selectors := persistent.NewSelectors(slices.Collect(maps.Values(filed)))
	x.selectors, x.requests = selectors, requests.Map()
	x.labels = persistent.NewTermIndex(x.objects, func(terms []uint64, object *rbacv1.ClusterRole) []uint64 {
		return selectors.AppendTerms(terms, "", object.Labels)
	})
}

// refileSelectors files the selectors of the roles that changed. before are the aggregations before the changes.
func (x *Index) refileSelectors(changes []persistent.Change[*rbacv1.ClusterRole], before *aggregations) {
	if x.aggregations == before {
		return
	}
	requests, selectors := x.requests.Edit(), x.selectors.Edit()
	for _, c := range changes {
		had, _ := before.Get(c.Name)
		has, _ := x.aggregations.Get(c.Name)
		for text, s := range has.byText() {
			f := filedAs(text, requests.From)
			if f == nil {
				f = file(s)
				selectors.Put(f)
			}
			requests.Set(request{text, c.Name.Name}, f)
		}
		for text := range had.byText() {
			if has.byText()[text] != nil {
				continue
			}
			f := filedAs(text, requests.From)
			requests.Delete(request{text, c.Name.Name})
			if filedAs(text, requests.From) == nil {
				selectors.Delete(f)
			}
		}
	}
	x.requests, x.selectors = requests.Map(), selectors.Selectors()
}

// filedAs returns the selector with a text, or nil if no role has it. from returns the requests from a given request
// on.
func filedAs(text string, from func(request) iter.Seq2[request, *filedSelector]) *filedSelector {
	for at, f := range from(request{text: text}) {
		if at.text == text {
			return f
		}
		break
	}
	return nil
}

// matched returns the ClusterRoles that a selector matches, sorted by name, and the ambiguous names that it matches,
// sorted.
func (x *Index) matched(s *selector) (objects []*rbacv1.ClusterRole, ambiguous []string) {
	candidates := x.objects.AllVersions()
	if lists := x.selectors.Alternatives(filedAs(s.text, x.requests.From)); len(lists) > 0 {
		candidates = x.labels.Versions(lists[x.labels.Rarest(lists)]...)
	}
	for object := range candidates {
		switch {
		case !s.matches(object.Labels):
		case x.objects.Ambiguous(nameOf(object.Name)):
			ambiguous = append(ambiguous, object.Name)
		default:
			objects = append(objects, object)
		}
	}
	slices.SortFunc(objects, func(a, b *rbacv1.ClusterRole) int { return strings.Compare(a.Name, b.Name) })
	slices.Sort(ambiguous)
	return slices.Compact(objects), slices.Compact(ambiguous) // an object may match several values
}

// aggregators calls f for each role with a selector that matches r, perhaps several times. This includes r itself if
// one of its own selectors matches. Selectors whose text is in done are skipped, and the texts of matching selectors
// are added to done. If done is nil, no selector is skipped.
func (x *Index) aggregators(r role, done map[string]bool, f func(name string)) {
	for _, object := range r {
		var scratch [8]*filedSelector
		for _, filed := range x.selectors.Append(scratch[:0], "", object.Labels) {
			text := filed.Value.text
			if done[text] || !filed.Value.matches(object.Labels) {
				continue
			}
			for at, is := range x.requests.From(request{text: text}) {
				if at.text != text || is != filed {
					break
				}
				if done != nil {
					done[text] = true
				}
				f(at.role)
			}
		}
	}
}
