#!/usr/bin/env bash
# Runs the comparison against another release of Kubernetes: the newest that the module proxy
# has, or the one given as the first argument (v1.37.0). What follows goes to go test.
# Nothing in the working tree changes.
set -euo pipefail
cd "$(dirname "$0")"

# A proxy lists only the releases that someone has asked it for; those of k8s.io/api, which
# everyone asks for, have the same numbers. Newest first.
releases() {
	{
		go list -m -versions k8s.io/kubernetes
		go list -m -versions k8s.io/api | sed 's/ v0\./ v1./g'
	} | tr ' ' '\n' | grep -E '^v1\.[0-9]+\.[0-9]+$' | sort -Vru
}

# Prints the go.mod of a release, or fails if it cannot be had.
download() {
	local about
	about=$(go mod download -json "k8s.io/kubernetes@$1") || return 1
	sed -n 's/^\t"GoMod": "\(.*\)",*$/\1/p' <<<"$about"
}

version=${1:-}
shift || true
if [ -n "$version" ]; then
	released=$(download "$version")
else
	for version in $(releases); do
		released=$(download "$version") && break
		echo "$version is listed and cannot be had" >&2
	done
fi
staging=v0.${version#v1.}
echo "k8s.io/kubernetes $version, staging modules $staging"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The release's own go.mod says which staging modules there are.
{
	sed -e '/^replace (/,/^)/d' -e "s|^\(\tk8s.io/kubernetes\) v.*|\1 $version|" \
		-e "s|^\(\tk8s.io/[a-z-]*\) v0\.36\.3|\1 $staging|" go.mod
	echo "replace ("
	echo "	github.com/purekube/purekube => ../.."
	sed -n "s|^\s*\(k8s.io/[a-z-]*\) => \./staging.*|\t\1 => \1 $staging|p" "$released"
	echo ")"
} >"$scratch/go.mod"
cp go.sum "$scratch/go.sum"

# The constructors changed in v1.37: see since_v137_test.go.
tags=
minor=${version#v1.}
[ "${minor%%.*}" -lt 37 ] || tags=v137

go mod tidy -modfile "$scratch/go.mod"
time go test -tags "$tags" -modfile "$scratch/go.mod" -timeout 30m "$@" .
