# Certificates and kubeconfigs. To be sourced after settings.sh, with kubectl in the PATH.

key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1"; }

make_authority() {
  key "$pki/ca.key"
  openssl req -x509 -new -key "$pki/ca.key" -subj "/CN=$netns" -days 3650 -out "$pki/ca.crt"
  key "$pki/sa.key" # signs the tokens of ServiceAccounts
  openssl ec -in "$pki/sa.key" -pubout -out "$pki/sa.pub" 2>/dev/null
}

# certificate makes NAME.key and NAME.crt, for clients and, if it has names, servers.
certificate() { # folder/name, subject, [subject alternative names]
  key "$1.key"
  openssl req -new -key "$1.key" -subj "$2" |
    openssl x509 -req -CA "$pki/ca.crt" -CAkey "$pki/ca.key" -CAcreateserial -days 3650 -out "$1.crt" \
      -extfile <(printf 'keyUsage=digitalSignature\nextendedKeyUsage=clientAuth,serverAuth\n%s\n' "${3:+subjectAltName=$3}") 2>/dev/null
}

# kubeconfig makes the file by which a user with this subject gets in.
kubeconfig() { # file, subject
  local tmp
  tmp=$(mktemp -d)
  certificate "$tmp/user" "$2"
  (
    umask 077
    export KUBECONFIG=$1
    kubectl config set-cluster sinter --server="$api" --certificate-authority="$pki/ca.crt" --embed-certs
    kubectl config set-credentials user --client-certificate="$tmp/user.crt" --client-key="$tmp/user.key" --embed-certs
    kubectl config set-context sinter --cluster=sinter --user=user
    kubectl config use-context sinter
  ) >/dev/null
  rm -r "$tmp"
}

# node_credentials are what a kubelet needs: its kubeconfig, and a certificate to serve with.
node_credentials() { # node, address, folder
  mkdir -p "$3"
  kubeconfig "$3/kubelet" "/O=system:nodes/CN=system:node:$1"
  certificate "$3/kubelet" "/CN=$1" "DNS:$1,IP:$2"
  cp "$pki/ca.crt" "$3/"
}

make_credentials() {
  make_authority
  certificate "$pki/apiserver" /CN=kube-apiserver \
    "DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:localhost,IP:127.0.0.1,IP:${service_range%.*.*}.0.1,IP:$node_address,IP:$host_address"
  certificate "$pki/apiserver-kubelet" /O=system:masters/CN=kube-apiserver
  kubeconfig "$kubeconfigs/admin" /O=system:masters/CN=admin
  kubeconfig "$kubeconfigs/kube-controller-manager" /CN=system:kube-controller-manager
  kubeconfig "$kubeconfigs/kube-scheduler" /CN=system:kube-scheduler
  kubeconfig "$kubeconfigs/kube-proxy" /CN=system:kube-proxy
  kubeconfig "$kubeconfigs/coredns" /CN=system:coredns
  kubeconfig "$kubeconfigs/multus" /CN=system:multus
  node_credentials "$node" "$node_address" "$state/node"
}
