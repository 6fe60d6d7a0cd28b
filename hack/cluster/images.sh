#!/usr/bin/env bash
# Builds the images under the tag that the chart asks for by default, and loads
# them into the cluster.
#   hack/cluster/images.sh [operator|dataplane]…
set -euo pipefail
cd "$(dirname "$0")/../.."
VERSION=$(sed -n 's/^appVersion: *"\?\([^"]*\)"\?$/\1/p' charts/sinter/Chart.yaml)
export VERSION OUT=bin/images
hack/images/build.sh "$@"
images=("$@")
((${#images[@]})) || images=(operator dataplane)
for image in "${images[@]}"; do
  hack/cluster/cluster.sh load "$OUT/sinter-$image.tar"
done
