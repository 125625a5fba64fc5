// Command blocks counts the blocks of code that run for the questions of package bounds. It reads the counters of a
// program that is built to measure coverage: see TestBounds. Its arguments are the name of a subject and numbers of
// objects. It prints the counts for each number, in JSON.
package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"runtime/coverage"
	"strconv"

	"github.com/purekube/purekube/internal/test/bounds"
)

func main() {
	var all []bounds.Counts
	for _, s := range bounds.Subjects {
		if s.Name != os.Args[1] {
			continue
		}
		for _, text := range os.Args[2:] {
			objects, err := strconv.Atoi(text)
			must(err)
			all = append(all, s.Count(objects, sinceLast))
		}
	}
	must(json.NewEncoder(os.Stdout).Encode(all))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// sinceLast adds up all counters, and sets them to 0.
func sinceLast() (sum float64) {
	var data bytes.Buffer
	must(coverage.WriteCounters(&data))
	must(coverage.ClearCounters())
	return blocks(data.Bytes())
}

// header begins the data, and segment follows it: see internal/coverage of Go.
type header struct {
	Magic     [4]byte
	Version   uint32
	_         [16]byte
	Flavor    uint8 // 1: numbers have four bytes; 2: as many as they need
	BigEndian bool
	_         [6]byte
}

type segment struct {
	Functions        uint64
	Strings, Options uint32 // bytes
}

// blocks is the sum of the counters of all functions that ran.
func blocks(data []byte) (sum float64) {
	r := bytes.NewReader(data)
	var h header
	must(binary.Read(r, binary.LittleEndian, &h))
	if h.Magic != [4]byte{0, 'c', 'w', 'm'} || h.Version != 1 || h.BigEndian {
		panic("another format of counters")
	}
	var s segment
	must(binary.Read(r, binary.LittleEndian, &s))
	at := len(data) - r.Len() + int(s.Strings) + int(s.Options)
	data = data[(at+3)/4*4:] // padded
	next := func() (n uint64) {
		size := 4
		if h.Flavor == 2 {
			n, size = binary.Uvarint(data)
		} else {
			n = uint64(binary.LittleEndian.Uint32(data))
		}
		data = data[size:]
		return n
	}
	for range s.Functions {
		counters := next()
		next() // package
		next() // function
		for range counters {
			sum += float64(next())
		}
	}
	return sum
}
