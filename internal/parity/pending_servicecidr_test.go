//go:build !servicecidr

package parity

// servicecidrDivergences is empty until the package is there: see the build tag.
var servicecidrDivergences []divergence
