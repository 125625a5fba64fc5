//go:build v137

package fleet

import "github.com/purekube/purekube"

// release is what the real controllers here are built from.
const release = purekube.V1_37

// testFlags are what go test needs to build them.
const testFlags = "-tags v137 -modfile ../../v1.37.mod"
