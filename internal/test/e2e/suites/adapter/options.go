package adapter

import (
	"os"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/clientgo"
)

// Options are those of the cores in the suites: the default, or those that match the release in the environment variable
// MATCH_UPSTREAM.
func Options() clientgo.PackageOptions {
	return clientgo.Match(purekube.Upstream(os.Getenv("MATCH_UPSTREAM")))
}
