#!/usr/bin/env bash
# Runs the named stages (all of them without arguments), each to its end even if
# one before failed, and sums up: what was skipped and why, what was flaky, then
# "N passed, N failed, N skipped". `make test` comes here.
set -uo pipefail
cd "$(dirname "$0")/.."
export PATH=$PWD/bin:$PWD/.deps/go/bin:$PATH

engine=dataplane/engine
tally=$(mktemp) # a line per test, see hack/tests/fates.py
trap 'rm -f "$tally"' EXIT

# check runs a command that counts as one test.
check() {
  if "$@"; then echo "ok    $*"; note pass "$*"; else fail "$@"; fi
}
fail() { echo "FAIL  $*"; note fail "$*"; }
note() { printf '%s\t%s\t%s\n' "$1" "$2" "${3-}" >>"$tally"; } # pass|fail|skip name reason
failed() { grep -c '^fail' "$tally"; }

c_files() { git ls-files -co --exclude-standard -- "$engine/*.c" "$engine/*.h"; }

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

# A test that fails is run once more, alone: see hack/tests/fates.py.
go_test() { # all|failures, flags and packages of go test, with -- between them
  local show=(); [[ $1 == all ]] && show=(--all); shift
  counted "go test $*" hack/tests/gotest.py "${show[@]}" -timeout 40m "$@"
}
meson_test() { counted "meson test -C $1" hack/tests/mesontest.py "$1"; }

stage_format() { check gofumpt_clean; check clang_format_clean; check go mod tidy -diff; }
stage_generate() { check generated_current; }
stage_vet() { check go vet ./...; }
stage_lint() { check golangci-lint run --allow-parallel-runners ./...; check go run ./hack/imports; check go run ./hack/limits; check go run ./hack/words; }
stage_unit() {
  local packages
  packages=$(go list ./... | grep -v /test/) || { fail go list ./...; return; }
  # shellcheck disable=SC2086 # one word each
  go_test failures -- $packages
}
stage_engine() { make --no-print-directory engine && meson_test "$engine/build" || fail engine; }
stage_engine-asan() {
  make --no-print-directory engine-asan &&
    ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 meson_test "$engine/build-asan" ||
    fail engine-asan
}
stage_suites() { go_test all -count=1 -p 1 -- ./test/...; }

stage_demo() { counted "make demo" hack/tests/demotest.py; }
stage_chart() { go_test all -count=1 -- ./test/chart; }

# The operator against a real API server, whose first build takes minutes.
stage_envtest() {
  local assets
  assets=$(hack/envtest.sh) || { fail hack/envtest.sh; return; }
  KUBEBUILDER_ASSETS=$assets go_test failures -count=1 -p 1 -- ./controllers/... ./cmd/... ./dataplane/agent ./test/chart
}

stages=("$@")
((${#stages[@]})) || stages=(format generate vet lint unit engine engine-asan demo suites envtest)
for s in "${stages[@]}"; do
  began=$SECONDS
  echo "=== $s"
  if declare -F "stage_$s" >/dev/null; then "stage_$s"; else fail "no stage $s"; fi
  echo "=== $s: $((SECONDS - began)) s"
done

hack/tests/tally.py "$tally"
