#!/usr/bin/env bash
# Writes the users of an image without a distribution below it.
#   hack/images/users.sh ROOT
set -euo pipefail
mkdir -p "$1/etc"
printf '%s\n' root:x:0:0:root:/:/sbin/nologin nonroot:x:65532:65532:nonroot:/:/sbin/nologin >"$1/etc/passwd"
printf '%s\n' root:x:0: nonroot:x:65532: >"$1/etc/group"
