#!/usr/bin/env bash
# Installs what building, testing and the demo need and this machine lacks:
# Debian packages (as root) and, if there is none, Go. Further packages may be
# named. Says what it does, and nothing if there is nothing to do.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
  git make ca-certificates curl python3 xz-utils
  gcc g++ libc6-dev meson ninja-build pkg-config
  clang clang-format libclang-rt-14-dev llvm # llvm: names in sanitizer reports
  dpdk dpdk-dev libdpdk-dev mmdebstrap
  libprotobuf-c-dev protobuf-c-compiler protobuf-compiler libmd-dev
  libhyperscan-dev # for the function inspect
  libcmocka-dev
  iproute2 procps util-linux iputils-ping traceroute iperf3 nftables haproxy tcpdump ethtool nfdump
  graphviz librsvg2-bin fonts-dejavu-core
  "$@"
)

# The toolchain as the Go module proxy serves it, byte for byte the same for everyone.
go_version=1.26.8
declare -A go_sha256=(
  [amd64]=30c2b1bf7dcc88d3eb0a1364e47ddd9128edb3110a30e8a0ef61cd5856b31de7
  [arm64]=02b36b6787b3ac767668f630e2998df45a3b1f9ffee08d1bf3ef6487cd658d99
)
proxies=${GOPROXY:-$(go env GOPROXY 2>/dev/null || true)}
proxy=$(tr ',|' '\n' <<<"$proxies" | grep -m1 '^http' || echo https://proxy.golang.org)

missing_packages() {
  local p
  for p in "${packages[@]}"; do
    dpkg-query -Wf '${db:Status-Status}\n' "$p" 2>/dev/null | grep -qx installed || echo "$p"
  done
}

apt_install() {
  DEBIAN_FRONTEND=noninteractive apt-get -q -y -o=Dpkg::Use-Pty=0 install --no-install-recommends "$@" >"$log" 2>&1
}

install_packages() {
  local missing=()
  mapfile -t missing < <(missing_packages)
  ((${#missing[@]})) || return 0
  if [[ $EUID != 0 ]]; then
    echo "install-deps: run as root to install: ${missing[*]}" >&2
    return 1
  fi
  echo "installing ${#missing[@]} Debian packages: ${missing[*]}"
  log=$(mktemp)
  # The package lists may be missing or older than the mirror: fetch them only then.
  if ! apt_install "${missing[@]}"; then
    apt-get -q update >>"$log" 2>&1 || true # one unreachable source need not matter
    apt_install "${missing[@]}" || { cat "$log" >&2; return 1; }
  fi
  rm -f "$log"
}

# go_can_switch tells whether there is a Go that is new enough, or (since 1.21) fetches the one that go.mod asks for.
go_can_switch() {
  local v
  v=$(PATH=$PWD/.deps/go/bin:$PATH GOTOOLCHAIN=local go version 2>/dev/null | grep -oP 'go1\.\K[0-9]+' | head -1) || return 1
  ((v >= 21))
}

install_go() {
  go_can_switch && return
  local arch zip=.deps/go.zip top
  arch=$(dpkg --print-architecture)
  echo "installing Go $go_version into .deps/go"
  mkdir -p .deps
  curl -fsSL --retry 3 -o "$zip" "$proxy/golang.org/toolchain/@v/v0.0.1-go$go_version.linux-$arch.zip"
  echo "${go_sha256[$arch]:?no Go known for architecture $arch}  $zip" | sha256sum --check --quiet
  python3 -m zipfile -e "$zip" .deps/unpacked
  top=".deps/unpacked/golang.org/toolchain@v0.0.1-go$go_version.linux-$arch"
  chmod +x "$top"/bin/* "$top"/pkg/tool/*/*
  rm -rf .deps/go
  mv "$top" .deps/go
  rm -rf .deps/unpacked "$zip"
}

install_packages
install_go
