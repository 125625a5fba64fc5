#!/usr/bin/env bash
# Runs the tests of Kubernetes' own controllers, unmodified, with the cores in the controllers' place, and says which of them
# pass. It fails if others fail than those of failing-units.txt, or if one of those passes. `go test -overlay` lays files of
# testdata over the controllers' packages:
#
# - in integration tests, testdata/integration takes the place of the controller: the one of module clientgo runs, or of MODULE;
# - in unit tests, Kubernetes' constructor and fields stay, and testdata/units makes the decisions: the methods that it has
#   are renamed in Kubernetes' file.
#
#   ./run.sh                        everything; it takes about half an hour
#   ./run.sh units ttlcontroller    only these
#   RUN=TestX ./run.sh …            only these tests, a regular expression of go test -run
#   UPSTREAM=1 ./run.sh …           with Kubernetes' own controllers
#   KUBERNETES=v1.37 ./run.sh …     the tests of the release in v1.37.mod
#   MATCH_UPSTREAM=v1.36 ./run.sh … with the cores' options that match that release
#   MODULE=controllerruntime ./run.sh ttlcontroller …
#                                   integration tests with the controllers of that module; otherwise with those of clientgo
set -euo pipefail
export GOWORK=off # the requirements of this module, not those of the workspace
cd "$(dirname "${BASH_SOURCE[0]}")"
../build.sh etcd
bin=$(realpath ../bin)
PATH=$bin/${KUBERNETES:-}:$PATH
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# What the tests need beyond the controllers is not in go.mod.
cp "${KUBERNETES:-go}.mod" "$scratch/suites.mod"
cp "${KUBERNETES:-go}.sum" "$scratch/suites.sum"
# go refuses to overlay files of the module cache, so the tests run from a copy.
cached=$(go list -modfile="$scratch/suites.mod" -m -f '{{.Dir}}' k8s.io/kubernetes)
kubernetes=$bin/k8s.io/$(basename "$cached")
if [ ! -d "$kubernetes" ]; then
  mkdir -p "$bin/k8s.io"
  cp -r "$cached" "$kubernetes.part"
  chmod -R u+w "$kubernetes.part"
  mv "$kubernetes.part" "$kubernetes"
fi
go mod edit -replace "k8s.io/kubernetes=$kubernetes" "$scratch/suites.mod"
controllers=$kubernetes/pkg/controller

# overlay lists pairs of a file and the one that takes its place. A path that is not absolute is one of a controller in Kubernetes.
overlay() {
  local file=$1 path separator=
  shift
  printf '{"Replace": {' > "$file"
  while [ $# -gt 0 ]; do
    path=$1
    [[ $path = /* ]] || path=$controllers/$path
    printf '%s\n  "%s": "%s"' "$separator" "$path" "$2" >> "$file"
    separator=,
    shift 2
  done
  printf '\n}}\n' >> "$file"
}

# ours is a file of this folder, in the words of the release.
ours() {
  local copy=$scratch/$1 words=/dev/null
  [ -z "${KUBERNETES:-}" ] || words=testdata/$KUBERNETES.sed
  mkdir -p "$(dirname "$copy")"
  sed -f "$words" "$1" > "$copy"
  echo "$copy"
}

# renamed makes a copy of a controller's file in which these methods are called upstream_….
renamed() {
  local file=$1 copy=$scratch/$(basename "$1") method
  shift
  cp "$controllers/$file" "$copy"
  for method; do
    grep -q "^func (.*) $method(" "$copy" || { echo "$file has no method $method" >&2; exit 1; }
    sed -i "s/^\(func (.*) \)$method(/\1upstream_$method(/" "$copy"
  done
  echo "$copy"
}

overlay "$scratch/integration.json" \
  "$PWD/adapter/carryout.go" "$(ours adapter/carryout.go)" \
  ttl/ttl_controller.go "$(ours testdata/integration/ttl.go)" \
  servicecidrs/servicecidrs_controller.go "$(ours testdata/integration/servicecidrs.go)" \
  disruption/disruption.go "$(ours testdata/integration/disruption.go)" \
  resourceclaim/controller.go "$(ours testdata/integration/resourceclaim.go)" \
  resourceclaim/uid_cache.go "" \
  resourceclaim/doc.go ""

overlay "$scratch/units.json" \
  "$PWD/adapter/carryout.go" "$(ours adapter/carryout.go)" \
  ttl/ttl_controller.go "$(renamed ttl/ttl_controller.go updateNodeIfNeeded addNode deleteNode)" \
  ttl/purekube.go "$(ours testdata/units/ttl.go)" \
  servicecidrs/servicecidrs_controller.go "$(renamed servicecidrs/servicecidrs_controller.go sync canDeleteCIDR containingServiceCIDRs overlappingServiceCIDRs)" \
  servicecidrs/purekube.go "$(ours testdata/units/servicecidrs.go)" \
  clusterroleaggregation/clusterroleaggregation_controller.go "$(renamed clusterroleaggregation/clusterroleaggregation_controller.go syncClusterRole)" \
  clusterroleaggregation/purekube.go "$(ours testdata/units/clusterroleaggregation.go)" \
  disruption/disruption.go "$(renamed disruption/disruption.go sync syncStalePodDisruption)" \
  disruption/purekube.go "$(ours testdata/units/disruption.go)" \
  resourceclaim/controller.go "$(renamed resourceclaim/controller.go syncHandler)" \
  resourceclaim/purekube.go "$(ours testdata/units/resourceclaim.go)"

# The unit tests that end in one of the renamed methods. The others are about what is inside of Kubernetes' controllers:
# queues, metrics, lookups of a single kind.
unit_tests='^(TestUpdateNodeIfNeeded|TestDesiredTTL|TestControllerSync|TestController_.*|TestSyncClusterRole|TestNoSelector|TestUnavailable|TestIntegerMaxUnavailable.*|TestPercentageMaxUnavailable.*|TestNakedPod|TestUnsupportedControllerPod|TestStatusForUnmanagedPod|TestReplicaSet|TestScaleResource|TestMultipleControllers|TestReplicationController|TestStatefulSetController|TestTwoControllers|TestPDBNotExist|TestUpdateDisruptedPods|TestUpdatePDBStatusRetries|TestInvalidSelectors|TestStalePodDisruption|TestKeepExistingPDBConditionDuringSync|TestSyncHandler)$'

suites=("$@")
[ ${#suites[@]} -gt 0 ] || suites=(units ttlcontroller disruption evictions servicecidr dra/ga)
failed=0
for suite in "${suites[@]}"; do
  started=$SECONDS
  ended=0
  log=$bin/suite-${suite//\//-}${KUBERNETES:+-$KUBERNETES}${MODULE:+-$MODULE}${UPSTREAM:+-upstream}${MATCH_UPSTREAM:+-match}.log
  what=(${RUN:+-run "$RUN"} "k8s.io/kubernetes/test/integration/$suite")
  with=(-overlay "$scratch/integration.json")
  if [ "$suite" = units ]; then
    what=(-run "${RUN:-$unit_tests}" k8s.io/kubernetes/pkg/controller/{ttl,servicecidrs,clusterroleaggregation,disruption,resourceclaim})
    with=(-overlay "$scratch/units.json")
  fi
  [ -z "${UPSTREAM:-}" ] || with=()
  go test -modfile="$scratch/suites.mod" -mod=mod "${with[@]}" -vet=off -count=1 -timeout 30m -v "${what[@]}" > "$log" 2>&1 || ended=$?
  grep -E '^ *--- FAIL|^(FAIL|ok)|^#|^[^ ]+\.go:[0-9]+:[0-9]+:' "$log" | sed 's/^/  /' || tail -20 "$log"
  # Cases of a table count by themselves.
  echo "$suite: $((SECONDS - started)) s; tests and their cases: $(grep -c '^ *--- PASS' "$log" || true) pass, $(grep -c '^ *--- FAIL' "$log" || true) fail, $(grep -c '^ *--- SKIP' "$log" || true) are skipped; see bin/$(basename "$log")"
  if [ -n "${RUN:-}${UPSTREAM:-}${MATCH_UPSTREAM:-}" ]; then
    [ $ended -eq 0 ] || failed=1
    continue
  fi
  # What is known to fail fails, and nothing else does.
  known=/dev/null
  [ "$suite" != units ] || known=failing-units.txt
  diff <(awk -v release="${KUBERNETES:-v1.36}" '!/^#/ && NF && ($2 == "" || $2 == release) { print $1 }' "$known" | sort) \
    <(sed -n -e 's|/adminaccess-[^ ]*||' -e 's/^ *--- FAIL: \([^ ]*\) .*/\1/p' "$log" | sort -u) || failed=1
  ! grep -E '^panic:|\[(build|setup) failed\]|^FAIL.*(no test|timed out)' "$log" || failed=1
done
exit $failed
