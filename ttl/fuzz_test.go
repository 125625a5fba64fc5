package ttl

import (
	"strconv"
	"testing"

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
