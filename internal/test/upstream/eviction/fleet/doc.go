// Package fleet plays drains through on random clusters of up to 50 nodes, with the code of Kubernetes itself, and
// holds disruption/drain to the result. See README.md of the folder above.
package fleet
