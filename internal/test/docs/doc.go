// Package docs holds the tests that keep the pages under docs/ honest, and the code that these pages show.
//
// A page shows Go only by a marker that names the declaration it is taken from, in code that a test compiles and runs.
// The commands in its sh blocks are executed from the root of the repository. Its output, its manifests and its
// pictures are compared with the results. To write all of them again:
//
//	go test ./internal/test/docs -update
//
// The code that needs client-go is in internal/test/consumers/clientgo.
package docs
