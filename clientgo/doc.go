// Package clientgo runs the packages of purekube as controllers on client-go.
//
// [New] runs any of the five. The package's example is a whole program.
package clientgo
