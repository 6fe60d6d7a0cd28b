#!/usr/bin/env bash
# Runs every fuzz target for the time given (a Go duration; default 5m): the Go
# ones, then the engine's libFuzzer ones. Findings stay in testdata/fuzz and
# dataplane/engine/build-fuzz.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-5m}
seconds=$(python3 - "$time" <<'PY'
import re, sys
unit = {"h": 3600, "m": 60, "s": 1}
parts = re.findall(r"(\d+)([hms])", sys.argv[1])
if not parts or "".join(n + u for n, u in parts) != sys.argv[1]:
    sys.exit(f"fuzz: time {sys.argv[1]!r}: want a duration, as in 5m or 30s")
print(sum(int(n) * unit[u] for n, u in parts))
PY
)

while IFS=: read -r file target; do
  echo "=== $target ($file), $time"
  go test "./$(dirname "$file")" -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 5x
done < <(git ls-files -co --exclude-standard '*_test.go' | xargs grep -oP '^func \KFuzz\w+' /dev/null | sort)

engine=dataplane/engine
build=$engine/build-fuzz
[[ -f $build/build.ninja ]] || CC=clang meson setup "$build" "$engine" -Dfuzz=true --buildtype=debugoptimized \
  -Db_sanitize=address,undefined -Db_lundef=false
ninja -C "$build" --quiet
for name in fuzz_parse fuzz_program fuzz_request; do
  corpus=$build/$name.corpus
  mkdir -p "$corpus"
  [[ $name != fuzz_program ]] || { "$build/fuzz_seeds" "$corpus"; cp dataplane/program/testdata/rules/* "$corpus"; }
  echo "=== $name, $time"
  "$build/$name" -max_total_time="$seconds" -print_final_stats=1 -artifact_prefix="$build/$name." "$corpus"
done
