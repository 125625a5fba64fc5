package adapter

import (
	"os"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/examples/manager/cores"
)

// Options are those of the cores in the suites: the default, or those that match the release in the environment variable
// MATCH_UPSTREAM.
func Options() cores.Options { return cores.Match(purekube.Release(os.Getenv("MATCH_UPSTREAM"))) }
