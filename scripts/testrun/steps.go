package main

import (
	"cmp"
	"context"
	"os"
	osexec "os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// A step is one part of the run.
type step struct {
	name string
	run  func(context.Context, *report)
}

// steps lists the run in order: what is quick and fails often comes first.
func steps() []step {
	return []step{
		{"gofmt", check("make", "-s", "fmt-check")},
		{"go vet", check("make", "-s", "vet")},
		{"other processors and systems", check("make", "-s", "cross")},
		{"staticcheck", check("make", "-s", "staticcheck")},
		{"shellcheck", ifThere("shellcheck", check("make", "-s", "shellcheck"))},
		{"Vagrantfile", ifThere("vagrant", check("make", "-s", "vm-check"))},
		{"tests of the packages", tests(ofPackages, "-timeout", "8m", "-p", atOnce())},
		{"tests of the built binaries", tests(ofBinaries, "-timeout", "12m", "-p", "1")},
		{"race detector", ifThere("gcc", raceTests)},
	}
}

// check runs a command that passes or fails as a whole.
func check(argv ...string) func(context.Context, *report) {
	return func(ctx context.Context, r *report) {
		cmd := osexec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			r.stepFailed(strings.Join(argv, " "), err)
		}
	}
}

// tests runs go test over the packages that a selection keeps.
func tests(keep func(string) bool, flags ...string) func(context.Context, *report) {
	return func(ctx context.Context, r *report) {
		packages, err := list(ctx, keep)
		if err != nil {
			r.stepFailed("go list", err)
			return
		}
		// What is shipped links no C code, so that is what is tested.
		goTest(ctx, r, []string{"CGO_ENABLED=0"}, append(flags, packages...))
	}
}

// ifThere makes a step that is skipped where a program is missing. The program's
// Debian package has its name.
func ifThere(program string, run func(context.Context, *report)) func(context.Context, *report) {
	return func(ctx context.Context, r *report) {
		if _, err := osexec.LookPath(program); err != nil {
			r.skipped(testID{Package: program}, program+" is not installed (Debian package "+program+")")
			return
		}
		run(ctx, r)
	}
}

func raceTests(ctx context.Context, r *report) {
	packages, err := list(ctx, underRace)
	if err != nil {
		r.stepFailed("go list", err)
		return
	}
	flags := []string{"-race", "-short", "-timeout", "10m", "-p", atOnce(), "-skip", strings.Join(blind[:], "|")}
	goTest(ctx, r, []string{"CGO_ENABLED=1"}, append(flags, packages...))
}

// blind are the tests that show the race detector nothing: the suites over a
// tree, a guest or a sandbox that a program built apart serves. The step
// before runs them; here the packages fs, guest and exec run the same suites
// over what is in the test program. Of fs the forms are left out that differ
// in who serves or in what is mounted, and not in what runs at once.
var blind = [...]string{
	"^TestTree$", "^TestTreeAsUser$", // internal/mounter
	"^TestCommands$", "^TestCommandsAsUser$", "^TestFiles$", "^TestFilesAsUser$", // local, examples/recorder
	"^TestSessions$", "^TestSessionsAsUser$", // local
	"^TestPlainDirectory$",                                              // test/treesuite
	"^TestSuite$/^(unprivileged|quota,_unprivileged)$",                  // fs
	"^TestSuiteOverCustomMounts$/^(at_the_top|inside_a_read-only_one)$", // fs
}

// atOnce is for how many packages are tested at once. They wait more than they
// work: for processes to start and end, and for time to pass.
func atOnce() string { return strconv.Itoa(runtime.NumCPU() + 1) }

// long are the packages that take longest, in this order. They begin first, so
// that none of them is still at work when all others have ended.
var long = [...]string{"/fs", "/local", "/guest", "/exec", "/exec/jail", "/internal/mounter", "/internal/doctor", "/examples/recorder"}

// longFirst orders packages for a run that does several at once.
func longFirst(packages []string) {
	rank := func(p string) int {
		i := slices.IndexFunc(long[:], func(name string) bool { return p == module+name })
		if i < 0 {
			return len(long)
		}
		return i
	}
	slices.SortStableFunc(packages, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
}

const module = "github.com/sandboxfs/sandboxfs"

// list returns the module's packages that a selection keeps.
func list(ctx context.Context, keep func(string) bool) ([]string, error) {
	cmd := osexec.CommandContext(ctx, goCommand(), "list", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var packages []string
	for _, p := range strings.Fields(string(out)) {
		if keep(p) {
			packages = append(packages, p)
		}
	}
	longFirst(packages)
	return packages, nil
}

func goCommand() string {
	if g := os.Getenv("GO"); g != "" {
		return g
	}
	return "go"
}

// ofBinaries keeps the packages that drive the built binaries. They measure
// time and memory, so they run one after the other.
func ofBinaries(p string) bool {
	for _, suffix := range []string{"/test/escape", "/test/script", "/test/fault"} {
		if strings.HasSuffix(p, suffix) {
			return true
		}
	}
	return false
}

func ofPackages(p string) bool { return !ofBinaries(p) }

// underRace leaves out what the race detector cannot see into: programs that
// are built apart from the test.
func underRace(p string) bool { return !ofBinaries(p) && !strings.Contains(p, "/scripts/") }
