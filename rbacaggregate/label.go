package rbacaggregate

import (
	"cmp"
	"strings"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
)

// label is one key and value, or a key with any value.
type label struct{ key, value string }

// anyValue is no value that a label can have.
const anyValue = "\x00"

func compareLabels(a, b label) int {
	return cmp.Or(strings.Compare(a.key, b.key), strings.Compare(a.value, b.value))
}

// labelTable knows which ClusterRoles have a label.
type labelTable struct {
	objects []*rbacv1.ClusterRole
	// expected has the labels that selectors asked for when the table was made, with the positions of the
	// ClusterRoles that have them.
	expected map[label][]int32
	// others has all labels. It is made when a selector asks for a label that none asked for before.
	makeOthers sync.Once
	others     map[label][]int32
}

// expect makes the table ready for these selectors.
func (t *labelTable) expect(selectors converter) {
	t.expected = map[label][]int32{}
	keys := false
	for _, s := range selectors {
		for _, alternatives := range s.needs {
			for _, l := range alternatives {
				t.expected[l] = nil
				keys = keys || l.value == anyValue
			}
		}
	}
	if len(t.expected) == 0 {
		return
	}
	add := func(l label, i int32) {
		if have, expected := t.expected[l]; expected {
			t.expected[l] = append(have, i)
		}
	}
	for i, o := range t.objects {
		for key, value := range o.Labels {
			add(label{key, value}, int32(i))
			if keys {
				add(label{key, anyValue}, int32(i))
			}
		}
	}
}

// having returns the positions of the ClusterRoles that have the label.
func (t *labelTable) having(l label) []int32 {
	if have, expected := t.expected[l]; expected {
		return have
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
	return t.others[l]
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

// request is a selector of a role, found by a label that it needs: one of its first need, or the zero
// label if it needs none.
type request struct {
	needed label
	text   string
	role   string
}

func compareRequests(a, b request) int {
	return cmp.Or(compareLabels(a.needed, b.needed), strings.Compare(a.text, b.text), strings.Compare(a.role, b.role))
}

// requests calls f with what the selectors of a role are found by.
func (a *aggregation) requests(name string, f func(request, *selector)) {
	for _, s := range a.selectors {
		switch {
		case s == nil:
		case len(s.needs) == 0:
			f(request{text: s.text, role: name}, s)
		default:
			for _, l := range s.needs[0] {
				f(request{l, s.text, name}, s)
			}
		}
	}
}
