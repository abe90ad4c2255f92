package exec

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/sandboxfs/sandboxfs/internal/testenv"

	"golang.org/x/sys/unix"
)

// attackMain is the hostile command: the test binary with "attack NAME END".
// It ignores what can be ignored, sets the attack off, writes a line, and then
// exits or stays, as END says. After the first fork only raw system calls are
// made: the children are copies without Go's other threads.
func attackMain(name, end string) {
	signal.Ignore()
	attacks := map[string]func(){
		"spoil": spoilMain, "daemon": daemon, "hoppers": hoppers, "bomb": bomb, "sprayer": sprayer,
		"kill all then bomb": func() {
			unix.Kill(-1, unix.SIGKILL)
			bomb()
		},
		"stop and kill the reaper": func() {
			child(func() {
				for _, sig := range []unix.Signal{unix.SIGSTOP, unix.SIGKILL} {
					for _, pid := range []int{1, syscall.Getppid(), int(parentOfAttack)} {
						unix.Kill(pid, sig)
					}
				}
				forever()
			})
			daemon()
		},
		"mixed": func() { daemon(); sprayer(); hoppers(); bomb() },
	}
	parentOfAttack = os.Getppid()
	attacks[name]()
	os.Stdout.WriteString("set off\n")
	if end == "late" { // when the limit of processes is used up
		limit := syscall.Timespec{Nsec: 500e6}
		syscall.RawSyscall6(unix.SYS_PPOLL, 0, 0, uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
	}
	if end == "exit" || end == "late" {
		syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
	forever()
}

var parentOfAttack int

//go:norace
func fork() uintptr {
	pid, _, errno := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 {
		return ^uintptr(0)
	}
	return pid
}

func forever() {
	for {
		syscall.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
	}
}

func exit() { syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0) }

func setsid() { syscall.RawSyscall(unix.SYS_SETSID, 0, 0, 0) }

// child runs f in a new process.
func child(f func()) {
	if fork() == 0 {
		f()
		exit()
	}
}

// daemon leaves its parents and its session and stays.
func daemon() {
	child(func() {
		setsid()
		child(func() {
			setsid()
			forever()
		})
	})
}

// hoppers move to a new process and session all the time; each lives for an
// instant.
func hoppers() {
	for range 20 {
		child(func() {
			for {
				if pid := fork(); pid == 0 {
					setsid()
				} else if pid != ^uintptr(0) {
					exit()
				}
			}
		})
	}
}

// bomb doubles, each process in a session of its own, and goes on for ever.
func bomb() {
	child(func() {
		for {
			if fork() == 0 {
				setsid()
			}
		}
	})
}

// sprayer wakes everything that anybody stops.
func sprayer() {
	child(func() {
		for {
			syscall.RawSyscall(unix.SYS_KILL, ^uintptr(0), uintptr(unix.SIGCONT), 0)
			syscall.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
		}
	})
}

// strangers are the living processes of the sandbox that are neither this one
// nor slots of the executor nor to be spared.
func strangers(t testing.TB, e *Executor, spare ...string) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	known := map[int]bool{os.Getpid(): true}
	e.reaper.mu.Lock()
	for pid := range e.reaper.slots {
		known[pid] = true
	}
	e.reaper.mu.Unlock()
	var found []string
next:
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || known[pid] {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "stat"))
		if err != nil {
			continue
		}
		state := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))[0]
		if state == "Z" || state == "X" {
			continue
		}
		cmdline, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		line := strings.ReplaceAll(string(cmdline), "\x00", " ")
		for _, s := range spare {
			if strings.Contains(line, s) {
				continue next
			}
		}
		found = append(found, fmt.Sprintf("%d(%s) %.60q", pid, state, line))
	}
	return found
}

// noStrangers checks now and 200 ms later.
func noStrangers(t testing.TB, e *Executor, spare ...string) {
	t.Helper()
	for range 2 {
		if s := strangers(t, e, spare...); len(s) > 0 {
			t.Errorf("%d processes are left: %.5q", len(s), s)
			return
		}
		time.Sleep(200 * time.Millisecond) // whatever slipped through shows itself
	}
}

// attackProgram is the path of the test binary inside the sandbox.
func attackProgram(t testing.TB) string {
	t.Helper()
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	p := filepath.Join(t.TempDir(), "attack")
	if err := os.WriteFile(p, self, 0o755); err != nil {
		t.Fatal(err)
	}
	return p
}

// thorough says that every attack is to be met with every end, and at full size:
// that takes minutes where the processor is shared.
func thorough() bool { return os.Getenv("SANDBOXFS_EXEC_TEST_THOROUGH") != "" }

// bombSize is how many processes a bomb may have.
func bombSize() uint64 {
	if thorough() {
		return testProcesses
	}
	return 150
}

func TestSandboxAttacks(t *testing.T) {
	if raceEnabled {
		testenv.SkipArchitectural(t, "attackers are copies of the test binary, which the race detector does not allow")
	}
	program := attackProgram(t)
	scopes := []bool{false}
	if inSandbox(t) == "subreaper" {
		scopes = append(scopes, true)
	}
	for _, unscoped := range scopes {
		for name, ends := range map[string][]string{
			"daemon": {"exit", "kill"}, "hoppers": {"kill", "exit"}, "bomb": {"late", "exit", "kill"}, "sprayer": {"exit", "kill"},
			"kill all then bomb": {"kill", "exit", "late"}, "stop and kill the reaper": {"kill", "exit"}, "mixed": {"exit", "late", "kill"},
		} {
			if !thorough() {
				ends = ends[:1]
			}
			for _, end := range ends {
				t.Run(fmt.Sprintf("unscoped=%v/%s/%s", unscoped, name, end), func(t *testing.T) {
					e := executor(t, func(c *Config) {
						c.MaxProcesses = bombSize()
						c.unscoped = unscoped
						c.KillTimeout = 15 * time.Second // the machine may be busy
					})
					neighbour, err := e.Start(context.Background(), Command{
						Argv: []string{"bash", "--norc", "-c", "read line; echo $line"}, Dir: "/tmp", Env: testEnv, Stdin: StdinPipe,
					})
					if err != nil {
						t.Fatal(err)
					}
					ctx, cancel := context.WithTimeout(context.Background(), deadline)
					defer cancel()
					p, err := e.Start(ctx, Command{Argv: []string{program, "attack", name, end}, Dir: "/tmp", Env: testEnv})
					if err != nil {
						t.Fatal(err)
					}
					stop := time.AfterFunc(2*deadline, p.Kill)
					defer stop.Stop()
					if line, _ := bufio.NewReader(p.Stdout).ReadString('\n'); line != "set off\n" && !strings.Contains(name, "kill") {
						t.Errorf("%q", line)
					}
					begun := time.Now()
					if end == "kill" {
						p.Kill()
					}
					status, err := p.Wait()
					if err != nil {
						t.Error(err)
					}
					if end == "late" && status.ExitCode != 0 && !strings.Contains(name, "kill") {
						t.Errorf("the main process's status is lost: %+v", status)
					}
					t.Logf("ended in %v: %+v", time.Since(begun).Round(time.Millisecond), status)
					p.Stdout.Close()
					p.Stderr.Close()
					noStrangers(t, e, "read line")
					neighbour.Stdin.Write([]byte("alive\n"))
					o := collect(t, neighbour)
					if o.stdout != "alive\n" && !unscoped {
						t.Errorf("the neighbour was hit: %+v", o)
					}
					if o := run(t, e, script("echo next")); o.stdout != "next\n" {
						t.Errorf("the next command: %+v", o)
					}
				})
			}
		}
	}
}

// While a command uses up every process that commands may have, the guest works
// on: it makes slots, and a start succeeds or says quickly why not.
func TestSandboxBombLeavesTheGuestAlive(t *testing.T) {
	if raceEnabled {
		testenv.SkipArchitectural(t, "the attacker is a copy of the test binary, which the race detector does not allow")
	}
	e := executor(t, func(c *Config) {
		c.MaxProcesses = bombSize()
		c.KillTimeout = 15 * time.Second
	})
	p := start(t, e, Command{Argv: []string{attackProgram(t), "attack", "bomb", "stay"}, Dir: "/tmp", Env: testEnv})
	expect(t, p, "set off\n")
	waitFor(t, "the bomb to fill the limit", func() bool { return len(strangers(t, e)) > int(bombSize())*8/10 })
	for range 2 {
		begun := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), deadline)
		other, err := e.Start(ctx, Command{Argv: []string{"true"}, Dir: "/tmp"})
		cancel()
		var serr *StartError
		switch {
		case err == nil:
			collect(t, other)
		case !errors.As(err, &serr) || serr.Reason != NoResources:
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
		t.Logf("%v: %v", time.Since(begun), err)
	}
	p.Kill()
	p.Stdout.Close()
	p.Stderr.Close()
	p.Wait()
	noStrangers(t, e)
	if o := run(t, e, script("echo on")); o.stdout != "on\n" {
		t.Errorf("%+v", o)
	}
}
