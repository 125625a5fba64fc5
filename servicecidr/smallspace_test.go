package servicecidr_test

// A small address space, numbered from 0, and prefixes in it: plain numbers, so that what is
// expected of addresses comes from the rule and from no library.

type smallPrefix struct{ from, size int }

// contains is the rule: inside, not the network address, and not the broadcast address of IPv4.
func (p smallPrefix) contains(i int, v4 bool) bool {
	inside := p.from <= i && i < p.from+p.size
	network := i == p.from
	broadcast := v4 && i == p.from+p.size-1
	return inside && !network && !broadcast
}

func (p smallPrefix) within(q smallPrefix) bool {
	return q.from <= p.from && p.from+p.size <= q.from+q.size
}

// smallPrefixes are all prefixes in a space of n addresses, n a power of two.
func smallPrefixes(n int) []smallPrefix {
	var all []smallPrefix
	for size := n; size >= 1; size /= 2 {
		for from := 0; from < n; from += size {
			all = append(all, smallPrefix{from, size})
		}
	}
	return all
}
