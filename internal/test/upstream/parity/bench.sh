#!/usr/bin/env bash
# Runs the benchmarks side by side and writes the table into README.md. Arguments go to go test,
# for example -bench TTL; only a run of all of them writes the table.
set -euo pipefail
export GOWORK=off # the requirements of this module, not those of the workspace
cd "$(dirname "$0")"

results=$(mktemp)
load=$(cut -d' ' -f1 /proc/loadavg)
trap 'rm -f "$results"' EXIT
go test -run '^$' -bench . -benchtime 2s -timeout 30m "$@" . | tee "$results"
[ $# -eq 0 ] || exit 0

table() {
	echo "Measured on $(date -u +%Y-%m-%d): $(nproc) cores of $(sed -n 's/^model name\s*: //p' /proc/cpuinfo | head -1), $(go env GOVERSION), $(sed -n 's/^\tk8s.io\/kubernetes v/Kubernetes v/p' ../go.mod), load average before the run $load."
	echo
	echo "| snapshot | requests | kube-controller-manager | of it hearing of objects | of it the client | purekube | ratio |"
	echo "|---|---:|---:|---:|---:|---:|---:|"
	awk '
		function human(ns) {
			if (ns >= 1e9) return sprintf("%.2f s", ns / 1e9)
			if (ns >= 1e6) return sprintf("%.1f ms", ns / 1e6)
			return sprintf("%.0f µs", ns / 1e3)
		}
		/^Benchmark/ {
			name = $1
			sub(/^Benchmark/, "", name); sub(/-[0-9]+$/, "", name); sub(/\//, ", ", name)
			split("", value)
			for (i = 3; i < NF; i += 2) value[$(i + 1)] = $i
			printf "| %s | %d | %s | %s | %s | %s | %s× |\n", name, value["requests"], human(value["upstream-ns/op"]),
				human(value["heard-ns/op"]), human(value["client-ns/op"]), human(value["ns/op"]), (value["ratio"] < 100 ? sprintf("%.1f", value["ratio"]) : sprintf("%.0f", value["ratio"]))
		}' "$results"
}

written=$(mktemp)
{
	sed '/<!-- benchmarks:begin -->/q' README.md
	echo
	table
	echo
	sed -n '/<!-- benchmarks:end -->/,$p' README.md
} >"$written"
cat "$written" >README.md
rm -f "$written"
