package rbacaggregate

import (
	"cmp"
	"strings"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/purekube/purekube/internal/persistent"
)

// label is one key and value, or a key with any value.
type label struct{ key, value string }

// anyValue is no value that a label can have.
const anyValue = "\x00"

func compareLabels(a, b label) int {
	return cmp.Or(strings.Compare(a.key, b.key), strings.Compare(a.value, b.value))
}

// filedSelector is a selector as it is found by the labels of what it may match.
type filedSelector = persistent.Filed[*selector]

func file(s *selector) *filedSelector {
	return &filedSelector{Name: s.text, Demands: s.demands, Value: s}
}

// labelTable knows which ClusterRoles have a label.
type labelTable struct {
	objects []*rbacv1.ClusterRole
	// selectors are those that there were when the table was made, filed by their text.
	selectors *persistent.Selectors[*selector]
	filed     map[string]*filedSelector
	// walked has the positions of the ClusterRoles that walk to a node of selectors.
	walked map[uint64][]int32
	// others has all labels. It is made when a selector asks for labels only that none hung on before.
	makeOthers sync.Once
	others     map[label][]int32
}

// expect makes the table ready for these selectors.
func (t *labelTable) expect(selectors converter) {
	t.filed, t.walked = make(map[string]*filedSelector, len(selectors)), map[uint64][]int32{}
	list := make([]*filedSelector, 0, len(selectors))
	for text, s := range selectors {
		t.filed[text] = file(s)
		list = append(list, t.filed[text])
	}
	t.selectors = persistent.NewSelectors(list)
	if len(list) == 0 {
		return
	}
	for i, o := range t.objects {
		t.selectors.Visited("", o.Labels, func(node uint64) { t.walked[node] = append(t.walked[node], int32(i)) })
	}
}

// candidates returns the positions of the ClusterRoles that may match a selector with demands.
func (t *labelTable) candidates(s *selector) (positions [][]int32) {
	if f := t.filed[s.text]; f != nil {
		for _, node := range f.Nodes() {
			positions = append(positions, t.walked[node])
		}
		return positions
	}
	fewest := -1
	consider := func(lists [][]int32) {
		sum := 0
		for _, list := range lists {
			sum += len(list)
		}
		if fewest < 0 || sum < fewest {
			positions, fewest = lists, sum
		}
	}
	for _, d := range s.demands {
		if nodes, known := t.selectors.First("", d); known {
			var lists [][]int32
			for _, node := range nodes {
				lists = append(lists, t.walked[node])
			}
			consider(lists)
		}
	}
	if fewest >= 0 {
		return positions
	}
	t.makeOthers.Do(func() {
		t.others = map[label][]int32{}
		for i, o := range t.objects {
			for key, value := range o.Labels {
				for _, l := range [...]label{{key, value}, {key, anyValue}} {
					t.others[l] = append(t.others[l], int32(i))
				}
			}
		}
	})
	for _, d := range s.demands {
		var lists [][]int32
		for _, l := range labelsOf(d) {
			lists = append(lists, t.others[l])
		}
		consider(lists)
	}
	return positions
}

// labelsOf are the labels that meet a demand.
func labelsOf(d persistent.Demand) []label {
	if len(d.Values) == 0 {
		return []label{{d.Key, anyValue}}
	}
	labels := make([]label, len(d.Values))
	for i, v := range d.Values {
		labels[i] = label{d.Key, v}
	}
	return labels
}

// labelled is a label of a role.
type labelled struct {
	label
	name string
}

func compareLabelled(a, b labelled) int {
	return cmp.Or(compareLabels(a.label, b.label), strings.Compare(a.name, b.name))
}

// eachLabel calls f for the labels of a role, each with its value and with any value.
func eachLabel(r role, f func(label)) {
	r.labels(func(set map[string]string) {
		for key, value := range set {
			f(label{key, value})
			f(label{key, anyValue})
		}
	})
}

// request is a selector, by its text, and a role that has it.
type request struct{ text, role string }

func compareRequests(a, b request) int {
	return cmp.Or(strings.Compare(a.text, b.text), strings.Compare(a.role, b.role))
}

// requestsEdit changes which roles have which selectors. It belongs to one goroutine.
type requestsEdit struct {
	requests  *persistent.Edit[request, *filedSelector]
	selectors *persistent.SelectorsEdit[*selector]
}

// filed is the selector of a text, nil if no role has it.
func (e requestsEdit) filed(text string) *filedSelector {
	for at, f := range e.requests.From(request{text: text}) {
		if at.text == text {
			return f
		}
		break
	}
	return nil
}

// replace gives a role the selectors of one aggregation in the place of those of another; both may be nil.
func (e requestsEdit) replace(role string, before, after *aggregation) {
	for text, s := range after.byText() {
		f := e.filed(text)
		if f == nil {
			f = file(s)
			e.selectors.Put(f)
		}
		e.requests.Set(request{text, role}, f)
	}
	for text := range before.byText() {
		if after.byText()[text] != nil {
			continue
		}
		f := e.filed(text)
		e.requests.Delete(request{text, role})
		if e.filed(text) == nil {
			e.selectors.Delete(f)
		}
	}
}

// byText are the selectors that convert, each once.
func (a *aggregation) byText() map[string]*selector {
	if a == nil {
		return nil
	}
	texts := make(map[string]*selector, len(a.selectors))
	for _, s := range a.selectors {
		if s != nil {
			texts[s.text] = s
		}
	}
	return texts
}
