package ttl

// WithSteps are options with other steps than upstream's, which the nodes of a small cluster move between.
func WithSteps(steps ...Boundary) Options { return Options{steps: steps} }
