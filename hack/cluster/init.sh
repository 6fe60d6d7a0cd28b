#!/usr/bin/env bash
# The first process of the cluster's namespaces: makes its mounts, says so in the file
# "ready", and then starts the daemons whose names it reads from the pipe "orders". With it, all ends.
set -euo pipefail
source "$(dirname "$0")/settings.sh"

mount -t proc proc /proc

# What daemons and plugins write at fixed places of theirs goes to the cluster's folder.
mount -t tmpfs tmpfs /run
for place in /etc /opt /var/lib /var/log; do
  mkdir -p "$state/overlay$place"/{upper,work}
  mount -t overlay overlay -o "lowerdir=$place,upperdir=$state/overlay$place/upper,workdir=$state/overlay$place/work" "$place"
done
mkdir -p /etc/cni/net.d /var/lib/kubelet
mount --make-rshared / # volumes that are mounted later show in the containers that have them

mkfifo "$state/orders"
exec 3<>"$state/orders"
touch "$state/ready"
while read -r name <&3; do
  setsid bash "$state/daemon/$name" >>"$logs/$name.log" 2>&1 </dev/null 3>&- &
done
