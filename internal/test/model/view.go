package model

import (
	"strings"
)

// view returns the objects as plans and guarantees see them.
func (m *model) view(text string, now int32, objects, assumed []held, gone numbers) *View {
	if v := m.views[text]; v != nil {
		return v
	}
	if len(m.views) > maxRemembered {
		m.forget()
	}
	v := &View{Now: clock(int(now)), gone: gone, plans: map[uint16]*planned{}}
	for _, h := range objects {
		v.objects = append(v.objects, m.store.object(h))
	}
	for _, h := range assumed {
		v.Assumed = append(v.Assumed, m.store.object(h))
	}
	m.views[strings.Clone(text)] = v
	return v
}

// cacheView is what plans are made from.
func (m *model) cacheView(st *state) *View {
	m.buffer = st.appendView(m.buffer[:0])
	if v := m.views[string(m.buffer)]; v != nil {
		return v
	}
	return m.view(string(m.buffer), st.now, st.cached, st.assumed, st.gone)
}

// serverView is what the API server has.
func (m *model) serverView(st *state) *View {
	m.buffer = st.appendServer(m.buffer[:0])
	if v := m.views[string(m.buffer)]; v != nil {
		return v
	}
	return m.view(string(m.buffer), st.now, st.server, nil, 0)
}
