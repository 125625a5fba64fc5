package purekube

// Release is a minor release of Kubernetes whose controllers a plan is to match. The zero
// value is none of them: the default decisions of this module.
type Release string

// The releases that plans can match. Any other value that is not empty counts as the newest
// of them.
const (
	V1_36 Release = "v1.36"
	V1_37 Release = "v1.37"
)
