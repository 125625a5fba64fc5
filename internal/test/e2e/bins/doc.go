// Package bins has no code: the tools in its go.mod are the binaries that ../build.sh builds.
package bins
