package persistent

import (
	"encoding/binary"
	"math"
	"math/bits"
	"net/netip"
	"slices"
)

// Addresses are sorted IP addresses, none of which has a zone, for many searches among them. They never change.
type Addresses struct {
	// four has the IPv4 addresses, from position 1 on, and behind them a number after all of them, up to a power of two. six
	// has the IPv6 addresses in the same way. They come after the IPv4 addresses.
	four []uint64
	six  []number
	// fours and sixes are how many there are.
	fours, sixes int
}

// number is an IPv6 address as the two halves of its 16 bytes.
type number struct{ high, low uint64 }

func numberOf(a netip.Addr) number {
	b := a.As16()
	return number{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])}
}

// numberOf4 returns an IPv4 address as a number.
func numberOf4(a netip.Addr) uint64 {
	b := a.As4()
	return uint64(binary.BigEndian.Uint32(b[:]))
}

// NewAddresses returns the addresses, which must be sorted. The slice is not kept.
func NewAddresses(sorted []netip.Addr) *Addresses {
	s := &Addresses{}
	for s.fours < len(sorted) && sorted[s.fours].Is4() {
		s.fours++
	}
	s.sixes = len(sorted) - s.fours
	s.four = slices.Repeat([]uint64{math.MaxUint32 + 1}, 1<<bits.Len(uint(s.fours)))
	s.six = slices.Repeat([]number{{math.MaxUint64, math.MaxUint64}}, 1<<bits.Len(uint(s.sixes)))
	for i, a := range sorted {
		if i < s.fours {
			s.four[i+1] = numberOf4(a)
		} else {
			s.six[i-s.fours+1] = numberOf(a)
		}
	}
	return s
}

// Floor returns the position of the last address that is not after a, or -1 if there is none. Its searches have no
// branch that depends on the addresses, since a processor cannot foresee it. What comes before all addresses is not
// searched for: where few ranges are asked about, that is most of a cluster, and a processor does foresee it.
func (s *Addresses) Floor(a netip.Addr) int {
	var count uint
	if a.Is4() {
		n := numberOf4(a)
		if s.fours == 0 || n < s.four[1] {
			return -1
		}
		for step := uint(len(s.four)) / 2; step > 0; step /= 2 {
			count += step & (uint((n-s.four[count+step])>>63) - 1)
		}
		return int(count) - 1
	}
	n := numberOf(a)
	if s.sixes == 0 || n.high < s.six[1].high {
		return s.fours - 1
	}
	for step := uint(len(s.six)) / 2; step > 0; step /= 2 {
		at := &s.six[count+step]
		_, after := bits.Sub64(n.low, at.low, 0)
		_, after = bits.Sub64(n.high, at.high, after)
		count += step & (uint(after) - 1)
	}
	return s.fours + min(int(count), s.sixes) - 1
}
