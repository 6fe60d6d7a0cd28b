#!/usr/bin/env bash
# Publishes what a tag names: both images and the chart, signed, in an OCI registry.
#   hack/release.sh ghcr.io/sinter-nfv v0.1.0
# Before, log in: skopeo login, bin/helm registry login, cosign login. cosign signs
# without a key, by the identity of the workflow that runs it.
#   IMAGES      a folder with archives, which are pushed as they are: nothing is built
#   SIGN=no     leaves the signatures out
#   PLAIN_HTTP  not empty: the registry has no TLS
set -euo pipefail
cd "$(dirname "$0")/.."

(($# == 2)) || { echo "release.sh: type: hack/release.sh ghcr.io/sinter-nfv v0.1.0" >&2; exit 2; }
registry=$1 tag=$2 version=${2#v}
charted=$(sed -n 's/^version: *//p' charts/sinter/Chart.yaml)
if [[ $tag != "v$charted" ]]; then
  echo "release.sh: the tag is $tag, but charts/sinter/Chart.yaml has version $charted; the tag must be v$charted" >&2
  exit 1
fi
[[ -x bin/helm ]] || { echo "release.sh: bin/helm is missing: make chart-tools" >&2; exit 1; }
signs=1
[[ ${SIGN-} != no ]] || signs=
[[ -z $signs ]] || command -v cosign >/dev/null || { echo "release.sh: cosign is missing; SIGN=no does without" >&2; exit 1; }

# sign signs an artifact of the registry by its digest: a tag may be moved.
sign() { # repository below the registry
  local digest
  digest=$(skopeo inspect "${inspect[@]}" --raw "docker://$registry/$1:$version" | sha256sum | cut -d' ' -f1)
  echo "published $registry/$1:$version@sha256:$digest"
  [[ -z $signs ]] || cosign sign --yes "$registry/$1@sha256:$digest"
}

push=() inspect=() helm=()
if [[ -n ${PLAIN_HTTP-} ]]; then
  push=(--dest-tls-verify=false) inspect=(--tls-verify=false) helm=(--plain-http)
fi

VERSION=$version hack/images/push.sh "$registry" "${push[@]}"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
bin/helm package charts/sinter --destination "$tmp" >/dev/null
bin/helm push "${helm[@]}" "$tmp/sinter-$version.tgz" "oci://$registry/charts"
for artifact in sinter-operator sinter-dataplane charts/sinter; do
  sign "$artifact"
done
