# registry.example.com, with TLS, for this machine and for the cluster's node. To be sourced after the cluster's settings.

registry=registry.example.com

registry_up() {
  local program
  program=$(hack/registry.sh)
  mkdir -p "$work/registry"
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj "/CN=$registry" \
    -addext "subjectAltName=DNS:$registry" -keyout "$work/registry.key" -out "$work/registry.crt" 2>"$work/registry.log"
  cat >"$work/registry.yml" <<EOF
version: 0.1
storage: {filesystem: {rootdirectory: $work/registry}}
http: {addr: "$host_address:443", tls: {certificate: $work/registry.crt, key: $work/registry.key}}
EOF
  "$program" serve "$work/registry.yml" >>"$work/registry.log" 2>&1 &
  cat /etc/ssl/certs/ca-certificates.crt "$work/registry.crt" >"$work/authorities.crt"
  { cat /etc/hosts && echo "$host_address $registry"; } >"$work/hosts"
  hack/cluster/cluster.sh in bash -s <<EOF
echo "$host_address $registry" >>/etc/hosts
mkdir -p /etc/containerd/certs.d/$registry
cp "$work/registry.crt" /etc/containerd/certs.d/$registry/ca.crt
cat >/etc/containerd/certs.d/$registry/hosts.toml <<TOML
[host."https://$registry"]
  ca = "/etc/containerd/certs.d/$registry/ca.crt"
TOML
EOF
}

# known_registry runs a command that knows the registry, by its name and its certificate.
known_registry() {
  SSL_CERT_FILE=$work/authorities.crt unshare --mount --propagation private \
    bash -c 'mount --bind "$0" /etc/hosts && exec "$@"' "$work/hosts" "$@"
}
