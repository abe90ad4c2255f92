package escape

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/testenv"
	"github.com/sandboxfs/sandboxfs/test/hostview"
)

// TestCasesAsRoot runs every case in sandboxes that root started.
func TestCasesAsRoot(t *testing.T) {
	testenv.RequireRoot(t)
	testenv.RequireFUSE(t)
	runCases(t, newWorld(t, nil))
}

// TestCasesAsUser runs every case in sandboxes of an ordinary user: a user
// that root makes for it, or the one who runs the tests.
func TestCasesAsUser(t *testing.T) {
	if os.Geteuid() == 0 {
		runCases(t, newWorld(t, testenv.OrdinaryUser(t)))
		return
	}
	testenv.RequireFUSE(t)
	runCases(t, newWorld(t, nil))
}

func runCases(t *testing.T, w *world) {
	for _, c := range readCases(t) {
		t.Run(c.ID, func(t *testing.T) { w.runCase(t, c) })
	}
}

// isLater tells the cases whose feature is not there yet.
func isLater(c Case) bool {
	_, net := c.Find(Net)
	return net
}

// skipCase skips what cannot be run here.
func (w *world) skipCase(t *testing.T, c Case) {
	t.Helper()
	if n, ok := c.Find(Net); ok {
		testenv.SkipArchitectural(t, "later: sandboxes have no network mode "+n.Text+" yet")
	}
	if runtime.GOARCH != "amd64" && (strings.Contains(c.Snippet, "syscall(") || strings.Contains(c.Snippet, "ctypes")) {
		testenv.SkipArchitectural(t, "the snippet's system call numbers are those of x86-64")
	}
	if strings.Contains(c.ID, "bomb") && !w.limited() {
		testenv.Skip(t, "a bomb needs a small store of its own; run it as root to include it")
	}
	if strings.Contains(c.Snippet, "python3") {
		testenv.RequireProgram(t, "python3", "python3")
	}
}

// trial is one case being run.
type trial struct {
	*world
	t      *testing.T
	thread string
	// uts names the sandbox's UTS namespace, and keeper is the host side's
	// pid.
	uts    string
	keeper int
	slack  float64
}

func (w *world) runCase(t *testing.T, c Case) {
	w.skipCase(t, c)
	r := w.newTrial(t, c.ID)

	checks := r.hostChecksOf(c)
	for _, check := range checks {
		if check.before != nil {
			check.before(r)
		}
	}
	during, ended := context.WithCancel(t.Context())
	defer ended()
	var collect []func() error
	for _, check := range checks {
		if check.during != nil {
			collect = append(collect, check.during(during, r))
		}
	}

	o := r.runSnippet(c)
	ended()
	t.Logf("status %d after %v\n%s", o.Code, o.Took.Round(time.Millisecond), shorten(o.Combined()))

	for _, result := range collect {
		if err := result(); err != nil {
			t.Error(err)
		}
	}
	for _, e := range c.Expect {
		if err := o.Check(e, r.slack); err != nil {
			t.Error(err)
		}
	}
	for _, check := range checks {
		if check.after == nil {
			continue
		}
		if err := check.after(r, o); err != nil {
			t.Error(err)
		}
	}
	if _, ok := c.Find(Session); ok {
		r.nextCommands(c)
	}
	r.alwaysHolds(o)
}

// newTrial makes a live sandbox with one file in its workspace.
func (w *world) newTrial(t *testing.T, thread string) *trial {
	r := &trial{world: w, t: t, thread: thread, slack: slack()}
	r.uts = w.must(t, thread, "readlink /proc/self/ns/uts")
	t.Cleanup(func() { w.stop(t, thread) })
	w.write(t, w.workspace(thread)+"/a.txt", uploadContent)
	guest, ok := hostview.Guest(hostview.InUTS(r.uts))
	if !ok && os.Geteuid() == 0 {
		t.Fatalf("no pid 1 in the sandbox's namespace %s", r.uts)
	}
	r.keeper = guest.Parent
	return r
}

// runSnippet runs the case's snippet behind the variables of the harness.
func (r *trial) runSnippet(c Case) Outcome {
	r.t.Helper()
	limit := 3 * time.Minute
	if e, ok := c.Find(Within); ok && 2*e.Limit > limit {
		limit = 2 * e.Limit
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), limit)
	defer cancel()
	var flags []string
	if e, ok := c.Find(TimeLimit); ok {
		flags = append(flags, "--timeout", e.Limit.String())
	}
	script := r.variables() + c.Snippet
	if _, ok := c.Find(Session); ok {
		return r.inSession(script, flags...)
	}
	if strings.ContainsRune(script, 0) {
		return r.runThroughCall(script)
	}
	o, err := r.exec(ctx, r.thread, script, flags...)
	if ctx.Err() != nil {
		r.t.Fatalf("the command line did not end within %v\n%s", limit, shorten(o.Combined()))
	}
	if err != nil {
		r.t.Fatalf("the command line ended with %v\n%s", err, shorten(o.Combined()))
	}
	return o
}

// runThroughCall runs a script that no argument can hold.
func (r *trial) runThroughCall(script string) Outcome {
	r.t.Helper()
	o, err := r.call(time.Minute, "script", r.thread, "-", strings.NewReader(script))
	if err != nil {
		r.t.Fatal(err)
	}
	return o
}

// variables are what a snippet finds set. They are not exported.
func (r *trial) variables() string {
	var b strings.Builder
	for _, v := range [][2]string{
		{"CANARY_HOST_PATH", r.canaryFile},
		{"BACKING_DIR", r.backing(r.thread)},
		{"OTHER_THREAD", otherThread},
		{"HOST_PIDS", strconv.Itoa(os.Getpid())},
		{"HOST_WRITE_DIR", r.writeDir},
		{"HOST_TMP_CANARY", r.tmpCanary},
	} {
		fmt.Fprintf(&b, "%s='%s'\n", v[0], strings.ReplaceAll(v[1], "'", `'\''`))
	}
	return b.String()
}

// alwaysHolds checks what must be so after every case, whatever it tried.
func (r *trial) alwaysHolds(o Outcome) {
	r.t.Helper()
	if left := hostview.Commands(hostview.InUTS(r.uts)); len(left) > 0 {
		r.t.Errorf("processes of the ended command live on: %+v", left)
	}
	if got := r.sumSkills(r.t); got != r.skillsSum {
		r.t.Error("the skills tree on the host was changed")
	}
	for what, path := range map[string]string{"data": r.home, "runtime": r.run, "program": r.programs.Dir} {
		if strings.Contains(o.Combined(), path) {
			r.t.Errorf("the output shows the host's %s directory", what)
		}
	}
	if r.t.Failed() && r.user == nil {
		r.t.Logf("the sandbox's own view: %+v", hostview.InUTS(r.uts))
	}
	if uts := r.must(r.t, r.thread, "readlink /proc/self/ns/uts"); uts != r.uts {
		r.t.Error("the sandbox did not survive: the next command ran in another")
	}
}

// slack is how much longer than on a quiet machine things may take: as many
// times as there are runnable processes for one processor.
func slack() float64 {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 1
	}
	load, err := strconv.ParseFloat(strings.Fields(string(data))[0], 64)
	if err != nil {
		return 1
	}
	const most = 8
	return min(max(1, load/float64(runtime.NumCPU())), most)
}

// shorten keeps a log readable.
func shorten(s string) string {
	const most = 2000
	if len(s) <= most {
		return s
	}
	return fmt.Sprintf("%s\n[... %d bytes ...]\n%s", s[:most/2], len(s)-most, s[len(s)-most/2:])
}
