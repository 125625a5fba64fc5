#!/usr/bin/env bash
# Makes dist/index.html, the playground in one file. Says how large it is, also compressed if brotli is installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
export GOWORK=off GOFLAGS=
mkdir -p dist
module=$(mktemp)
trap 'rm -f "$module"' EXIT
# Without inlining (-l) the module is an eighth smaller. net/http is in it because k8s.io/apimachinery imports it; its HTTP/2 is
# left out.
GOOS=js GOARCH=wasm go build -trimpath -tags nethttpomithttp2 -gcflags=all='-l -dwarf=false' -ldflags='-s -w' -o "$module" .
exec=$(go env GOROOT)/lib/wasm/wasm_exec.js
go run ./bundle "$module" "$exec" dist/index.html
size() { printf '%-32s %9d bytes' "$1" "$(wc -c <"$2")"; command -v brotli >/dev/null && printf ', %d with brotli -q 9' "$(brotli -q 9 -w 24 -c "$2" | wc -c)"; echo; }
size "module" "$module"
size "dist/index.html" dist/index.html
