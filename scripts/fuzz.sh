#!/bin/sh
# Runs every fuzz target of the module, each for a short while.
# Usage: scripts/fuzz.sh DURATION
set -eu
time=${1:-5s}
go=${GO:-go}
failed=
for file in $(git ls-files -co --exclude-standard '*_test.go' | xargs grep -l '^func Fuzz'); do
	# shellcheck disable=SC2013 # names of functions have no blanks
	for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' "$file"); do
		echo "== ./$(dirname "$file") $target"
		"$go" test -timeout 10m -run '^$' -fuzz "^$target\$" -fuzztime "$time" "./$(dirname "$file")" || failed="$failed $target"
	done
done
[ -z "$failed" ] || { echo "failed:$failed" >&2; exit 1; }
