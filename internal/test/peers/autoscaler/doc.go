// Package autoscaler has an adapter for cluster-autoscaler.
package autoscaler
