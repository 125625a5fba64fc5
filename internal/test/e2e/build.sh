#!/usr/bin/env bash
# Builds etcd, kube-apiserver and kube-controller-manager for the tests of this folder into bin/, which git
# ignores, and says how long each step took. A second run finds them built and takes no time.
#
#   ./build.sh                what is missing
#   ./build.sh kube-apiserver etcd     only these
#   KUBERNETES=v1.37 ./build.sh        of the release in bins/v1.37.mod, into bin/v1.37; v1.35 is there, too
set -euo pipefail
export GOWORK=off # the requirements of this module, not those of the workspace
cd "$(dirname "${BASH_SOURCE[0]}")/bins"

file=${KUBERNETES:+-modfile=$KUBERNETES.mod}
kubernetes=$(go list $file -m -f '{{.Version}}' k8s.io/kubernetes)
etcd=$(go list $file -m -f '{{.Version}}' go.etcd.io/etcd/server/v3)
minor=${kubernetes#v1.} minor=${minor%%.*}
version=k8s.io/component-base/version
# Without flags for the compiler: packages that the tests of other folders have compiled are not compiled again.
flags=(-ldflags "-s -w -X $version.gitVersion=$kubernetes -X $version.gitMajor=1 -X $version.gitMinor=$minor")
bin=$PWD/../bin/${KUBERNETES:-}
mkdir -p "$bin"

declare -A package=(
  [etcd]=go.etcd.io/etcd/server/v3
  [kube-apiserver]=k8s.io/kubernetes/cmd/kube-apiserver
  [kube-controller-manager]=k8s.io/kubernetes/cmd/kube-controller-manager
)
declare -A release=([etcd]=$etcd [kube-apiserver]=$kubernetes [kube-controller-manager]=$kubernetes)

wanted=("$@")
[ ${#wanted[@]} -gt 0 ] || wanted=(etcd kube-apiserver kube-controller-manager)

for name in "${wanted[@]}"; do
  started=$SECONDS
  # The stamp names the release, so that a new one in go.mod builds anew.
  stamp=$bin/.$name-${release[$name]}
  if [ -x "$bin/$name" ] && [ -e "$stamp" ]; then
    echo "$name ${release[$name]}: there"
    continue
  fi
  go build $file "${flags[@]}" -o "$bin/$name" "${package[$name]}"
  rm -f "$bin/.$name-"*
  touch "$stamp"
  echo "$name ${release[$name]}: built in $((SECONDS - started)) s, $(du -m "$bin/$name" | cut -f1) MB"
done
