// Package eviction runs the API server's own eviction handler (v1.36.3) beside disruption.CheckEviction. It is a module
// of its own since the handler brings half of an API server along.
//
//	cd internal/parity/eviction && go test .
//
// PARITY_SEED and PARITY_CASES are as in the folder above.
package eviction
