#!/bin/sh
# Installs the Debian packages that the tests and benchmarks use and that are
# not there yet. What is there already is left as it is, so running it again
# costs nothing. An ordinary user installs nothing: the tests then skip what
# they cannot run and say so.
#
# Usage: scripts/provision.sh [test|bench]
set -eu

# One line a package: what it brings and who needs it.
packages() {
	cat <<-'LIST'
	ca-certificates	the module proxy's certificates	go
	git	git in a thread's workspace	test/escape, version stamp
	gcc	the race detector's compiler	make race
	libc6-dev	the race detector's headers	make race
	python3	system calls that no shell makes	test/escape
	e2fsprogs	mkfs.ext4 for a store of limited size	test/escape, test/fault
	mount	loop mounts of that store	test/escape, test/fault
	util-linux	unshare, setpriv, flock	test/escape, make demo
	bsdutils	script(1), a terminal for the shell verb	test/script
	procps	ps and pgrep inside a thread	test/escape
	fuse3	a set-uid fusermount3 that must stay inert	test/escape
	bubblewrap	the nested sandbox; the peer in benchmarks	test/escape, make bench
	LIST
}

# lacking prints the packages that dpkg does not know as installed.
lacking() {
	packages | while IFS='	' read -r name _; do
		status=$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null || true)
		[ "$status" = installed ] || printf '%s ' "$name"
	done
}

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
	echo "provision: this is no Debian; see the list in $0 for what the tests use" >&2
	exit 0
fi

missing=$(lacking)
if [ -z "$missing" ]; then
	echo "provision: everything is there"
	exit 0
fi
if [ "$(id -u)" -ne 0 ]; then
	echo "provision: not root, so nothing is installed; missing: $missing" >&2
	echo "provision: tests that need one of them are skipped and listed at the end" >&2
	exit 0
fi

echo "provision: installing $missing"
export DEBIAN_FRONTEND=noninteractive
apt='apt-get -q -y -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3'
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# An old package list names files that the archive no longer has, so the list
# is renewed first.
# shellcheck disable=SC2086 # both are lists of words
if ! { $apt update && $apt install --no-install-recommends $missing; } >"$log" 2>&1; then
	tail -n 30 "$log" >&2
	echo "provision: apt-get failed (above); install by hand: $missing" >&2
	exit 1
fi
echo "provision: done"
