#!/usr/bin/env bash
# Builds the kube-apiserver and the etcd that envtest starts, from the Go proxy
# (every module checked by its sum), and prints the folder that they are in: what
# KUBEBUILDER_ASSETS wants. They are kept under ~/.cache/sinter by the hash of what
# they are built from, so only the first run takes minutes. With --cached, only
# what is there already is used.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH=$PWD/.deps/go/bin:$PATH CGO_ENABLED=0

modules=hack/envtest
key=$(cat "$modules"/{apiserver,etcd}/go.{mod,sum} | cat - <(go env GOVERSION) | sha256sum | cut -c1-16)
dir=${XDG_CACHE_HOME:-$HOME/.cache}/sinter/envtest-$key

if [[ ${1:-} == --cached ]]; then
  [[ -x $dir/kube-apiserver && -x $dir/etcd ]] || { echo "no envtest binaries in $dir; make test-envtest builds them" >&2; exit 1; }
  echo "$dir"
  exit
fi

# build makes one binary from its own module; whoever comes second waits for the lock.
build() { # name, module, package, linker flags
  [[ -x $dir/$1 ]] && return
  echo "envtest: building $1, some minutes" >&2
  (cd "$modules/$2" && nice -n 19 go build -p "${ENVTEST_JOBS:-$(nproc)}" -trimpath -ldflags "-s -w ${4:-}" -o "$dir/$1.new" "$3")
  mv "$dir/$1.new" "$dir/$1"
}

# The API server tells its version from what the linker was told.
kubernetes=$(sed -n 's/^require k8s\.io\/kubernetes \(v[0-9.]*\).*/\1/p' "$modules/apiserver/go.mod")
IFS=. read -r major minor _ <<<"${kubernetes#v}"
flags=
for v in gitVersion="$kubernetes" gitMajor="$major" gitMinor="$minor"; do
  flags+=" -X k8s.io/component-base/version.$v -X k8s.io/client-go/pkg/version.$v"
done

mkdir -p "$dir"
exec 9>"$dir/.lock"
flock 9
build etcd etcd go.etcd.io/etcd/server/v3
build kube-apiserver apiserver k8s.io/kubernetes/cmd/kube-apiserver "$flags"
echo "$dir"
