package resourceclaim

import (
	"math/rand/v2"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/purekube/purekube"
)

// FuzzPlan checks the contract on any snapshot that the generator makes, broken ones included.
func FuzzPlan(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(seed, seed%2 == 0, false)
	}
	f.Fuzz(func(t *testing.T, seed uint64, sane, matchUpstream bool) {
		r := rand.New(rand.NewPCG(seed, 30))
		var o Options
		if matchUpstream {
			o.MatchUpstream = purekube.V1_36
		}
		checkContract(t, generator{r, sane}.snapshot(), o, r)
	})
}

// FuzzGenerateName checks that valid names make a valid name (BR-30-03, D-9).
func FuzzGenerateName(f *testing.F) {
	f.Add("p", "gpu")
	f.Add("web.example.com-0123456789012345678901234567890123456789012345", "gpu-0")
	f.Fuzz(func(t *testing.T, pod, entry string) {
		got := GenerateName(pod, entry)
		if len(validation.IsDNS1123Subdomain(pod))+len(validation.IsDNS1123Label(entry)) > 0 {
			return
		}
		if name := got + "x4z9k"; len(name) > 63 || len(validation.IsDNS1123Subdomain(name)) > 0 {
			t.Fatalf("GenerateName(%q, %q) = %q", pod, entry, got)
		}
	})
}

// FuzzIndex checks that an Index answers as the functions do, before and after a change.
func FuzzIndex(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(seed, seed%2 == 0, seed%3 == 0)
	}
	f.Fuzz(func(t *testing.T, seed uint64, sane, gone bool) {
		g := generator{rand.New(rand.NewPCG(seed, 31)), sane}
		o := Options{MatchUpstream: purekube.Upstream(g.one("", string(purekube.V1_36), string(purekube.V1_37)))}
		s := g.snapshot()
		x := NewIndex(s, o)
		changed, _ := g.step(s)
		if gone {
			x, _ = x.Without(changed)
			s = without(s, changed)
		} else {
			x, _ = x.With(changed)
			s = with(s, changed)
		}
		if diff := snapshotAnswers(s, o).diff(indexAnswers(x)); diff != "" {
			t.Fatal(diff)
		}
	})
}
