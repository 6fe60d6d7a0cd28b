# Builds binaries of Go modules once and keeps them under ~/.cache/sinter by the
# hash of what they are built from. To be sourced, in the repository's root.
#
#   binaries_in NAME MODULE…   names the folder, as $dir; the modules are folders with go.mod and go.sum
#   have BINARY…               whether all are there
#   build BINARY MODULE PACKAGE [LINKER FLAGS]
export PATH=$PWD/.deps/go/bin:$PATH

binaries_in() {
  local name=$1 module key
  shift
  key=$(for module; do cat "$module/go.mod" "$module/go.sum"; cat "$module"/*.go 2>/dev/null || true; done | cat - <(go env GOVERSION) | sha256sum | cut -c1-16)
  dir=${XDG_CACHE_HOME:-$HOME/.cache}/sinter/$name-$key
}

have() {
  local binary
  for binary; do [[ -x $dir/$binary ]] || return 1; done
}

# Whoever comes second waits for the lock, which ends with the shell.
lock() {
  mkdir -p "$dir"
  exec 9>"$dir/.lock"
  flock 9
}

build() {
  have "$1" && return
  echo "building $1" >&2
  (cd "$2" && go build -p "${JOBS:-$(nproc)}" -trimpath -ldflags "-s -w ${4:-}" -o "$dir/$1.new" "$3")
  mv "$dir/$1.new" "$dir/$1"
}

# kubernetes_flags prints the linker flags that tell Kubernetes' binaries their version.
kubernetes_flags() { # module
  local version major minor value
  version=$(sed -nE 's/^require k8s\.io\/kubernetes (v[0-9.]*).*/\1/p' "$1/go.mod")
  IFS=. read -r major minor _ <<<"${version#v}"
  for value in gitVersion="$version" gitMajor="$major" gitMinor="$minor"; do
    printf ' -X k8s.io/component-base/version.%s -X k8s.io/client-go/pkg/version.%s' "$value" "$value"
  done
}
