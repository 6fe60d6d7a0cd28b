# What the demo asserts, and how it says so.

results=()
failures=0
began=$SECONDS

title() { printf '\n\e[1m── %s\e[0m\n' "$*"; }

verdict() { # 0|1 what detail
  if (($1 == 0)); then
    results+=("  ok    $2${3:+  ($3)}")
    printf '  \e[32mok\e[0m    %s%s\n' "$2" "${3:+  ($3)}"
  else
    results+=("  FAIL  $2${3:+  ($3)}")
    printf '  \e[31mFAIL\e[0m  %s%s\n' "$2" "${3:+  ($3)}"
    failures=$((failures + 1))
  fi
}

# passes WHAT COMMAND…: the command succeeds. fails: it does not. Both show the last line of its output.
passes() {
  local what=$1 out rc=0; shift
  out=$("$@" 2>&1) || rc=$?
  verdict $((rc != 0)) "$what" "$(tail -n1 <<<"$out" | cut -c1-90)"
}
fails() {
  local what=$1 rc=0; shift
  "$@" >/dev/null 2>&1 || rc=$?
  verdict $((rc == 0)) "$what"
}
# says WHAT PATTERN COMMAND…: the command's output matches.
says() {
  local what=$1 pattern=$2 out; shift 2
  out=$("$@" 2>&1) || true
  verdict "$(grep -qE -- "$pattern" <<<"$out"; echo $?)" "$what" "$(head -n1 <<<"$out" | cut -c1-90)"
}

summary() {
  title "Summary"
  printf '%s\n' "${results[@]}"
  printf '\n%d checks passed, %d failed, %d s\n' $((${#results[@]} - failures)) "$failures" $((SECONDS - began))
  ((failures == 0))
}
