package posixsuite

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Locks between processes: the same steps in both directories, told to two
// processes that answer what their calls return.

// serveLocks does what it is told, a line each: "open N PATH", "close N",
// "flock N sh|ex|un", and "lock N sh|ex|un START LENGTH" (fcntl), "wait" the
// same but waiting, "test N START LENGTH".
func serveLocks(in io.Reader, out io.Writer) error {
	files := map[int]int{}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var verb, what string
		var n int
		var start, length int64
		fmt.Sscan(lines.Text(), &verb, &n)
		rest := strings.Join(strings.Fields(lines.Text())[2:], " ")
		var err error
		detail := ""
		switch verb {
		case "open":
			files[n], err = unix.Open(rest, unix.O_RDWR|unix.O_CLOEXEC, 0)
		case "dup":
			var from int
			fmt.Sscan(rest, &from)
			files[n], err = unix.Dup(files[from])
		case "close":
			err = unix.Close(files[n])
		case "flock":
			err = unix.Flock(files[n], map[string]int{"sh": unix.LOCK_SH, "ex": unix.LOCK_EX, "un": unix.LOCK_UN}[rest]|unix.LOCK_NB)
		case "lock", "wait", "test":
			fmt.Sscan(rest, &what, &start, &length)
			l := unix.Flock_t{Type: map[string]int16{"sh": unix.F_RDLCK, "ex": unix.F_WRLCK, "un": unix.F_UNLCK}[what], Start: start, Len: length}
			err = unix.FcntlFlock(uintptr(files[n]), map[string]int{"lock": unix.F_SETLK, "wait": unix.F_SETLKW, "test": unix.F_GETLK}[verb], &l)
			if verb == "test" && err == nil {
				detail = fmt.Sprintf("type %d from %d for %d held %v", l.Type, l.Start, l.Len, l.Pid > 0)
			}
		default:
			err = fmt.Errorf("what is %q?", verb)
		}
		fmt.Fprintln(out, outcome(detail, err))
	}
	return lines.Err()
}

// lockSteps are told to process a or b. "b< " tells it to b and leaves the
// answer for later, "b>" takes that answer, "kill b" ends it.
const lockSteps = `
a open 1 f
b open 1 f
a flock 1 ex
b flock 1 ex
b flock 1 sh
a flock 1 sh
b flock 1 sh
b flock 1 ex
a flock 1 un
b flock 1 ex
a open 2 f
a flock 2 sh
b flock 1 un
a flock 1 sh
a flock 2 ex
a flock 1 un
a flock 2 ex
a dup 3 2
a close 2
b flock 1 ex
a close 3
b flock 1 ex
b close 1
b open 1 f
a lock 1 ex 0 10
b lock 1 ex 5 10
b lock 1 ex 10 10
b test 1 ex 0 5
b test 1 sh 20 5
a test 1 ex 12 1
a lock 1 un 4 2
b lock 1 sh 4 2
a test 1 ex 0 0
b test 1 ex 0 0
a lock 1 sh 4 2
a lock 1 ex 4 2
a lock 1 ex 0 0
b lock 1 un 0 0
a lock 1 ex 0 0
b< wait 1 ex 100 1
a lock 1 un 0 0
b>
a lock 1 ex 100 1
a open 4 f
b open 4 f
b close 4
a lock 1 ex 100 1
b< wait 1 ex 100 1
kill a
b>
b flock 1 ex
b lock 1 ex -5 3
b close 1
`

func testLocks(t *testing.T, s Subject) {
	logs := map[string][]string{}
	for _, dir := range []string{s.Plain, s.Dir} {
		name := dir + "/locked"
		b := &builder{dir: dir, to: func(a Account) Account { return root }}
		if dir == s.Dir && s.Single != nil {
			b.to = func(Account) Account { return *s.Single }
		}
		b.file("locked", text, 0o666)
		if b.err != nil {
			t.Fatal(b.err)
		}
		processes := map[string]*process{"a": start(t, role{}), "b": start(t, role{})}
		for _, step := range strings.Split(strings.TrimSpace(lockSteps), "\n") {
			who, what, _ := strings.Cut(step, " ")
			if opened, ok := strings.CutSuffix(what, " f"); ok {
				what = opened + " " + name
			}
			answer := ""
			switch {
			case who == "kill":
				processes[what].kill()
			case strings.HasSuffix(who, "<"):
				fmt.Fprintln(processes[who[:1]].in, what)
			case strings.HasSuffix(who, ">"):
				answer = processes[who[:1]].answer(t)
			default:
				answer = processes[who].ask(t, what)
			}
			logs[dir] = append(logs[dir], step+": "+answer)
		}
	}
	plain, tree := differing(logs[s.Plain], logs[s.Dir])
	if plain+tree != "" {
		t.Errorf("plain: %s\ntree:  %s", plain, tree)
	}
	t.Logf("%d steps", len(logs[s.Dir]))
}
