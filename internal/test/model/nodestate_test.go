package model

// What the API server or the cache has of a node.
const (
	absent = iota
	bare   // without the annotation
	zero   // "0"
	fifteen
	values
)

var valueNames = [values]string{"gone", "without a TTL", "with TTL 0", "with TTL 15"}

// nodeState counts nodes by what the API server has, what the cache has, and whether the node is queued.
type nodeState struct {
	nodes [values][values][2]uint8
	step  uint8
	// flying is the node whose write is under way, which is not counted in nodes, and value what it is to
	// get; absent: no write is.
	flying node
	value  uint8
	// planned is how many nodes the cache had when the write was planned.
	planned uint8
	edits   uint8
}

// node is one node: what the API server and the cache have of it, and whether it is queued.
type node struct{ server, cached, queued uint8 }

func (s *nodeState) encode() string {
	b := make([]byte, 0, 2*values*values+7)
	for i := range s.nodes {
		for j := range s.nodes[i] {
			b = append(b, s.nodes[i][j][:]...)
		}
	}
	return string(append(b, s.step, s.flying.server, s.flying.cached, s.flying.queued, s.value, s.planned, s.edits))
}

func decodeNodes(text string) nodeState {
	var s nodeState
	at := 0
	for i := range s.nodes {
		for j := range s.nodes[i] {
			s.nodes[i][j] = [2]uint8{text[at], text[at+1]}
			at += 2
		}
	}
	s.step = text[at]
	s.flying = node{text[at+1], text[at+2], text[at+3]}
	s.value, s.planned, s.edits = text[at+4], text[at+5], text[at+6]
	return s
}

// each calls do for one node of each kind, and for the one whose write is under way. replace makes another node
// of it.
func (s *nodeState) each(do func(n node, replace func(by node) nodeState)) {
	for i := range s.nodes {
		for j := range s.nodes[i] {
			for q := range 2 {
				if s.nodes[i][j][q] > 0 {
					do(node{uint8(i), uint8(j), uint8(q)}, func(by node) nodeState {
						after := *s
						after.nodes[i][j][q]--
						after.nodes[by.server][by.cached][by.queued]++
						return after
					})
				}
			}
		}
	}
	if s.value != absent {
		do(s.flying, func(by node) nodeState {
			after := *s
			after.flying = by
			return after
		})
	}
}

// cachedAs is how many nodes the cache has that are so.
func (s *nodeState) cachedAs(j int) int {
	n := 0
	for i := range s.nodes {
		n += int(s.nodes[i][j][0]) + int(s.nodes[i][j][1])
	}
	if s.value != absent && int(s.flying.cached) == j {
		n++
	}
	return n
}

// count is how many nodes there are at the API server, and in the cache.
func (s *nodeState) count() (server, cached int) {
	for i := bare; i < values; i++ {
		for j := range values {
			server += int(s.nodes[i][j][0]) + int(s.nodes[i][j][1])
		}
		cached += s.cachedAs(i)
	}
	if s.value != absent && s.flying.server != absent {
		server++
	}
	return server, cached
}

// behind is how many nodes the cache shows otherwise than the API server has them.
func (s *nodeState) behind() (n int) {
	for i := range s.nodes {
		for j := range s.nodes[i] {
			if i != j {
				n += int(s.nodes[i][j][0]) + int(s.nodes[i][j][1])
			}
		}
	}
	if s.value != absent && s.flying.server != s.flying.cached {
		n++
	}
	return n
}

// written is a node with another value at the API server. Where the cache has that value already, from before,
// it is queued, as the changes that the cache has yet to show would see to.
func (n node) written(value uint8) node {
	n.server = value
	if n.server == n.cached {
		n.queued = 1
	}
	return n
}

// land ends the write that is under way.
func (s nodeState) land(again bool) nodeState {
	n := s.flying
	if again {
		n.queued = 1
	}
	s.nodes[n.server][n.cached][n.queued]++
	s.flying, s.value, s.planned = node{}, absent, 0
	return s
}
