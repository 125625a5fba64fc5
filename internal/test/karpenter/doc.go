// Package karpenter compares disruption.Index with what karpenter decides by, its package
// sigs.k8s.io/karpenter/pkg/utils/pdb, on the same clusters: verdicts and time. The API server's own
// eviction handler says who is right. README.md has the results.
//
//	cd internal/test/karpenter && go test . -v
//	go test . -update                               # writes the table in README.md again
//	go test . -run '^$' -bench .
package karpenter
