package parity

var servicecidrDivergences []divergence
