package parity

var disruptionDivergences []divergence
