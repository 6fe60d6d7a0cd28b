#!/usr/bin/env bash
# Follows README.md word for word, in a clean clone of what is committed (root, Debian 12):
#   hack/readme/follow.sh [HEADING]…     such as "On one machine"; all of them without arguments
#   hack/readme/follow.sh --list         only prints the commands
# Each command is taken from the page and run as it is there. What the page says that its reader has is made
# before: two interfaces with hosts behind them, a cluster, a registry. `make test` alone is left out, as each
# change waits for it. Ends with an error at the first command that fails, or does not do what the page says.
set -euo pipefail
cd "$(dirname "$0")/../.."
source hack/cluster/settings.sh
page=$PWD/README.md
source hack/readme/page.sh
all=("On one machine" "Write a chain" "On a cluster" "No cluster at hand")
if [[ ${1-} == --list ]]; then
  for heading in "${all[@]}"; do commands "$heading"; done
  exit
fi
source hack/readme/machine.sh
source hack/readme/registry.sh

[[ $EUID == 0 ]] || { echo "follow.sh: needs root: namespaces, a cluster" >&2; exit 2; }
[[ ! -e $state/init.pid ]] || { echo "follow.sh: a cluster is up already; make cluster-down takes it down" >&2; exit 1; }

work=$(mktemp -d /tmp/sinter-readme.XXXXXX)
clone=$work/sinter
tools=$work/tools # what a user of the cluster has already
began=$EPOCHSECONDS
hugepages_before=$(</proc/sys/vm/nr_hugepages)

fail() { echo "follow.sh: $*" >&2; exit 1; }
say() { printf '\n%5d s  %s\n' $((EPOCHSECONDS - began)) "$*"; }

end() {
  trap - EXIT INT TERM
  machine_down
  jobs -p | xargs --no-run-if-empty kill 2>/dev/null || true
  [[ ! -e $work/cluster ]] || hack/cluster/cluster.sh down
  echo "$hugepages_before" >/proc/sys/vm/nr_hugepages
  rm -rf "$work"
}
trap end EXIT
trap 'exit 1' INT TERM

# follow runs the commands of a heading, each by a function that is told it.
follow() { # heading, function
  local line count=0
  while IFS= read -r line <&4; do
    [[ -n $line ]] || continue
    count=$((count + 1))
    say "\$ $line"
    "$2" "$line" || fail "\"$1\": this failed: $line"
  done 4< <(commands "$1")
  ((count)) || fail "$page has no commands below \"$1\""
}

# in_clone runs a command as a reader in the clone does.
in_clone() { (cd "$clone" && bash -euo pipefail -c "$1" 4<&-); }

on_one_machine() { # command
  case $1 in
  "make test"*) echo "left out" ;;
  *sinterctl\ run*) runs_a_chain "$1" 203.0.113.254/24 ;;
  *) in_clone "$1" ;;
  esac
}

write_a_chain() { # command
  case $1 in
  "sinterctl run"*) PATH=$clone/bin:$PATH runs_a_chain "$1" 198.51.100.1/24 ;;
  *) PATH=$clone/bin:$PATH in_clone "$1" ;;
  esac
}

# runs_a_chain has a command run until a page has come through the chain, then types Ctrl-C.
runs_a_chain() { # command, the chain's gateway
  local running try
  machine_up "$2"
  (cd "$clone" && exec ip netns exec readme-machine bash -c "exec $1" >"$work/run.log" 2>&1) &
  running=$!
  for try in $(seq 60); do
    if fetches; then break; fi
    kill -0 $running 2>/dev/null || { cat "$work/run.log"; return 1; }
    ((try < 60)) || { cat "$work/run.log"; echo "no packet passes after a minute"; return 1; }
    sleep 1
  done
  say "the chain forwards"
  kill -INT $running
  wait $running || { cat "$work/run.log"; return 1; }
  tail -20 "$work/run.log"
  machine_down
}

on_a_cluster() { # command
  case $1 in
  "make push"*) known_registry bash -euo pipefail -c "cd '$clone' && $1" 4<&- ;;
  *) PATH=$tools:$PATH KUBECONFIG=$kubeconfigs/admin in_clone "$1" ;;
  esac
}

no_cluster() { in_clone "$1"; }

# a_cluster is one with nothing of Sinter, not even an image.
a_cluster() {
  say "a cluster, and a registry"
  make --no-print-directory cluster-tools
  touch "$work/cluster"
  hack/cluster/cluster.sh up
  registry_up
  mkdir "$tools"
  ln -s "$PWD/bin/helm" "$(hack/cluster/binaries.sh --cached)/kubectl" "$tools/"
}

# shows_a_chain waits for what the page shows of the chain that was applied: the same tables, and Ready.
shows_a_chain() {
  local command="kubectl get servicechains,chaininstances,chainprograms"
  say "\$ $command"
  kubectl wait --for=condition=Ready servicechain/edge --timeout=60s >/dev/null || { kubectl describe servicechain edge; fail "the chain is not ready"; }
  $command
  local want
  want=$(shown "On a cluster" "$command" | grep '^NAME' | tr -s ' ')
  [[ -n $want && $want == "$($command | grep '^NAME' | tr -s ' ')" ]] || fail "the page shows other columns: $want"
  kubectl describe servicechain edge | sed -n '1,/^Spec:/p'
}

# sinter_commands are those of the plugin that need no traffic.
sinter_commands() {
  local command
  make --no-print-directory -C "$clone" build >/dev/null
  for command in check "status edge" "shards edge" "programs edge" "explain edge --in inside --src 10.0.0.10 --dst 203.0.113.80 --proto tcp --dport 80"; do
    say "\$ kubectl sinter $command"
    kubectl sinter $command || fail "this failed: kubectl sinter $command"
  done
}

headings=("$@")
((${#headings[@]})) || headings=("${all[@]}")

[[ -z $(git status --porcelain) ]] || echo "follow.sh: what is not committed is not in the clone" >&2
echo 0 >/proc/sys/vm/nr_hugepages # as on a fresh machine
mkdir "$work/www"
echo "here is the world" >"$work/www/index.html"
git clone --quiet . "$clone"

for heading in "${headings[@]}"; do
  case $heading in
  "On one machine") follow "$heading" on_one_machine ;;
  "Write a chain")
    # Where "On one machine" was not followed before.
    [[ -x $clone/bin/sinterctl ]] || in_clone "make build && echo 512 >/proc/sys/vm/nr_hugepages"
    blocks yaml "$heading" >"$clone/office.yaml"
    follow "$heading" write_a_chain
    ;;
  "On a cluster")
    a_cluster
    follow "$heading" on_a_cluster
    (
      export PATH=$tools:$clone/bin:$PATH KUBECONFIG=$kubeconfigs/admin
      shows_a_chain
      sinter_commands
    )
    hack/cluster/cluster.sh down
    rm "$work/cluster"
    ;;
  "No cluster at hand") follow "$heading" no_cluster ;;
  *) fail "\"$heading\" is no heading that is followed" ;;
  esac
done
say "all of it works"
