package ttl

import (
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// FuzzAnnotation: a node is written exactly when strconv.Atoi does not read the step's seconds, and
// the write settles it.
func FuzzAnnotation(f *testing.F) {
	for _, text := range []string{"", "0", "15", "+15", "015", " 15", "1_5", "0xf", "99999999999999999999", "-9223372036854775808", "１５"} {
		f.Add(text, 1)
	}
	f.Add("0", -3)
	f.Fuzz(func(t *testing.T, text string, step int) {
		n := node("a", absent)
		n.Annotations = map[string]string{Annotation: text}
		s := Snapshot{Step: step, Nodes: []*corev1.Node{n}}
		r, err := Plan(s, Key("a"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		want := ruleTTL[max(0, min(step, 4))]
		is, err := strconv.Atoi(text)
		if right := err == nil && is == want; right != r.Empty() {
			t.Fatalf("%q at step %d: right %v, plan %v", text, step, right, r.Actions)
		}
		if r.Empty() {
			return
		}
		s.Nodes[0] = r.Actions[0].(SetTTL).Apply(n)
		if again, _ := Plan(s, Key("a"), Options{}); !again.Empty() {
			t.Fatalf("%q at step %d: written twice", text, step)
		}
	})
}

// FuzzTable: whatever NewTable accepts, Settle ends in a step that allows the count, from any
// step, and stays there.
func FuzzTable(f *testing.F) {
	f.Add(100, 90, 500, 450, 15, 30, 0, 700)
	f.Add(10, 11, 20, 12, 1, 2, 4, 11)
	f.Add(10, 10, 11, 11, 1, 2, -4, -11)
	f.Fuzz(func(t *testing.T, max0, min1, max1, min2, ttl1, ttl2, step, count int) {
		table, err := NewTable(
			Boundary{0, max0, 0},
			Boundary{min1, max1, time.Duration(ttl1) * time.Second},
			Boundary{min2, 2147483647, time.Duration(ttl2) * time.Second},
		)
		if err != nil {
			if !table.Equal(Table{}) {
				t.Fatal("an error comes with the zero Table")
			}
			return
		}
		settled := table.Settle(step, count)
		b := table.Boundaries()[settled]
		if count >= 0 && count <= 2147483647 && (count < b.SizeMin || count > b.SizeMax) {
			t.Fatalf("%d nodes settle in %+v", count, b)
		}
		if table.Settle(settled, count) != settled || table.Next(settled, count) != settled {
			t.Fatalf("step %d is left again at %d nodes", settled, count)
		}
	})
}
