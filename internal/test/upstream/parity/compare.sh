#!/usr/bin/env bash
# Compares the benchmarks of a package with those of another commit, by instructions in user mode, which a busy machine
# changes little: ./compare.sh 6b2cafa servicecidr [-bench REGEXP]. Needs perf. It prints a row for each benchmark that
# both have, in thousands of instructions for an operation, without the set-up, and the worst rows last. Repeat a row
# before you believe it: when and how often the garbage collector runs is not the same in two runs. With GOGC=off in the
# environment it does not run; that needs memory for all iterations.
set -euo pipefail
export GOWORK=off # the requirements of this module, not those of the workspace
cd "$(dirname "$0")/../../../.."

commit=$1 package=$2 regexp=${4:-.}
scratch=$(mktemp -d)
trap 'git worktree remove --force "$scratch/before"; rm -rf "$scratch"' EXIT
git worktree add -q --detach "$scratch/before" "$commit"
(cd "$scratch/before" && go test -c -o "$scratch/before.test" "./$package")
go test -c -o "$scratch/after.test" "./$package"

# rows prints the name of each benchmark and how often it runs in two seconds: the set-up with its garbage has to be a
# small part of that.
rows() {
	(cd "$package" && "$scratch/$1.test" -test.run '^$' -test.bench "$regexp" -test.benchtime 20ms -test.short) |
		awk '/^Benchmark.*ns\/op/ { sub(/-[0-9]+$/, "", $1); n = int(2e9 / $3); print $1, n < 4 ? 4 : n }' | sort
}

# count prints the instructions of a run with so many iterations.
count() {
	local pattern="^\\Q${2//\//\\E\$/^\\Q}\\E\$"
	(cd "$package" && perf stat -x, -e instructions:u -o "$scratch/count" "$scratch/$1.test" -test.run '^$' -test.bench "$pattern" \
		-test.benchtime "$3x" -test.short >/dev/null 2>&1)
	awk -F, '/instructions/ { print $1 }' "$scratch/count"
}

echo "row before after ratio"
join <(rows before) <(rows after) | while read -r name iterations _; do
	few=$((iterations / 4))
	for side in before after; do
		declare "$side=$(($(count "$side" "$name" "$iterations") - $(count "$side" "$name" "$few")))"
	done
	awk -v name="$name" -v n=$((iterations - few)) -v before="$before" -v after="$after" \
		'BEGIN { printf "%s %.1f %.1f %.2f\n", name, before / n / 1e3, after / n / 1e3, (before > 0 ? after / before : 0) }'
done | sort -k4 -n
