// Package docs holds the tests that keep the pages under docs/ honest, and the code that these pages show.
//
// A page shows Go only by a marker that names a declaration in code that a test compiles and runs. The tests execute
// the commands in its sh blocks from the root of the repository, and compare its output, its manifests and its pictures
// with the results. To write all of them again:
//
//	go test ./internal/test/docs -update
//
// The code that needs client-go is in internal/test/consumers/clientgo.
package docs
