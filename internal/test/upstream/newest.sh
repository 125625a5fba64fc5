#!/usr/bin/env bash
# Tries a release of Kubernetes that is not supported yet: runs all tests against the newest
# that the module proxy has, or the one given as the first argument (v1.38.0). What follows goes
# to go test. Nothing in the working tree changes.
set -euo pipefail
export GOWORK=off # the requirements of this module, not those of the workspace
cd "$(dirname "$0")"

# A proxy lists only the releases that someone has asked it for; those of k8s.io/api, which
# everyone asks for, have the same numbers. Newest first.
releases() {
	{
		go list -m -versions k8s.io/kubernetes
		go list -m -versions k8s.io/api | sed 's/ v0\./ v1./g'
	} | tr ' ' '\n' | grep -E '^v1\.[0-9]+\.[0-9]+$' | sort -Vru
}

# Fails if the release cannot be had.
download() { go mod download "k8s.io/kubernetes@$1"; }

version=${1:-}
shift || true
if [ -n "$version" ]; then
	download "$version"
else
	for version in $(releases); do
		download "$version" && break
		echo "$version is listed and cannot be had" >&2
	done
fi
echo "k8s.io/kubernetes $version"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
./gomod.sh "$version" "$scratch/go.mod"

# The constructors changed in v1.37: see parity/release_v137.go.
tags=
minor=${version#v1.}
[ "${minor%%.*}" -lt 37 ] || tags=v137

time go test -tags "$tags" -modfile "$scratch/go.mod" -timeout 30m "$@" ./...
