package resourceclaim

import (
	"fmt"
	"hash/maphash"
	"strings"
	"testing"
	"time"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/largecluster"
)

// cluster is largecluster.Claims.
func cluster(size, doneEvery int) Snapshot {
	c := largecluster.Claims(size, doneEvery)
	return Snapshot{Now: now, Templates: c.Templates, Pods: c.Pods, Claims: c.Claims}
}

// readNames is the least that a plan for every pod and claim has to do: one pass over them that
// reads their namespaces, names and UIDs.
func readNames(s Snapshot, seed maphash.Seed) (sum uint64) {
	for _, p := range s.Pods {
		sum += maphash.String(seed, p.Namespace) + maphash.String(seed, p.Name) + maphash.String(seed, string(p.UID))
	}
	for _, c := range s.Claims {
		sum += maphash.String(seed, c.Namespace) + maphash.String(seed, c.Name) + maphash.String(seed, string(c.UID))
	}
	return sum
}

func BenchmarkPlanAll(b *testing.B) {
	for _, size := range []int{1_000, 10_000, 100_000} {
		for _, doneEvery := range []int{0, 10} {
			name := fmt.Sprintf("pods=%d/converged", size)
			if doneEvery > 0 {
				name = fmt.Sprintf("pods=%d/done=1in%d", size, doneEvery)
			}
			b.Run(name, func(b *testing.B) {
				s := cluster(size, doneEvery)
				want := 0
				if doneEvery > 0 {
					want = size / doneEvery
				}
				seed := maphash.MakeSeed()
				const rounds = 5
				start := time.Now()
				var sum uint64
				for range rounds {
					sum += readNames(s, seed)
				}
				floor := time.Since(start) / rounds
				b.ReportAllocs()
				for b.Loop() {
					if out, _ := PlanAll(s, Options{}); len(out) != want {
						b.Fatalf("%d outcomes, want %d", len(out), want)
					}
				}
				perPlan := b.Elapsed() / time.Duration(b.N)
				b.ReportMetric(float64(floor.Nanoseconds()), "floor-ns")
				b.ReportMetric(float64(perPlan)/float64(floor), "x-floor")
				_ = sum
			})
		}
	}
}

// BenchmarkPlan is one key of a large cluster: the rest is read and not indexed.
func BenchmarkPlan(b *testing.B) {
	s := cluster(100_000, 10)
	for _, key := range []purekube.Key{podKey("worker-5"), claimKey("worker-10-gpu-x4z9k")} {
		b.Run(key.Kind, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Plan(s, key, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkGeneratedClaims is the worst case of the pod pass: no status names its claim.
func BenchmarkGeneratedClaims(b *testing.B) {
	for _, size := range []int{1_000, 10_000} {
		b.Run(fmt.Sprintf("pods=%d", size), func(b *testing.B) {
			s := cluster(size, 0)
			for _, p := range s.Pods {
				p.Status.ResourceClaimStatuses = nil
			}
			b.ReportAllocs()
			for b.Loop() {
				if out, _ := PlanAll(s, Options{}); len(out) != size {
					b.Fatal(len(out))
				}
			}
		})
	}
}

// BenchmarkRequest is what it takes to turn an action into its request, beside the body alone.
func BenchmarkRequest(b *testing.B) {
	s := cluster(1, 1)
	s.Pods = append(s.Pods, newPod("p", onNode, wants("gpu", "gpu"), uses("shared", "shared")))
	s.Claims = append(s.Claims, newClaim("shared", allocated))
	for _, key := range []purekube.Key{podKey("p"), claimKey("worker-0-gpu-x4z9k")} {
		r, err := Plan(s, key, Options{})
		if err != nil {
			b.Fatal(err)
		}
		for _, a := range r.Actions {
			name, _, _ := strings.Cut(a.String(), " ")
			b.Run(name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					a.Request(nil)
				}
			})
			if a, ok := a.(SetClaimStatuses); ok {
				b.Run(name+"/Patch", func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						a.body()
					}
				})
			}
		}
	}
}
