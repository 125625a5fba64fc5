package servicecidr

import (
	"iter"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/purekube/purekube/internal/persistent"
)

// ordered are IPAddresses in the order of their addresses, of type K, so that those of a range are found
// without a look at the others. It never changes: a change copies one chunk.
type ordered[K comparable] struct {
	compare  func(a, b K) int
	greatest K
	// chunks holds the addresses in chunks, each under the greatest address that it may hold. The
	// last chunk may hold the greatest of all. Equal addresses, under several names, are in one chunk.
	chunks *persistent.Map[K, []addressed[K]]
}

// addressed is an IPAddress with the address that its name is.
type addressed[K comparable] struct {
	address K
	ip      *networkingv1.IPAddress
}

// A new chunk holds chunkSize addresses, and is divided when it holds twice as many. A change copies a
// chunk, so a small one makes changes cheap; a large one makes the map over the chunks small.
const chunkSize = 128

// newOrdered takes the addresses, sorted. greatest is the greatest address that there is.
func newOrdered[K comparable](sorted []addressed[K], greatest K, compare func(a, b K) int) ordered[K] {
	chunks := persistent.NewMap[K, []addressed[K]](compare).Edit()
	for len(sorted) > chunkSize {
		end := chunkEnd(sorted, chunkSize)
		if end == len(sorted) {
			break
		}
		// A copy, since a part of the slice would keep all of its addresses in memory.
		chunks.Set(sorted[end-1].address, slices.Clone(sorted[:end]))
		sorted = sorted[end:]
	}
	chunks.Set(greatest, slices.Clone(sorted))
	return ordered[K]{compare, greatest, chunks.Map()}
}

// chunkEnd is the first place from size on where an address ends and another one begins.
func chunkEnd[K comparable](sorted []addressed[K], size int) int {
	for size < len(sorted) && sorted[size].address == sorted[size-1].address {
		size++
	}
	return size
}

// from returns the addresses from one on, in order.
func (o ordered[K]) from(first K) iter.Seq2[K, *networkingv1.IPAddress] {
	return func(yield func(K, *networkingv1.IPAddress) bool) {
		for _, chunk := range o.chunks.From(first) {
			i, _ := slices.BinarySearchFunc(chunk, first, func(a addressed[K], first K) int { return o.compare(a.address, first) })
			for _, a := range chunk[i:] {
				if !yield(a.address, a.ip) {
					return
				}
			}
		}
	}
}

// replace puts the IPAddresses, all of that name and address, in the place of those that were there,
// and returns these.
func (o ordered[K]) replace(chunks *persistent.Edit[K, []addressed[K]], address K, name string, ips []*networkingv1.IPAddress) (before []*networkingv1.IPAddress) {
	var limit K
	var chunk []addressed[K]
	for limit, chunk = range chunks.From(address) {
		break
	}
	at, _ := slices.BinarySearchFunc(chunk, address, func(a addressed[K], address K) int { return o.compare(a.address, address) })
	next := make([]addressed[K], at, len(chunk)+len(ips))
	copy(next, chunk)
	for _, ip := range ips {
		next = append(next, addressed[K]{address, ip})
	}
	for _, a := range chunk[at:] {
		if a.address == address && a.ip.Name == name {
			before = append(before, a.ip)
			continue
		}
		next = append(next, a)
	}
	if len(before) == 0 && len(ips) == 0 {
		return nil
	}
	if end := chunkEnd(next, min(len(next), chunkSize)); len(next) >= 2*chunkSize && end < len(next) {
		chunks.Set(next[end-1].address, next[:end:end])
		next = next[end:]
	}
	// Addresses that come here later go into the chunk that follows, so that an empty one is only of use at
	// the end.
	if len(next) == 0 && limit != o.greatest {
		chunks.Delete(limit)
	} else {
		chunks.Set(limit, next)
	}
	return before
}
