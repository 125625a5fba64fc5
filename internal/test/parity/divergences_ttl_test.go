package parity

// ttlDivergences is empty: for a given step, the package writes what upstream writes.
var ttlDivergences []divergence
