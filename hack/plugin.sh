#!/usr/bin/env bash
# Packs kubectl-sinter for krew, the package manager of kubectl's plugins: an archive for each
# processor, and the manifest that names them with their checksums.
#   hack/plugin.sh v0.1.0 dist
# The manifest expects the archives where a release on GitHub has them. To try them before:
#   kubectl krew install --manifest=dist/sinter.yaml --archive=dist/kubectl-sinter_v0.1.0_linux_amd64.tar.gz
#   BINARIES  a folder with amd64/sinterctl and arm64/sinterctl, which are packed as they are: nothing is built
set -euo pipefail
cd "$(dirname "$0")/.."

(($# == 2)) || { echo "plugin.sh: type: hack/plugin.sh v0.1.0 dist" >&2; exit 2; }
tag=$1 out=$2 home=https://github.com/sinter-nfv/sinter
[[ $tag =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] || { echo "plugin.sh: \"$tag\" is no tag of a release; write it like v0.1.0" >&2; exit 2; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
binaries=${BINARIES-}
mkdir -p "$out"

manifest=$out/sinter.yaml
cat >"$manifest" <<YAML
apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: sinter
spec:
  version: $tag
  homepage: $home
  shortDescription: Look into chains of network functions
  description: |
    Sinter compiles a chain of network functions (firewall, router, NAT, load balancer, ...)
    into one packet program, and runs it on cores of its own. This plugin checks a cluster
    before and after Sinter is installed, and shows chains: status, shards, live figures,
    programs and their differences, and what becomes of a packet.
  caveats: |
    Chains need Sinter in the cluster. Type: kubectl sinter check
  platforms:
YAML
for processor in amd64 arm64; do
  if [[ -z $binaries ]]; then
    GOOS=linux GOARCH=$processor hack/images/binaries.sh "${tag#v}" "$tmp/$processor" sinterctl
  fi
  pack=$tmp/pack-$processor archive=kubectl-sinter_${tag}_linux_$processor.tar.gz
  mkdir "$pack"
  install -m 755 "${binaries:-$tmp}/$processor/sinterctl" "$pack/kubectl-sinter"
  install -m 644 LICENSE "$pack/LICENSE"
  # The same files give the same archive, byte for byte.
  tar --create --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 --directory "$pack" . | gzip -n >"$out/$archive"
  cat >>"$manifest" <<YAML
  - selector: {matchLabels: {os: linux, arch: $processor}}
    uri: $home/releases/download/$tag/$archive
    sha256: $(sha256sum "$out/$archive" | cut -d' ' -f1)
    bin: kubectl-sinter
YAML
done
echo "packed $out"
