package parity

var resourceclaimDivergences []divergence
