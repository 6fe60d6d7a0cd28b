# What the demo asserts, and how it says so.

results=()
failures=0
began=$SECONDS

bold= red= green= plain=
if [[ -t 1 ]]; then bold=$'\e[1m' red=$'\e[31m' green=$'\e[32m' plain=$'\e[0m'; fi

title() { printf '\n%s── %s%s\n' "$bold" "$*" "$plain"; }

verdict() { # 0|1 what detail
  if (($1 == 0)); then
    results+=("  ok    $2${3:+  ($3)}")
    printf '  %sok%s    %s%s\n' "$green" "$plain" "$2" "${3:+  ($3)}"
  else
    results+=("  FAIL  $2${3:+  ($3)}")
    printf '  %sFAIL%s  %s%s\n' "$red" "$plain" "$2" "${3:+  ($3)}"
    failures=$((failures + 1))
  fi
}

# passes WHAT COMMAND…: the command succeeds. fails: it does not. Both show the last line of its output.
passes() {
  local what=$1 out rc=0; shift
  out=$("$@" 2>&1) || rc=$?
  verdict $((rc != 0)) "$what" "$(tail -n1 <<<"$out" | cut -c1-110)"
}
fails() {
  local what=$1 rc=0; shift
  "$@" >/dev/null 2>&1 || rc=$?
  verdict $((rc == 0)) "$what"
}
# says WHAT PATTERN COMMAND…: a line of the command's output matches.
says() {
  local what=$1 pattern=$2 out line; shift 2
  out=$("$@" 2>&1) || true
  if line=$(grep -m1 -E -- "$pattern" <<<"$out"); then
    verdict 0 "$what" "$(cut -c1-110 <<<"$line")"
  else
    verdict 1 "$what" "$(tail -n1 <<<"$out" | cut -c1-110)"
  fi
}

summary() {
  title "Summary"
  printf '%s\n' "${results[@]}"
  printf '\n%d checks passed, %d failed, %d s\n' $((${#results[@]} - failures)) "$failures" $((SECONDS - began))
  ((failures == 0))
}
