#!/usr/bin/env bash
# Builds the images without a container engine or registry, as OCI archives:
#   hack/images/build.sh [operator|dataplane]…      (both without arguments)
#   ctr -n k8s.io images import bin/images/sinter-operator.tar
# The Dockerfiles beside this script describe the same images. Needs Debian 12;
# mmdebstrap for the data plane (its Debian root is kept in ~/.cache/sinter and
# made again when dataplane.packages changes, or with REFRESH=1).
#   VERSION   the tag (git describe)      REPOSITORY  ghcr.io/sinter-nfv
#   OUT       bin/images                  MIRROR      Debian's (mmdebstrap's default)
set -euo pipefail
cd "$(dirname "$0")/../.."
export PATH=$PWD/.deps/go/bin:$PATH

version=${VERSION:-$(git describe --tags --always --dirty 2>/dev/null || echo unknown)}
repository=${REPOSITORY:-ghcr.io/sinter-nfv}
out=${OUT:-bin/images}
here=hack/images
cache=${XDG_CACHE_HOME:-$HOME/.cache}/sinter
arch=$(dpkg --print-architecture)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

archive() { # name, options of oci.py…
  local name=$1; shift
  mkdir -p "$out"
  $here/oci.py --name "$repository/$name:$version" --architecture "$arch" "$@" "$out/$name.tar"
  echo "$out/$name.tar: $repository/$name:$version"
}

build_operator() {
  $here/binaries.sh "$version" "$tmp/operator/usr/bin" sinter-operator sinter-smoke
  $here/users.sh "$tmp/operator"
  archive sinter-operator --layer "$tmp/operator" --entrypoint /usr/bin/sinter-operator --user 65532:65532
}

build_dataplane() {
  local engine=dataplane/engine/build-image root
  root=$(debian_root)
  local again=() # files that are new are found when it is configured
  [[ ! -e $engine/build.ninja ]] || again=(--reconfigure)
  meson setup "${again[@]}" "$engine" dataplane/engine --buildtype=release >/dev/null
  ninja -C "$engine" --quiet sinter-engine
  $here/binaries.sh "$version" "$tmp/dataplane/usr/bin" sinter-agent
  install "$engine/sinter-engine" "$tmp/dataplane/usr/bin/"
  archive sinter-dataplane --layer "$root" --layer "$tmp/dataplane" --entrypoint /usr/bin/sinter-engine
}

# debian_root prints the path of a tar archive: Debian 12 with the packages of the data plane.
debian_root() {
  local packages key tar
  packages=$(grep -v '^#' $here/dataplane.packages | paste -sd,)
  key=$(printf '%s %s' "$arch" "$packages" | sha256sum | cut -c1-16)
  tar=$cache/dataplane-debian-$key.tar
  if [[ ! -e $tar || -n ${REFRESH:-} ]]; then
    command -v mmdebstrap >/dev/null || { echo "build.sh: mmdebstrap is missing: apt-get install mmdebstrap" >&2; return 1; }
    mkdir -p "$cache"
    rm -f "$cache"/dataplane-debian-*.tar
    # The root's time is the packages' own, not the last commit's: the layer stays the same from commit to commit.
    SOURCE_DATE_EPOCH=0 mmdebstrap --quiet --format=tar --variant=essential --skip=output/dev --include="$packages" \
      --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
      --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
      bookworm "$tar.new" ${MIRROR:+"$MIRROR"} >&2
    mv "$tar.new" "$tar"
  fi
  echo "$tar"
}

images=("$@")
((${#images[@]})) || images=(operator dataplane)
for image in "${images[@]}"; do
  [[ $image == operator || $image == dataplane ]] || { echo "build.sh: \"$image\" is no image; operator or dataplane is" >&2; exit 2; }
  "build_$image"
done
