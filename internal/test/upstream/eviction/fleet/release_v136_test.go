//go:build !v137

package fleet

import "github.com/purekube/purekube"

// release is what the real controllers here are built from.
const release = purekube.V1_36

// testFlags are what go test needs to build them.
const testFlags = ""
