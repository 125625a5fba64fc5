#!/usr/bin/env bash
# Runs the benchmarks of the Index of each package and writes the tables into README.md. Takes about 10 minutes and, with a
# million pods in disruption, 8 GB. The fastest of three runs counts.
set -euo pipefail
export GOWORK=off # the requirements of this module, not those of the workspace
cd "$(dirname "$0")"

results=$(mktemp)
load=$(cut -d' ' -f1 /proc/loadavg)
trap 'rm -f "$results"' EXIT
for package in disruption rbacaggregate resourceclaim servicecidr ttl; do
	flags=()
	[ "$package" = disruption ] && flags=(-million)
	for _ in 1 2 3; do
		(cd ../../../../$package && go test -run '^$' -bench 'Index' -timeout 30m . "${flags[@]}") | sed "s/^Benchmark/$package Benchmark/" | tee -a "$results"
	done
done

# What each benchmark reports is called ns/call, best-ns/op or ns/op: the first of them that is there.
table() {
	echo "Measured on $(date -u +%Y-%m-%d): $(nproc) cores of $(sed -n 's/^model name\s*: //p' /proc/cpuinfo | head -1), $(go env GOVERSION), load average before the run $load."
	echo
	awk '
		function human(ns) {
			if (ns == "") return ""
			if (ns >= 1e9) return sprintf("%.2f s", ns / 1e9)
			if (ns >= 1e6) return sprintf("%.1f ms", ns / 1e6)
			if (ns >= 1e3) return sprintf("%.1f µs", ns / 1e3)
			return sprintf("%.0f ns", ns)
		}
		$2 ~ /^Benchmark/ {
			name = $2
			sub(/^Benchmark/, "", name); sub(/-[0-9]+$/, "", name)
			if (!match(name, /\/(pods=)?[0-9]+$/)) next
			size = substr(name, RSTART + 1); sub(/pods=/, "", size)
			name = substr(name, 1, RSTART - 1); sub(/^Index\//, "", name); sub(/^Index/, "", name)
			row = $1 " | " name
			if (!(row in seen)) { seen[row] = 1; order[++rows] = row }
			split("", value)
			for (i = 4; i < NF; i += 2) value[$(i + 1)] = $i
			ns = value["ns/op"]
			if ("best-ns/op" in value) ns = value["best-ns/op"]
			if ("ns/call" in value) ns = value["ns/call"]
			cell = row SUBSEP size
			if (!(cell in best) || ns + 0 < best[cell] + 0) best[cell] = ns
			for (unit in value) {
				if (unit == "x-PlanAll" && (!(cell in planall) || value[unit] + 0 < planall[cell] + 0)) planall[cell] = value[unit]
				if (unit == "B/object" || unit == "bytes/object") bytes[cell] = value[unit]
			}
		}
		END {
			print "| package | question or change | 1,000 | 10,000 | 100,000 | 1,000,000 | 1,000 to 100,000 |"
			print "|---|---|---:|---:|---:|---:|---:|"
			for (i = 1; i <= rows; i++) {
				row = order[i]
				if (row ~ /NewIndex|PlanAll|DrainServiceCIDR/) continue
				small = best[row SUBSEP 1000]; large = best[row SUBSEP 100000]
				printf "| %s | %s | %s | %s | %s | %.1f× |\n", row, human(small), human(best[row SUBSEP 10000]), human(large), human(best[row SUBSEP 1000000]), large / small
			}
			print "\nNewIndex beside one PlanAll, and the memory that it keeps beyond the snapshot:\n"
			print "| package | PlanAll, 1,000 | 10,000 | 100,000 | 1,000,000 | bytes an object at 1,000,000 |"
			print "|---|---:|---:|---:|---:|---:|"
			for (i = 1; i <= rows; i++) {
				row = order[i]
				if (row !~ /NewIndex/) continue
				name = row; sub(/ \| .*/, "", name)
				printf "| %s | %.2f× | %.2f× | %.2f× | %.2f× | %.0f |\n", name, planall[row SUBSEP 1000], planall[row SUBSEP 10000],
					planall[row SUBSEP 100000], planall[row SUBSEP 1000000], bytes[row SUBSEP 1000000]
			}
		}' "$results"
}

written=$(mktemp)
{
	sed '/<!-- index:begin -->/q' README.md
	echo
	table
	echo
	sed -n '/<!-- index:end -->/,$p' README.md
} >"$written"
cat "$written" >README.md
rm -f "$written"
