// Package consumers has two programs that use this module as a user's programs do: one is built on client-go and one on
// controller-runtime. It is a module of its own, which requires the libraries of the oldest supported release of
// Kubernetes; raised.sh builds it with the libraries of each supported release. docs/controller.md shows the controller
// in clientgo. The controller in controllerruntime uses the same executor and lookups.
package consumers
