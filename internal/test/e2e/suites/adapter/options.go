package adapter

import (
	"os"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/clientgo"
)

// Options are the options of the cores in the suites: the default, or the options that match the release in the
// environment variable MATCH_UPSTREAM.
func Options() clientgo.PackageOptions {
	return clientgo.Match(purekube.Upstream(os.Getenv("MATCH_UPSTREAM")))
}
