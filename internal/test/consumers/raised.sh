#!/usr/bin/env bash
# Fails if requiring this module raises the version of any module that the consumers had before it, with the libraries of
# each supported minor release of Kubernetes in its first patch. Runs the tests of the consumers, of clientgo and of
# controllerruntime with the newest minor, in the patch whose controllers run beside ours: go.work has it, too, so
# Kubernetes' libraries are compiled once. The modules' own go.mod has the oldest minor. With EACH=1, builds the consumers
# and runs all tests with the first patch of each minor, which takes minutes of the compiler each.
set -euo pipefail
export GOWORK=off # the requirements of this module, not those of the workspace
cd "$(dirname "${BASH_SOURCE[0]}")"
repository=$(cd ../../.. && pwd)
newest=$(awk '!/^#/ && NF { minor = $1 } END { print minor }' ../../../.ci/kubernetes)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The versions of all modules that the consumer is built with, and of Go.
versions() {
	{
		go mod edit -C "$consumer" -json | sed -n 's/^\t"Go": "\(.*\)",*$/go \1/p'
		go list -C "$consumer" -m all | tail -n +2
	} | sort
}

# Runs the tests of a module with Kubernetes' libraries of this version, and leaves its go.mod as it is.
tests() {
	local module=$1 libraries=$2 own=$scratch/tests
	shift 2
	cp "$repository/$module/go.mod" "$own.mod"
	cp "$repository/$module/go.sum" "$own.sum"
	(
		cd "$repository/$module"
		go get -modfile="$own.mod" "k8s.io/api@$libraries" "k8s.io/apimachinery@$libraries" "k8s.io/client-go@$libraries" "$@" 2>/dev/null
		go mod tidy -modfile="$own.mod" 2>/dev/null
		go test -vet=off -modfile="$own.mod" ./...
	)
}

while read -r minor release runtime; do
	libraries=v0.${minor#1.}.0
	echo "-- client-go $libraries, controller-runtime v$runtime.0"
	consumer=$scratch/$minor
	mkdir "$consumer"
	go mod init -C "$consumer" example.com/consumer 2>/dev/null
	go mod edit -C "$consumer" -go="$(go mod download -json "k8s.io/client-go@$libraries" | sed -n 's/^\t"GoMod": "\(.*\)",*$/\1/p' | xargs sed -n 's/^go //p')" \
		-require "k8s.io/api@$libraries" -require "k8s.io/apimachinery@$libraries" \
		-require "k8s.io/client-go@$libraries" -require "sigs.k8s.io/controller-runtime@v$runtime.0"

	# Before: what the consumers import, without this module.
	{
		echo "package consumer"
		go list -f '{{range .Imports}}import _ "{{.}}"{{"\n"}}{{end}}' ./... | grep -v '"github.com/purekube/' | sort -u
	} >"$consumer/consumer.go"
	go mod tidy -C "$consumer" 2>/dev/null
	versions >"$scratch/before"

	# After: all of them, without their tests, which import packages that are internal to this module.
	rm "$consumer/consumer.go"
	cp -r clientgo controllerruntime "$consumer"
	rm "$consumer"/*/*_test.go
	sed -i 's|github.com/purekube/purekube/internal/test/consumers/|example.com/consumer/|' "$consumer"/*/*.go
	go mod edit -C "$consumer" -require github.com/purekube/purekube@v0.0.0 -replace "github.com/purekube/purekube=$repository"
	go mod tidy -C "$consumer" 2>/dev/null
	versions >"$scratch/after"

	raised=$(join "$scratch/before" "$scratch/after" | awk '$2 != $3 { print "   " $1 " " $2 " -> " $3 }')
	[ -z "$raised" ] || { printf 'requiring this module raises\n%s\n' "$raised" >&2; exit 1; }
	go list -C "$consumer" -deps ./... >/dev/null # no package is missing, and none is internal to this module
	[ -z "${EACH:-}" ] || go build -C "$consumer" ./...
	grep -E '^(k8s\.io|sigs\.k8s\.io/controller-runtime)' "$scratch/after" | tr '\n' ';' && echo

	# The tests, where they are.
	if [ -z "${EACH:-}" ]; then
		[ "$minor" = "$newest" ] || continue
		[ "$release" = - ] || libraries=v0.${release#v1.}
	fi
	tests internal/test/consumers "$libraries" "sigs.k8s.io/controller-runtime@v$runtime.0"
	tests clientgo "$libraries"
	tests controllerruntime "$libraries" "sigs.k8s.io/controller-runtime@v$runtime.0"
done < <(grep -v '^#' ../../../.ci/kubernetes | grep .)
