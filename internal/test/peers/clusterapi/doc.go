// Package clusterapi has an adapter for the MachineDrainRules of Cluster API.
package clusterapi
