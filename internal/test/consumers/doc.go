// Package consumers stands for the programs that use this module: two that are built on client-go
// and on controller-runtime. It is a module of its own, which requires the libraries of the oldest
// supported release of Kubernetes; raised.sh builds it with those of each supported one.
// docs/controller.md shows the controller in clientgo. The one in controllerruntime uses the same executor and lookups.
package consumers
