# What a page of the documentation tells its reader to type. To be sourced, with $page set.

# blocks prints what the blocks of a language say below a heading, until the next heading.
blocks() { # language, heading
  awk -v open="\`\`\`$1" -v heading="$2" '
    /^```/ { inside = !inside; wanted = here && inside && $0 == open; next }
    !inside && /^#+ / { sub(/^#+ /, ""); here = $0 == heading; next }
    wanted
  ' "$page"
}

# commands prints those of a heading, one a line: a backslash joins lines.
commands() { # heading
  blocks sh "$1" | sed -e ':more' -e '/\\$/{N;s/\\\n */ /;b more' -e '}'
}

# shown prints what the page says that a command prints.
shown() { # heading, command
  blocks console "$1" | awk -v command="\$ $2" '/^\$ / { here = $0 == command; next } here'
}
