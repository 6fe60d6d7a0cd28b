#!/usr/bin/env bash
# Runs the named stages (all of them without a name), each to its end even if one
# before failed, and sums up: what was skipped and why, what was flaky, what took
# long, then "N passed, N failed, N skipped". `make test` comes here, and with
# --long, for the long form of the suites, `make test-full`.
set -uo pipefail
cd "$(dirname "$0")/.."
export PATH=$PWD/bin:$PWD/.deps/go/bin:$PATH

export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1

engine=dataplane/engine
size=(-short -timeout 40m) # of suites
long=()                    # stages that the long form has besides
[[ ${1-} != --long ]] || { size=(-timeout 8h); long=(seeds soak); shift; }
notes=$(mktemp -d) # of each stage a file with a line per test, see hack/tests/fates.py
beside=()          # process groups of what runs in the background
hack/tests/memory.py "$notes" & watcher=$!
trap 'kill -- "${beside[@]/#/-}" 2>/dev/null; kill -KILL "$watcher" 2>/dev/null; rm -rf "$notes"' EXIT

# check runs a command that counts as one test.
check() {
  local command
  printf -v command "%q " "$@" # as it can be run again
  command=${command% }
  if "$@"; then echo "ok    $command"; note pass "$command"; else fail "$command"; fi
}
fail() { echo "FAIL  $*"; note fail "$*"; }
note() { printf '%s\t%s\t%s\t%s\n' "$1" "$2" "${3-}" "${4-}" >>"$tally"; } # pass|fail|skip|stage name reason seconds
failed() { grep -c '^fail' "$tally"; }

c_files() { git ls-files -co --exclude-standard -- 'dataplane/*.c' 'dataplane/*.h'; }

gofumpt_clean() {
  local bad
  bad=$(git ls-files -co --exclude-standard -- '*.go' | grep -Ev '\.pb\.go$|^api/applyconfiguration/' | xargs -r gofumpt -l) && [[ -z $bad ]] ||
    { echo "not formatted (gofumpt -w): $bad"; return 1; }
}
clang_format_clean() { c_files | xargs -r clang-format --dry-run -Werror; }

# generated_current tells whether `make generate` would change a file.
generated_current() {
  local before after
  before=$(tree_state)
  go generate ./... || return 1
  after=$(tree_state)
  [[ $before == "$after" ]] || { echo "generated files were not current:"; git status --short; return 1; }
}
tree_state() { { git diff HEAD; git ls-files -o --exclude-standard -z | xargs -0 -r sha256sum; } 2>/dev/null | sha256sum; }

# counted runs a program that adds its tests to the tally. What ends badly without a failed test, as if it was killed, counts as one.
counted() { # what it is called, the program, its arguments
  local name=$1 before; shift
  before=$(failed)
  "$1" "$tally" "${@:2}" || (($(failed) > before)) || fail "$name"
}

# A test that fails is run once more, alone: see hack/tests/fates.py. What vet finds, the linter does, too.
go_test() { # all|failures, flags and packages of go test, with -- between them
  local show=(); [[ $1 == all ]] && show=(--all); shift
  counted "go test $*" hack/tests/gotest.py "${show[@]}" -vet=off "$@"
}
meson_test() { counted "meson test -C $1" hack/tests/mesontest.py "$1"; }

# Folders with tests that want an API server. stage_envtest runs all of their tests, others of the same package, too.
api_folders() { git grep -l --untracked KUBEBUILDER_ASSETS -- '*_test.go' | xargs -r -n 1 dirname | sort -u; }

# packages_but PATTERN FOLDER… lists packages but those in the folders.
packages_but() { go list "$1" | grep -vE "/($(IFS='|'; echo "${*:2}"))$"; }

stage_build() { check make --no-print-directory tools chart-tools dpdk-source build; }
stage_format() { check gofumpt_clean; check clang_format_clean; check go mod tidy -diff; }
stage_generate() { check generated_current; }
stage_lint() {
  check env GOMEMLIMIT=2GiB golangci-lint run --allow-serial-runners ./...
  check go run ./hack/imports; check go run ./hack/limits; check go run ./hack/words
}
stage_unit() {
  local packages
  # shellcheck disable=SC2046,SC2086 # one word each
  packages=$(packages_but ./... $(api_folders) | grep -v /test/) && go_test failures -timeout 40m -- $packages || fail go list ./...
}
stage_engine() { make --no-print-directory engine && meson_test "$engine/build" || fail engine; }
stage_engine-asan() {
  make --no-print-directory engine-asan && meson_test "$engine/build-asan" || fail engine-asan
}
stage_demo() { counted "make demo" hack/tests/demotest.py; }

stage_suites() {
  local packages
  # shellcheck disable=SC2046,SC2086
  packages=$(packages_but ./test/... $(api_folders) test/netns test/soak) && go_test all "${size[@]}" -count=1 -- $packages || fail go list ./test/...
}
# Their engines poll, and some tests measure rates: nothing runs beside them.
stage_netns() { go_test all "${size[@]}" -count=1 -p 1 -parallel 8 -- ./test/netns ./test/soak; }
# Minutes of what `make soak` does for hours, with the engine under AddressSanitizer and UBSan.
stage_soak() {
  local build=$PWD/$engine/build-asan
  make --no-print-directory engine-asan || { fail soak; return; }
  SINTER_ENGINE=$build/sinter-engine SINTER_SOAK=${SOAK-3m} go_test all -count=1 -timeout 0 -- ./test/soak
}
# The random chains of the differential tests with SEEDS, by default ten new ones. What fails says with which one.
stage_seeds() {
  local seed drawn='TestTheEngineDoesWhatTheUnmergedChainDoes|TestProgramsAreSwapped|TestRoutesInTables|TestRoutesWalkedTogether'
  make --no-print-directory engine || { fail engine; return; }
  for seed in ${SEEDS:-$(shuf -i 1-999999 -n 10)}; do
    check env SINTER_SEED="$seed" go test ./test/differential/suites/programs -short -count=1 -timeout 40m -run "$drawn"
  done
}
stage_chart() { go_test all -count=1 -- ./test/chart; }

# The operator against a real API server, whose first build takes minutes.
stage_envtest() { with_api_server; }
# The same with the oldest Kubernetes that docs/install.md promises. Not a part of `make test`, because it takes as long as envtest again.
stage_oldest() { with_api_server --oldest; }
with_api_server() { # arguments of hack/envtest.sh
  local assets
  assets=$(hack/envtest.sh "$@") || { fail hack/envtest.sh "$@"; return; }
  # shellcheck disable=SC2046
  KUBEBUILDER_ASSETS=$assets go_test failures -timeout 40m -count=1 -p 1 -- $(api_folders | sed 's|^|./|')
}

run() { # stage
  local began=$SECONDS
  tally=$notes/$1.tally
  : >"$tally"
  export SINTER_STAGE=$tally # see hack/tests/memory.py
  echo "=== $1"
  if declare -F "stage_$1" >/dev/null; then "stage_$1"; else fail "no stage $1"; fi
  echo "=== $1: $((SECONDS - began)) s"
  note stage "$1" "" $((SECONDS - began))
}
run_all() { for s; do run "$s"; done; }

# in_background runs a command as a process group of its own, which ends with this script.
in_background() { set -m; "$@" & beside+=($!); set +m; }

pace() { echo "pace $(hack/tests/pace.py)" >>"$notes/pace.tally"; }

# All stages. Tests that wait for an API server run beside those that compute. Its first build, which takes the longest of all, begins
# before, and goes first: they wait most of their time, and that has to begin.
everything() {
  SINTER_STAGE=$notes/envtest.tally in_background nice -n -10 hack/envtest.sh >/dev/null 2>&1
  pace
  run build
  (($(failed) == 0)) || return
  run_all format generate
  in_background run envtest >"$notes/envtest" 2>&1
  run_all lint unit suites engine-asan
  wait "${beside[@]}"; beside=()
  cat "$notes/envtest"
  pace
  run_all engine demo netns "${long[@]}"
  pace
}

# tree is the hash of what is checked out, nothing if something is not committed.
tree() { [[ -n $(git status --porcelain 2>&1) ]] || git rev-parse 'HEAD^{tree}'; }

stop_watching() { kill "$watcher" && wait "$watcher"; } 2>/dev/null

if (($#)); then
  run_all "$@"
  stop_watching
  hack/tests/tally.py "$notes"/*.tally
  exit
fi
tree=$(tree)
everything
stop_watching
budget=()
if [[ ${size[*]} == *-short* ]]; then
  budget=(--budget hack/tests/budget.toml)
  KUBEBUILDER_ASSETS=$(hack/envtest.sh --cached) hack/tests/alone.py "${budget[1]}" "${size[*]}" "$notes"/*.tally >"$notes/alone"
  mv "$notes"/alone{,.tally}
fi
hack/tests/tally.py "${budget[@]}" "$notes"/*.tally || exit
# This tree has passed: who commits can see it.
[[ -z $tree || $tree != "$(tree)" ]] || echo "$tree" >bin/.green
