package main

import (
	"context"
	"os"
	osexec "os/exec"
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
		{"tests of the packages", tests(ofPackages, "-timeout", "8m")},
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
	goTest(ctx, r, []string{"CGO_ENABLED=1"}, append([]string{"-race", "-short", "-timeout", "10m"}, packages...))
}

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
