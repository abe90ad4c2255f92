#!/bin/sh
# The main job, from end to end: data goes into a thread, a script that the
# thread's own shell wrote works on it, the result comes out on the host, and a
# write to the skills is refused. Everything lies in a temporary directory and
# is gone at the end. Inside, it needs only sh and awk.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
PATH=${SANDBOXFS_BIN:-$root/bin}:$PATH
work=$(mktemp -d "${TMPDIR:-/tmp}/sandboxfs-demo.XXXXXX")
SANDBOXFS_HOME=$work/home
SANDBOXFS_RUNTIME_DIR=$work/run
export PATH SANDBOXFS_HOME SANDBOXFS_RUNTIME_DIR

finish() {
	status=$?
	trap - EXIT INT TERM
	sandboxfs stop --all >/dev/null 2>&1 || echo "demo: a sandbox did not end; see: sandboxfs ps" >&2
	rm -rf "$work"
	exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say() { printf '\n# %s\n' "$*"; }
show() { printf '$ %s\n' "$*"; }

# What the kernel reserves is found out first, so that the cure is the first
# thing said.
if [ ! -e /dev/fuse ]; then
	echo "demo: there is no /dev/fuse; as root: modprobe fuse" >&2
	exit 1
fi
if ! (: <>/dev/fuse) 2>/dev/null; then
	echo "demo: /dev/fuse is not open to $(id -un); as root, once: chmod 0666 /dev/fuse (most distributions do)" >&2
	exit 1
fi

thread=demo
data=$SANDBOXFS_HOME/users/default/threads/$thread/user-data
mkdir -p "$SANDBOXFS_HOME/skills/report"
echo 'How to write a report.' >"$SANDBOXFS_HOME/skills/report/SKILL.md"

say "A thread's world is there at its first command; nothing was set up before."
show "sandboxfs exec $thread -- ls /mnt /mnt/user-data"
sandboxfs exec "$thread" -- ls /mnt /mnt/user-data

say "The operator, on the host, puts a CSV file into the thread's uploads."
cat >"$data/uploads/sales.csv" <<'CSV'
region,units
north,12
south,30
north,8
west,5
south,20
CSV
show "cp sales.csv $(echo "$data/uploads/" | sed "s|^$work|...|")"

say "The thread's own shell writes a script into its workspace."
show "sandboxfs shell $thread"
sandboxfs shell "$thread" <<'SHELL'
cat >stats.sh <<'SCRIPT'
awk -F, 'NR > 1 { units[$1] += $2; all += $2 }
	END { for (r in units) printf "%s,%d\n", r, units[r]; printf "all,%d\n", all }' \
	/mnt/user-data/uploads/sales.csv | sort >/mnt/user-data/outputs/totals.csv
echo "wrote $(wc -l </mnt/user-data/outputs/totals.csv) lines"
SCRIPT
echo "$(pwd)/stats.sh is there"
SHELL

say "The script runs."
show "sandboxfs exec $thread -- sh stats.sh"
sandboxfs exec "$thread" -- sh stats.sh

say "The result comes out of outputs, on the host."
show "cat .../user-data/outputs/totals.csv"
cat "$data/outputs/totals.csv"
[ "$(cat "$data/outputs/totals.csv")" = "$(printf 'all,75\nnorth,20\nsouth,50\nwest,5')" ] || {
	echo "demo: the result is not what it should be" >&2
	exit 1
}

say "The skills can be read, and nobody inside can write them."
show "sandboxfs exec $thread -- sh -c 'cat /mnt/skills/report/SKILL.md; echo mine >/mnt/skills/report/SKILL.md'"
if refusal=$(sandboxfs exec "$thread" -- sh -c 'cat /mnt/skills/report/SKILL.md; echo mine >/mnt/skills/report/SKILL.md' 2>&1); then
	echo "demo: a write to the skills was not refused" >&2
	exit 1
fi
echo "$refusal"
case $refusal in
*"Read-only file system"*) ;;
*)
	echo "demo: the refusal should have been: Read-only file system" >&2
	exit 1
	;;
esac
[ "$(cat "$SANDBOXFS_HOME/skills/report/SKILL.md")" = 'How to write a report.' ]

say "That was all. Try it: bin/sandboxfs shell demo"
