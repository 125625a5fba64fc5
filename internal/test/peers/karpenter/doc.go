// Package karpenter has an adapter for karpenter, and compares disruption.Index with what karpenter decides by, its
// package sigs.k8s.io/karpenter/pkg/utils/pdb, on the same clusters: verdicts and time.
//
//	cd internal/test/peers && GOWORK=off go test ./karpenter -v
//	go test ./karpenter -update                               # writes the table in README.md again
//	go test ./karpenter -run '^$' -bench .
package karpenter
