# Where the guest is and what it is called: for all scripts of this folder, in which
# they run. To be sourced.
source ../cluster/settings.sh
cluster=$state cluster_address=$node_address

state=${SINTER_SRIOV:-/srv/sinter-sriov} # everything that a running guest has on this machine
cache=${XDG_CACHE_HOME:-$HOME/.cache}/sinter

# The guest's name and addresses are in the folder guest/, too.
node=sriov
node_address=192.168.222.3 # on the cluster's bridge "nodes"
node_pods=10.244.1.0/24
tap=sriov # the bridge's end of the guest's cable

vcpus=4       # one for the system, one for the agents, and one for each of two chains
memory=4G
hugepages=576 # of 2 MiB: two chains with the default of 512 MiB, and some to spare
