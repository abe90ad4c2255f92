package posixsuite

import (
	"context"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
)

// Load is how much the programs have to do.
type Load struct {
	// Commits that git makes, Rows that each of three writers adds to a
	// database, Packages in a tree of dependencies, Targets that make builds.
	Commits, Rows, Packages, Targets int
	// Seconds for each group of stressors; 0 leaves them out.
	Seconds int
}

// RunPrograms lets real programs work in the directory under test, which must
// find nothing wrong with it. They run as the one user, where the suite can be
// him.
func RunPrograms(t *testing.T, s Subject, l Load) {
	tests := []struct {
		name string
		run  func(*testing.T, *workshop)
	}{
		{"git", func(t *testing.T, w *workshop) { testGit(t, w, l.Commits) }},
		{"sqlite", func(t *testing.T, w *workshop) { testSQLite(t, w, l.Rows) }},
		{"dependencies", func(t *testing.T, w *workshop) { testDependencies(t, w, l.Packages) }},
		{"make", func(t *testing.T, w *workshop) { testMake(t, w, l.Targets) }},
		{"stressors", func(t *testing.T, w *workshop) { testStressors(t, w, l.Seconds) }},
	}
	if l.Seconds == 0 {
		tests = tests[:len(tests)-1]
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := &workshop{t: t, dir: filepath.Join(s.Dir, test.name), plain: filepath.Join(s.Plain, test.name)}
			if os.Geteuid() == 0 {
				w.as = s.Single
			}
			for _, d := range []string{w.dir, w.plain} {
				if err := os.Mkdir(d, 0o755); err != nil {
					t.Fatal(err)
				}
				w.give(d)
			}
			test.run(t, w)
			if err := os.RemoveAll(w.dir); err != nil {
				t.Errorf("removing all of it: %v", err)
			}
			os.RemoveAll(w.plain)
		})
	}
}

// workshop is where a program works.
type workshop struct {
	t *testing.T
	// dir is in the directory under test, plain beside it.
	dir, plain string
	// as is who works there; nil: who runs the suite.
	as *Account
}

// give makes a tree belong to who works.
func (w *workshop) give(dir string) {
	w.t.Helper()
	if w.as == nil {
		return
	}
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err == nil {
			err = os.Lchown(path, w.as.UID, w.as.GID)
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// script runs a shell script in the directory under test, with its arguments,
// and returns what it printed. It must succeed within the deadline.
func (w *workshop) script(text string, args ...string) string {
	w.t.Helper()
	out, err := w.attempt(text, args...)
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

func (w *workshop) attempt(text string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), deadline())
	defer cancel()
	cmd := osexec.CommandContext(ctx, "sh", append([]string{"-euc", text, "sh"}, args...)...)
	cmd.Dir = w.dir
	if w.as != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(w.as.UID), Gid: uint32(w.as.GID)}}
	}
	cmd.Env = append(os.Environ(), "HOME="+w.plain, "LC_ALL=C",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b.c", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b.c")
	out, err := cmd.CombinedOutput()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return string(out), fmt.Errorf("%w\n%s", err, strings.Join(lines[max(0, len(lines)-30):], "\n"))
	}
	return string(out), nil
}

// testGit makes commits of changing files, packs them, checks every object
// and clones the result.
func testGit(t *testing.T, w *workshop, commits int) {
	testenv.RequireProgram(t, "git", "git")
	w.script(`
		git init -q .
		i=0
		while [ $i -lt $1 ]; do
			mkdir -p d$((i % 7))
			echo $i >>log
			echo $i >d$((i % 7))/f$((i % 31))
			git add -A
			[ $((i % 50)) != 49 ] || git mv -f d$((i % 7))/f$((i % 31)) moved$i
			git commit -qm "commit $i"
			i=$((i + 1))
		done
		git fsck --full --strict
		git repack -adq
		git fsck --full --strict
		git clone -q . clone
		git -C clone fsck --full
		[ $(git -C clone rev-list --count HEAD) = $1 ]
		[ -z "$(git -C clone status --porcelain)" ]
		diff -r --no-dereference -x .git -x clone . clone`, fmt.Sprint(commits))
}

// testSQLite has three writers, with a journal and with a write-ahead log,
// whose index is a shared mapping.
func testSQLite(t *testing.T, w *workshop, rows int) {
	testenv.RequireProgram(t, "sqlite3", "sqlite3")
	for _, journal := range []string{"delete", "wal"} {
		w.script(`
			db=$1.db
			sqlite3 $db "pragma journal_mode=$1; create table t(w, n, x); create index i on t(n);" >/dev/null
			writer() {
				{
					echo ".timeout 60000"
					n=0
					while [ $n -lt $2 ]; do
						echo "insert into t values($1, $n, hex(randomblob(200)));"
						[ $((n % 10)) != 9 ] || echo "delete from t where w = $1 and n = $((n - 5)); insert into t values($1, $((n - 5)), 'again');"
						n=$((n + 1))
					done
				} | sqlite3 -bail $db
			}
			pids=
			for i in 1 2 3; do writer $i $2 & pids="$pids $!"; done
			for pid in $pids; do wait $pid; done
			[ "$(sqlite3 $db 'pragma integrity_check')" = ok ]
			[ "$(sqlite3 $db 'select count(*) from t')" = $((3 * $2)) ]
			sqlite3 $db "vacuum; pragma integrity_check" | grep -qx ok`, journal, fmt.Sprint(rows))
	}
}

// testMake builds targets with many processes, where each depends on others;
// a second run must find nothing to do, which asks for times in order.
func testMake(t *testing.T, w *workshop, targets int) {
	testenv.RequireProgram(t, "make", "make")
	w.script(`
		mkdir src obj
		i=0
		while [ $i -lt $1 ]; do echo "text $i" >src/$i.c; i=$((i + 1)); done
		cat >Makefile <<-'END'
			.RECIPEPREFIX = :
			SRC := $(wildcard src/*.c)
			OBJ := $(SRC:src/%.c=obj/%.o)
			all: out
			obj/%.o: src/%.c
			:(cat $< $<; echo built) >$@.tmp && mv $@.tmp $@
			out: $(OBJ)
			:cat $(sort $(OBJ)) >$@
		END
		make -s -j8
		make -q
		[ $(wc -l <out) = $((3 * $1)) ]
		touch src/0.c
		! make -q
		make -s -j8
		make -q`, fmt.Sprint(targets))
}
