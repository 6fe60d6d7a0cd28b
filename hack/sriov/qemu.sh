#!/usr/bin/env bash
# Prints a folder with QEMU 10 of Debian 13 and the libraries that it needs, beside
# the system's own. It is kept in ~/.cache/sinter by the hash of its recipe; apt
# checks the packages' signatures. REFRESH=1 makes it again.
set -euo pipefail
cd "$(dirname "$0")"
source settings.sh
packages=$(grep -v '^#' qemu.packages | paste -sd,)
key=$(cat qemu.packages qemu.sh | sha256sum | cut -c1-16)
root=$cache/sriov-qemu-$key
if [[ ! -e $root || -n ${REFRESH:-} ]]; then
  echo "unpacking QEMU of Debian 13" >&2
  rm -rf "$cache"/sriov-qemu-* && mkdir -p "$cache"
  mmdebstrap --quiet --mode=root --variant=essential --include="$packages" \
    --aptopt='APT::Install-Recommends "false"' --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    trixie "$root.new" ${MIRROR:+"$MIRROR"} >&2
  mv "$root.new" "$root"
fi
echo "$root"
