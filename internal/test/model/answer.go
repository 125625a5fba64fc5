package model

import (
	"github.com/purekube/purekube/internal/test/apiserver"
)

// call is everything that the API server's answer to a request depends on.
type call struct {
	before  held
	request int
	fresh   int
	now     int32
}

type answer struct {
	err      error
	changed  bool
	place    placeID
	content  contentID // 0: gone
	returned contentID
}

// ask is what the API server does with the plan's next request.
func (m *model) ask(st *state, f *flight) answer {
	r := f.request
	c := call{request: f.requestID, fresh: m.inUse(st, true).free(), now: st.now}
	var there []apiserver.Stored
	if r.Name != "" || r.Verb != "create" {
		if i := find(st.server, m.store.place(r.Resource, r.Namespace, r.Name)); i >= 0 {
			c.before = st.server[i]
			there = append(there,
				apiserver.Stored{Object: m.store.object(c.before), Managed: m.store.contents[c.before.content].managed})
		}
	}
	a, known := m.answers[c]
	if known {
		return a
	}
	server := apiserver.Restore(200, c.fresh-1, there...)
	server.Now = clock(int(st.now))
	returned, err := server.Do(r)
	if err != nil {
		a.err = err
	} else {
		o := returned.(Object)
		a.place = m.store.place(r.Resource, o.GetNamespace(), o.GetName())
		for _, h := range server.Stored() {
			a.content = m.store.intern(h.Object, h.Managed)
		}
		a.changed = a.content != c.before.content
		a.returned = a.content
		if a.content == 0 {
			a.returned = m.store.intern(o, nil)
		}
	}
	if len(m.answers) > maxRemembered {
		m.answers = map[call]answer{}
	}
	m.answers[c] = a
	return a
}
