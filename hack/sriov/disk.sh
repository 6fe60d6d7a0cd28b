# The disk that the guest finds in /opt/sinter: what is built here, and what makes it a
# node of the cluster. To be sourced after settings.sh.

make_disk() { # file
  local tmp engine=../../dataplane/engine/build-image
  tmp=$(mktemp -d)
  mkdir "$tmp/bin"
  ../images/binaries.sh "$(git describe --tags --always --dirty)" "$tmp/bin" sinterctl sinter-agent
  # For any processor, as in the image.
  [[ -e $engine/build.ninja ]] || meson setup "$engine" ../../dataplane/engine --buildtype=release >/dev/null
  ninja -C "$engine" --quiet sinter-engine sinter-steercheck >&2
  cp "$engine"/{sinter-engine,sinter-steercheck} "$tmp/bin/"
  ! has_cluster || add_node "$tmp"
  mke2fs -q -t ext4 -L node -m 0 -d "$tmp" "$1" 4G >&2
  rm -r "$tmp"
}

add_node() { # folder
  local binaries sriov
  binaries=$(../cluster/binaries.sh --cached)
  sriov=$(./binaries.sh)
  mkdir "$1"/{cni,node}
  cp "$binaries"/{kubelet,containerd,containerd-shim-runc-v2,ctr,runc} "$sriov/sriovdp" "$1/bin/"
  cp "$binaries"/cni/{multus,ptp,host-local,loopback} "$sriov/sriov" "$1/cni/"
  ../cluster/cluster.sh credentials $node $node_address "$1/node"
  cp "$kubeconfigs/multus" "$1/node/"
  add_images "$1" ../../bin/images/sinter-dataplane.tar
}

# add_images unpacks images by a containerd of this machine, which is quicker than the guest's.
add_images() { # folder, archive…
  local folder=$1 tmp archive pid
  shift
  tmp=$(mktemp -d)
  (cd ../.. && CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$tmp/pause/pause" ./hack/cluster/pause)
  ../images/oci.py --name sinter.test/pause:1 --layer "$tmp/pause" --entrypoint /pause "$tmp/pause.tar"
  cat >"$tmp/containerd.toml" <<EOF
version = 3
root = "$folder/containerd"
state = "$tmp/state"
disabled_plugins = ["io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime", "io.containerd.grpc.v1.cri"]
[grpc]
  address = "$tmp/containerd.sock"
EOF
  unshare --mount --propagation private "$folder/bin/containerd" --config "$tmp/containerd.toml" >"$tmp/log" 2>&1 &
  pid=$!
  for _ in $(seq 100); do [[ ! -S $tmp/containerd.sock ]] || break; sleep 0.1; done
  for archive in "$tmp/pause.tar" "$@"; do
    "$folder/bin/ctr" --address "$tmp/containerd.sock" --namespace k8s.io images import "$archive" >>"$tmp/log" 2>&1 ||
      { cat "$tmp/log" >&2; kill $pid; return 1; }
  done
  kill $pid
  wait $pid || true
  rm -r "$tmp"
}
