package persistent

import (
	"encoding/binary"
	"net/netip"
	"slices"
)

// Addresses are sorted IP addresses, none of which has a zone, for many searches among them. They never change.
type Addresses struct {
	// four has the IPv4 addresses, six the IPv6 addresses, which come after them.
	four, six []number
}

// number is an address without its family: the two halves of its 16 bytes, so that a search compares at most two
// numbers.
type number struct{ high, low uint64 }

func numberOf(a netip.Addr) number {
	b := a.As16()
	return number{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])}
}

// NewAddresses returns the addresses, which must be sorted. The slice is not kept.
func NewAddresses(sorted []netip.Addr) Addresses {
	numbers := make([]number, len(sorted))
	for i, a := range sorted {
		numbers[i] = numberOf(a)
	}
	four, _ := slices.BinarySearchFunc(sorted, 32, func(a netip.Addr, bits int) int { return a.BitLen() - bits - 1 })
	return Addresses{numbers[:four], numbers[four:]}
}

// Floor returns the position of the last address that is not after a, or -1 if there is none.
func (s Addresses) Floor(a netip.Addr) int {
	if a.Is4() {
		return numberOf(a).notBefore(s.four) - 1
	}
	return len(s.four) + numberOf(a).notBefore(s.six) - 1
}

// notBefore returns how many of the sorted numbers are not after n.
func (n number) notBefore(sorted []number) int {
	from, to := 0, len(sorted)
	for from < to {
		middle := int(uint(from+to) / 2)
		if at := sorted[middle]; at.high < n.high || at.high == n.high && at.low <= n.low {
			from = middle + 1
		} else {
			to = middle
		}
	}
	return from
}
