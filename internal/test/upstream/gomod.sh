#!/usr/bin/env bash
# Writes the go.mod and go.sum with which this module is built against another release of Kubernetes:
#
#   ./gomod.sh v1.37.2 v1.37.mod     writes v1.37.mod and v1.37.sum
#
# The module's own go.mod says what is required apart from Kubernetes.
set -euo pipefail
version=$1 file=$2
staging=v0.${version#v1.}

here=$(awk '$1 == "k8s.io/api" { print $2; exit }' go.mod) # the staging modules of go.mod
released=$(go mod download -json "k8s.io/kubernetes@$version" | sed -n 's/^\t"GoMod": "\(.*\)",*$/\1/p')
{
	sed -e '/^replace (/,/^)/d' -e "s|^\(\tk8s.io/kubernetes\) v.*|\1 $version|" \
		-e "s|^\(\tk8s.io/[a-z-]*\) ${here//./\\.}|\1 $staging|" go.mod
	# The release's own go.mod says which staging modules there are.
	echo "replace ("
	sed -n '/^\tgithub.com\/purekube\/.* => /p' go.mod
	sed -n "s|^\s*\(k8s.io/[a-z-]*\) => \./staging.*|\t\1 => \1 $staging|p" "$released"
	echo ")"
} >"$file"
cp go.sum "${file%.mod}.sum"
go mod tidy -modfile "$file"
