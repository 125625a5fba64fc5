// Package consumers represents the programs that use this module: one is built on client-go, one on controller-runtime.
// It is a module of its own, which requires the libraries of the oldest supported release of Kubernetes; raised.sh
// runs its tests with the libraries of the newest one, and of each with EACH=1. docs/controller.md shows the controller
// in clientgo.
package consumers
