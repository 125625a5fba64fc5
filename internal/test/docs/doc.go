// Package docs holds the tests that keep the pages under docs/ honest, and the code that these pages show.
//
// A page shows Go only by a marker that names the declaration it is taken from, in code that a test compiles and runs; the
// commands in its sh blocks are executed from the root of the repository; its output, its manifests and its
// pictures are compared with what comes out. To write all of them anew:
//
//	go test ./internal/test/docs -update
//
// The code that needs client-go is in internal/test/consumers/clientgo.
package docs
