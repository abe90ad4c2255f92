#!/bin/sh
# Makes a machine ready for building and testing sandboxfs: a bare Debian, a CI
# machine, the Vagrant or the Lima box. It installs the Debian packages that
# are missing, and Go where there is none that is new enough. What is there
# already is left as it is, so running it again costs nothing. An ordinary user
# installs nothing: the tests then skip what they cannot run and say so.
#
# Usage: scripts/provision.sh
#
# Environment: PROVISION_PREFIX is where Go goes (/usr/local), PROVISION_GO_URL
# where its archive and the archive's checksum come from, PROVISION_ETC the
# directory of mtab (/etc).
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
prefix=${PROVISION_PREFIX:-/usr/local}
etc=${PROVISION_ETC:-/etc}
go_url=${PROVISION_GO_URL:-https://dl.google.com/go}

# One line a package: what it brings and who needs it.
packages() {
	cat <<-'LIST'
	ca-certificates	the module proxy's certificates	go
	git	git in a thread's workspace	fs, test/escape, version stamp
	make	the targets	everybody
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
	strace	a program that must work in a sandbox	make test
	nodejs	a program that must work in a sandbox	make test
	bindfs	a filesystem to compare ours with	make bench
	fuse-overlayfs	another one	make bench
	ripgrep	a search that uses all processors	make bench
	sqlite3	small transactions	fs, make bench
	stress-ng	stressors of filesystems, which check themselves	fs
	tar	an archive of many files	make bench
	findutils	a walk over a tree	make bench
	shellcheck	what is wrong with a shell script	make shellcheck
	vagrant	whether the Vagrantfile is valid	make vm-check
	LIST
}

say() { echo "provision: $*"; }

# lacking prints the packages that dpkg does not know as installed.
lacking() {
	packages | while IFS='	' read -r name _; do
		status=$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null || true)
		[ "$status" = installed ] || printf '%s ' "$name"
	done
}

# install installs packages. An old package list names files that the archive
# no longer has, so the list is renewed first.
install() {
	export DEBIAN_FRONTEND=noninteractive
	apt='apt-get -q -y -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3'
	log=$(mktemp)
	# shellcheck disable=SC2086 # a list of words
	if { $apt update && $apt install --no-install-recommends "$@"; } >"$log" 2>&1; then
		rm -f "$log"
		return
	fi
	tail -n 30 "$log" >&2
	rm -f "$log"
	say "apt-get failed (above); install by hand: $*" >&2
	exit 1
}

# not_older tells whether the first version is the second or a newer one.
not_older() { [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$2" ]; }

# go_there prints the version of a Go that is new enough.
go_there() {
	for go in "${GO:-go}" go "$prefix/go/bin/go"; do
		# In / there is no go.mod to ask for another version.
		version=$(cd / && GOTOOLCHAIN=local "$go" env GOVERSION 2>/dev/null) || continue
		version=${version#go}
		if not_older "${version%% *}" "$1"; then
			echo "$version"
			return
		fi
	done
	return 1
}

# install_go installs Debian's Go where that is new enough, else the official
# archive, whose checksum must be right. It replaces no Go.
install_go() {
	candidate=$(apt-cache policy golang-go 2>/dev/null | sed -n 's/^ *Candidate: *\([0-9]*:\)\{0,1\}\([0-9.]*\).*/\2/p')
	if [ -n "$candidate" ] && not_older "$candidate" "$1"; then
		say "installing golang-go $candidate"
		install golang-go
		return
	fi
	if [ -e "$prefix/go" ]; then
		say "$prefix/go is older than Go $1 and is left as it is; replace it by hand: https://go.dev/doc/install" >&2
		exit 1
	fi
	case $(uname -m) in
	x86_64) arch=amd64 ;;
	aarch64 | arm64) arch=arm64 ;;
	*) say "no archive of Go is known here for $(uname -m); install Go $1 by hand: https://go.dev/dl" >&2; exit 1 ;;
	esac
	file=go$1.linux-$arch.tar.gz
	say "installing Go $1 into $prefix/go"
	command -v curl >/dev/null || install curl
	mkdir -p "$prefix/bin"
	# Below the prefix, so that the archive appears there whole or not at all.
	work=$(mktemp -d "$prefix/.go-XXXXXX")
	trap 'rm -rf "$work"' EXIT
	if ! curl -fsSL --retry 3 -o "$work/$file" "$go_url/$file" || ! sum=$(curl -fsSL --retry 3 "$go_url/$file.sha256"); then
		say "$go_url/$file cannot be fetched; install Go $1 by hand: https://go.dev/dl" >&2
		exit 1
	fi
	if ! printf '%s  %s\n' "$sum" "$work/$file" | sha256sum -c --status; then
		say "the checksum of $file is wrong, so it is not installed" >&2
		exit 1
	fi
	tar -C "$work" -xzf "$work/$file"
	mv "$work/go" "$prefix/go"
	for program in go gofmt; do
		[ -e "$prefix/bin/$program" ] || ln -s "../go/bin/$program" "$prefix/bin/$program"
	done
}

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
	say "this is no Debian; see the list in $0 for what the tests use" >&2
	exit 0
fi

# fusermount3 looks up there what an ordinary user may unmount, and a bare root
# file system has none.
if [ ! -e "$etc/mtab" ] && [ "$(id -u)" -eq 0 ]; then
	say "making $etc/mtab"
	ln -sf /proc/self/mounts "$etc/mtab"
fi

wanted=$(sed -n 's/^go //p' "$root/go.mod")
missing=$(lacking)
go=$(go_there "$wanted") || missing_go="Go $wanted"
if [ -z "$missing" ] && [ -n "$go" ]; then
	say "everything is there"
	exit 0
fi
if [ "$(id -u)" -ne 0 ]; then
	say "not root, so nothing is installed; missing: $missing${missing_go:-}" >&2
	say "tests that need one of them are skipped and listed at the end" >&2
	exit 0
fi
if [ -n "$missing" ]; then
	say "installing $missing"
	# shellcheck disable=SC2086 # a list of words
	install $missing
fi
[ -n "$go" ] || install_go "$wanted"
say "done"
