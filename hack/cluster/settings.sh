# Where the cluster is and what it is called: for all scripts of this folder, and
# for those that add to the cluster. To be sourced.

# Another name and subnet make another cluster beside the first.
netns=${SINTER_CLUSTER:-sinter-cluster}      # its network namespace, and this machine's interface to it (15 characters)
subnet=${SINTER_CLUSTER_SUBNET:-192.168.222} # a /24: its nodes and this machine
cgroup=$netns                                # its folder in every cgroup hierarchy
state=/srv/$netns                            # everything that it writes; gone when it is taken down

node=node1
node_address=$subnet.2 # on the bridge "nodes" in the cluster's namespace; a further node joins there
host_address=$subnet.1 # this machine's end
api=https://$node_address:6443
service_range=10.96.0.0/16
pod_range=10.244.0.0/16
node_pods=10.244.0.0/24

reserved_cpus=0 # for daemons and ordinary pods; all others are handed out whole
hugepages=288   # of 2 MiB: one chain with the default of 512 MiB, and some to spare

pki=$state/pki                # ca.crt and ca.key sign everybody
kubeconfigs=$state/kubeconfig # admin and one for each daemon; certificates inside
logs=$state/log               # one per daemon
