#!/usr/bin/env bash
# Builds both images, pushes them to a registry, and prints how to install them:
#   hack/images/push.sh registry.example.com/sinter [flags of skopeo copy]…
# skopeo pushes the OCI archives: no container engine is needed. It uses the
# credentials of `skopeo login` and `docker login`. To push to a registry without
# TLS, add --dest-tls-verify=false.
#   IMAGES   a folder with archives, which are pushed as they are: nothing is built
#   VERSION  the tag of what is built (git describe)
set -euo pipefail
cd "$(dirname "$0")/../.."

registry=${1-}
registry=${registry%/}
if [[ -z $registry ]]; then
  echo "push.sh: no registry is named; type: make push REGISTRY=registry.example.com/sinter" >&2
  exit 2
fi
if [[ $registry == *://* || $registry == -* ]]; then
  echo "push.sh: \"$registry\" is no registry; write host and path alone, as in registry.example.com/sinter" >&2
  exit 2
fi
shift

images=${IMAGES-}
if [[ -z $images ]]; then
  hack/install-deps.sh skopeo
  images=bin/images
  OUT=$images hack/images/build.sh
fi
command -v skopeo >/dev/null || { echo "push.sh: skopeo is missing: apt-get install skopeo" >&2; exit 1; }

# tag_of prints the tag that an archive's image got when it was built.
tag_of() {
  tar -xOf "$1" index.json |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["manifests"][0]["annotations"]["org.opencontainers.image.ref.name"])'
}

tag=
for name in sinter-operator sinter-dataplane; do
  archive=$images/$name.tar
  this=$(tag_of "$archive")
  if [[ -n $tag && $this != "$tag" ]]; then
    echo "push.sh: $archive is of $this, the other image of $tag; build both again" >&2
    exit 1
  fi
  tag=$this
  skopeo copy --quiet "$@" "oci-archive:$archive" "docker://$registry/$name:$tag"
  echo "pushed $registry/$name:$tag"
done

# --set-string: a tag of digits alone is a string, too.
cat <<EOF

To install Sinter with these images:
  helm install sinter charts/sinter --namespace sinter-system --create-namespace --wait \\
    --set image.registry=$registry --set-string image.tag=$tag
EOF
