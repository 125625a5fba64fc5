package parity

var rbacaggregateDivergences []divergence
