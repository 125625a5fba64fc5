// Package peers has a folder for each project that decides about evictions with code of its own. Each folder has an
// adapter of at most 40 lines: the signature that the project's code calls, answered by purekube. Its tests ask the
// project's own code the same questions, and the API server's own eviction handler says who is right. README.md has the
// results, and docs/migrating.md says which call becomes which.
//
//	cd internal/test/peers && GOWORK=off go test ./... -v
package peers
