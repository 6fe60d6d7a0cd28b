# What the cluster needs of this machine, each with its undoing. To be sourced after settings.sh.

# Of no namespace: kubelet sets them.
sysctls=(vm.overcommit_memory vm.panic_on_oom kernel.panic kernel.panic_on_oops kernel.keys.root_maxkeys kernel.keys.root_maxbytes)

save_sysctls() { sysctl "${sysctls[@]}" >"$state/sysctls"; }
restore_sysctls() { [[ ! -e $state/sysctls ]] || sysctl -q -p "$state/sysctls"; }

# Hugepages are added to those that others have, and only what was added goes again.
add_hugepages() {
  local before after
  before=$(cat /proc/sys/vm/nr_hugepages)
  echo $((before + hugepages)) >/proc/sys/vm/nr_hugepages
  after=$(cat /proc/sys/vm/nr_hugepages)
  echo $((after - before)) >"$state/hugepages"
  ((after - before == hugepages)) ||
    echo "hugepages: wanted $hugepages more, got $((after - before)): memory is short or in pieces" >&2
}
remove_hugepages() {
  [[ -e $state/hugepages ]] || return 0
  local left=$(($(cat /proc/sys/vm/nr_hugepages) - $(cat "$state/hugepages")))
  echo $((left > 0 ? left : 0)) >/proc/sys/vm/nr_hugepages
}

# hierarchies prints where cgroups are mounted: one place (v2), or one per controller (v1).
hierarchies() {
  if [[ -e /sys/fs/cgroup/cgroup.controllers ]]; then echo /sys/fs/cgroup; else printf '%s\n' /sys/fs/cgroup/*; fi
}

# The daemons get a cgroup without the CPUs that pods own, and kubelet one to put pods in.
make_cgroups() {
  local h folder file
  if [[ -e /sys/fs/cgroup/cgroup.controllers ]]; then
    echo "+cpu +cpuset +memory +pids +hugetlb" >/sys/fs/cgroup/cgroup.subtree_control
  elif [[ ! -e /sys/fs/cgroup/hugetlb ]]; then
    mkdir /sys/fs/cgroup/hugetlb
    touch "$state/hugetlb"
    mount -t cgroup -o hugetlb hugetlb /sys/fs/cgroup/hugetlb
  fi
  while read -r h; do
    mkdir -p "$h/$cgroup/system"
    [[ $h != /sys/fs/cgroup ]] || echo "+cpu +cpuset +memory +pids +hugetlb" >"$h/$cgroup/cgroup.subtree_control"
    # What else runs on this machine must not take the time of cores that the cluster calls exclusive.
    for file in cpu.shares=65536 cpu.weight=6400; do
      [[ ! -e $h/$cgroup/${file%=*} ]] || echo "${file#*=}" >"$h/$cgroup/${file%=*}"
    done
    [[ -e $h/$cgroup/cpuset.cpus ]] || continue
    # Empty in version 1 until someone fills them, from the top.
    for folder in $cgroup $cgroup/system; do
      for file in cpuset.cpus cpuset.mems; do
        [[ ! -e $h/$file ]] || cat "$h/$file" >"$h/$folder/$file"
      done
    done
    echo "$reserved_cpus" >"$h/$cgroup/system/cpuset.cpus"
  done < <(hierarchies)
}
remove_cgroups() {
  local h try
  # What was killed takes a moment to leave its cgroup.
  for try in $(seq 50); do
    hierarchies | while read -r h; do
      [[ ! -d $h/$cgroup ]] || find "$h/$cgroup" -depth -type d -exec rmdir {} + 2>/dev/null
    done
    compgen -G "/sys/fs/cgroup/$cgroup" >/dev/null || compgen -G "/sys/fs/cgroup/*/$cgroup" >/dev/null || break
    sleep 0.1
  done
  [[ -e $state/hugetlb ]] || return 0
  umount /sys/fs/cgroup/hugetlb
  rmdir /sys/fs/cgroup/hugetlb
}

# A bridge for nodes in a namespace of the cluster's own, and a cable to it.
make_network() {
  ip netns add "$netns"
  ip link add "$netns" type veth peer name host netns "$netns"
  ip addr add $host_address/24 dev "$netns"
  ip link set "$netns" up
  ip -n "$netns" link set lo up
  ip -n "$netns" link add nodes type bridge
  ip -n "$netns" link set host master nodes up
  ip -n "$netns" addr add $node_address/24 dev nodes
  ip -n "$netns" link set nodes up
  ip -n "$netns" route add default via $host_address
  # What crosses a bridge is no business of the services' rules: pods are routed, and networks of chains carry anything.
  ip netns exec "$netns" sysctl -q net.ipv4.ip_forward=1 net.bridge.bridge-nf-call-{iptables,ip6tables,arptables}=0 2>/dev/null ||
    ip netns exec "$netns" sysctl -q net.ipv4.ip_forward=1
}
remove_network() {
  ip link del "$netns" 2>/dev/null || true
  [[ ! -e /run/netns/$netns ]] || ip netns del "$netns"
}
