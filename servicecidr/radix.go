package servicecidr

// sortFour and sortSix sort by address, by one stable pass for each digit of eight bits in which any
// two addresses differ: the addresses of a cluster share most of their digits, so that this is a few
// passes, where a sort by comparisons has 20 levels for a million addresses.

func sortFour(all []addressed[uint32]) []addressed[uint32] {
	var differ uint32
	for _, a := range all {
		differ |= a.address ^ all[0].address
	}
	var spare []addressed[uint32]
	for shift := 0; shift < 32; shift += 8 {
		if differ>>shift&0xff != 0 {
			spare = sortDigit(all, spare, func(a uint32) uint8 { return uint8(a >> shift) })
			all, spare = spare, all
		}
	}
	return all
}

func sortSix(all []addressed[uint128]) []addressed[uint128] {
	var differ uint128
	for _, a := range all {
		differ.hi |= a.address.hi ^ all[0].address.hi
		differ.lo |= a.address.lo ^ all[0].address.lo
	}
	var spare []addressed[uint128]
	for shift := 0; shift < 64; shift += 8 {
		if differ.lo>>shift&0xff != 0 {
			spare = sortDigit(all, spare, func(a uint128) uint8 { return uint8(a.lo >> shift) })
			all, spare = spare, all
		}
	}
	for shift := 0; shift < 64; shift += 8 {
		if differ.hi>>shift&0xff != 0 {
			spare = sortDigit(all, spare, func(a uint128) uint8 { return uint8(a.hi >> shift) })
			all, spare = spare, all
		}
	}
	return all
}

// sortDigit returns the addresses sorted by one digit, those of equal digits in the order that they were
// in, in the memory of spare if there is any.
func sortDigit[K comparable](all, spare []addressed[K], digit func(K) uint8) []addressed[K] {
	if len(spare) < len(all) {
		spare = make([]addressed[K], len(all))
	}
	var starts [257]int
	for _, a := range all {
		starts[int(digit(a.address))+1]++
	}
	for d := range 256 {
		starts[d+1] += starts[d]
	}
	for _, a := range all {
		d := digit(a.address)
		spare[starts[d]] = a
		starts[d]++
	}
	return spare
}
