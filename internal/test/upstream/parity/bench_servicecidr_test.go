package parity

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/purekube/purekube/servicecidr"
)

// BenchmarkServiceCIDR has 200 ranges of equal size side by side. Twenty of them are being deleted:
// ten that hold addresses and stay, ten that are empty and go. For each of these
// the whole of the addresses counts.
func BenchmarkServiceCIDR(b *testing.B) {
	b.Run("cidrs=200,addresses=20000", func(b *testing.B) {
		var objects []runtime.Object
		for n := range 200 {
			c := settled(serviceRange(fmt.Sprintf("range-%03d", n), fmt.Sprintf("10.%d.0.0/16", n)))
			if n >= 180 {
				leaving(c, time.Hour)
			}
			objects = append(objects, c)
		}
		for n := range 20000 {
			k := n % 190 // the last ten are empty
			objects = append(objects, allocated(fmt.Sprintf("10.%d.%d.%d", k, 1+n/190/250, 1+n/190%250)))
		}
		s := rangesOf(objects)
		// The real clock, which the controller reads, is far later than the deletion.
		s.Now = time.Now()
		SideBySide(b, 5, objects, startServiceCIDR, func() int {
			requests := 0
			outcomes, _ := servicecidr.PlanAll(s, servicecidr.Options{MatchUpstream: Release})
			for _, o := range outcomes {
				for _, a := range o.Result.Actions {
					if r := a.Request(nil); len(r.Patch) > 0 {
						requests++
					}
				}
			}
			return requests
		})
	})
}
