// Package snapshotfuzz helps the packages' tests to try any snapshot: it makes JSON documents out of a good one and of
// bytes that a fuzzer chooses, holds a package's answers to what holds for all of them, and takes snapshots apart.
package snapshotfuzz

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/purekube/purekube/internal/test/seed"
)

// Fuzz runs check on documents of type D: on documents that a fuzzer writes as text, and on the seeds with the changes
// that a fuzzer chooses (see Mutate). They are decoded as an API client decodes JSON. Fuzz skips documents larger than
// 64 kB and documents that do not decode.
func Fuzz[D any](f *testing.F, seeds []string, words []string, check func(t *testing.T, document D, choice []byte)) {
	for i, seed := range seeds {
		f.Add(uint8(i), []byte(nil), []byte(nil))
		f.Add(uint8(i), []byte(seed), []byte{0, 3, 0})
		for op := range byte(operations) {
			for at := range byte(4) {
				f.Add(uint8(i), []byte(nil), []byte{op, at * 23, at, op + 1, at * 9, at + 1})
			}
		}
	}
	f.Fuzz(func(t *testing.T, seed uint8, text, choice []byte) {
		if len(text) > 1<<16 || len(choice) > 60 {
			return
		}
		if len(text) == 0 {
			text = []byte(seeds[int(seed)%len(seeds)])
		}
		document, ok := Decode[D](Mutate(text, choice, words))
		if !ok {
			return
		}
		check(t, document, choice)
	})
}

// Pick is one of the values, by the bytes that a fuzzer chose: an input is to be quick, and there are many.
func Pick[T any](choice []byte, values ...T) T {
	sum := 0
	for _, b := range choice {
		sum += int(b)
	}
	return values[sum%len(values)]
}

// Decode decodes a document as an API client does: names are case-sensitive, and integers stay integers.
func Decode[D any](text []byte) (document D, ok bool) {
	return document, utiljson.Unmarshal(text, &document) == nil
}

// operations is how many changes Mutate knows.
const operations = 9

// Mutate changes a JSON document: three bytes of choice each say what is done, where, and with what. Text that is no
// JSON is returned as it is.
func Mutate(text, choice []byte, words []string) []byte {
	var root any
	if len(choice) < 3 || json.Unmarshal(text, &root) != nil {
		return text
	}
	for ; len(choice) >= 3; choice = choice[3:] {
		spots := spotsOf(root)
		if len(spots) == 0 {
			break
		}
		// The last byte also helps to choose among more than 256 spots.
		at := spots[(int(choice[1])+256*int(choice[2]>>4))%len(spots)]
		with := int(choice[2])
		switch choice[0] % operations {
		case 0:
			at.remove()
		case 1:
			at.set(nil)
		case 2:
			at.double()
		case 3:
			if _, text := at.value.(string); text || with%8 == 0 {
				at.set(words[with%len(words)])
			}
		case 4:
			// A number where there is none mostly makes the document one that does not decode.
			if _, number := at.value.(float64); number || with%8 == 0 {
				at.set(numbers[with%len(numbers)])
			} else if _, text := at.value.(string); text {
				at.set(words[with%len(words)])
			}
		case 5:
			if _, object := at.value.(map[string]any); object {
				at.set(map[string]any{})
			}
		case 6:
			if list, ok := at.value.([]any); ok {
				at.set(list[:len(list)/2])
			}
		case 7:
			// A copy of another place of the same name: a list of other labels, another owner.
			if same := alike(spots, at); len(same) > 0 {
				at.set(clone(same[with%len(same)].value))
			}
		case 8:
			if s, ok := at.value.(string); ok {
				at.set(s + string(choice[2]))
			}
		}
	}
	out, err := json.Marshal(root)
	if err != nil {
		return text
	}
	return out
}

var numbers = []any{0, 1, 2, 3, -1, 100, math.MaxInt32, math.MinInt32, int64(math.MaxInt64), "1", true, "0%", "50%",
	"100%", "-1%"}

// spot is one value inside a document.
type spot struct {
	name  string // of the field, or of the list that it is in
	value any
	set   func(any)
	// remove takes it out, double puts a copy behind it in a list.
	remove, double func()
}

func spotsOf(root any) []spot {
	var spots []spot
	nothing := func() {}
	var walk func(name string, v any, set func(any))
	walk = func(name string, v any, set func(any)) {
		switch v := v.(type) {
		case map[string]any:
			names := make([]string, 0, len(v))
			for n := range v {
				names = append(names, n)
			}
			slices.Sort(names)
			for _, n := range names {
				spots = append(spots, spot{n, v[n], func(x any) { v[n] = x }, func() { delete(v, n) }, nothing})
				walk(n, v[n], func(x any) { v[n] = x })
			}
		case []any:
			for i := range v {
				spots = append(spots, spot{name, v[i], func(x any) { v[i] = x },
					func() { set(slices.Delete(slices.Clone(v), i, i+1)) },
					func() { set(slices.Insert(slices.Clone(v), i, clone(v[i]))) }})
				walk(name, v[i], func(x any) { v[i] = x })
			}
		}
	}
	walk("", root, func(any) {})
	return spots
}

// alike are the other spots of that name.
func alike(spots []spot, at spot) []spot {
	var found []spot
	for _, s := range spots {
		if s.name == at.name {
			found = append(found, s)
		}
	}
	return found
}

func clone(v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	var out any
	if json.Unmarshal(text, &out) != nil {
		return nil
	}
	return out
}

// Random runs check on the seeds with random changes, one to eight each: 150 of them, or as many as PUREKUBE_SNAPSHOTS
// says.
func Random[D any](t *testing.T, seeds, words []string, check func(t *testing.T, document D)) {
	documents := 150
	if seed.Short() {
		documents = 40
	}
	if text := os.Getenv("PUREKUBE_SNAPSHOTS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("PUREKUBE_SNAPSHOTS: %v", err)
		}
		documents = n
	}
	decoded := 0
	for i := range seed.Each(t, documents) {
		random := rand.New(rand.NewPCG(1, i))
		choice := make([]byte, 3*(1+random.IntN(8)))
		for j := range choice {
			choice[j] = byte(random.UintN(256))
		}
		text := Mutate([]byte(seeds[random.IntN(len(seeds))]), choice, words)
		document, ok := Decode[D](text)
		if !ok {
			continue
		}
		decoded++
		if !t.Run(strconv.FormatUint(i, 10), func(t *testing.T) {
			check(t, document)
			if t.Failed() {
				t.Logf("seed %d:\n%s", i, text)
			}
		}) {
			t.Fatalf("seed %d:\n%s", i, text)
		}
	}
	if decoded < documents/3 && !seed.Single() {
		t.Fatalf("only %d of %d documents decode", decoded, documents)
	}
}
