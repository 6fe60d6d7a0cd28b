#!/usr/bin/env bash
# Builds the image of examples/suricata without a container engine, and loads it into the cluster.
#   hack/cluster/suricata.sh IMAGE
# Its Debian root is kept in ~/.cache/sinter (REFRESH=1 makes it again).
set -euo pipefail
cd "$(dirname "$0")/../.."
mirror=${MIRROR:-http://deb.debian.org/debian}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/sinter
root=$cache/suricata-debian.tar
if [[ ! -e $root || -n ${REFRESH:-} ]]; then
  mkdir -p "$cache"
  SOURCE_DATE_EPOCH=0 mmdebstrap --format=tar --variant=essential --skip=output/dev --include=suricata/bookworm-backports,libhtp2/bookworm-backports \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
    bookworm "$root.new" "deb $mirror bookworm main" "deb $mirror bookworm-backports main" >&2
  mv "$root.new" "$root"
fi
tmp=$(mktemp -d)
trap 'rm -r "$tmp"' EXIT
mkdir -p "$tmp/files/etc/suricata"
cp examples/suricata/inline.yaml examples/suricata/local.rules "$tmp/files/etc/suricata/"
hack/images/oci.py --name "$1" --layer "$root" --layer "$tmp/files" --entrypoint /usr/bin/suricata "$tmp/image.tar"
hack/cluster/cluster.sh load "$tmp/image.tar"
