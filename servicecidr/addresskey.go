package servicecidr

import (
	"encoding/binary"
	"net/netip"
)

// uint128 is an IPv6 address as a number; an IPv4 address is a uint32.
type uint128 struct{ hi, lo uint64 }

func (u uint128) compare(v uint128) int {
	switch {
	case u == v:
		return 0
	case u.hi < v.hi, u.hi == v.hi && u.lo < v.lo:
		return -1
	}
	return 1
}

func uint32From(a netip.Addr) uint32 {
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}

func uint128From(a netip.Addr) uint128 {
	b := a.As16()
	return uint128{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])}
}

func addr4(u uint32) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], u)
	return netip.AddrFrom4(b)
}

func addr6(u uint128) netip.Addr {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], u.hi)
	binary.BigEndian.PutUint64(b[8:], u.lo)
	return netip.AddrFrom16(b)
}
