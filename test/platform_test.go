package test

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// The command line compiles on a Mac to one file that says where Linux is to be
// had, so every other file of it is Linux's.
func TestTheCommandLineIsForLinux(t *testing.T) { checkPlatform(t, theTree(t)) }

func checkPlatform(t testing.TB, tr *tree) {
	const other = "cmd/sandboxfs/main_other.go"
	for _, s := range tr.all {
		if s.dir != "cmd/sandboxfs" {
			continue
		}
		want := "//go:build linux"
		if s.path == other {
			want = "//go:build !linux"
		}
		has := slices.ContainsFunc(s.file.Comments, func(g *ast.CommentGroup) bool {
			return g.Pos() < s.file.Package && slices.ContainsFunc(g.List, func(c *ast.Comment) bool { return c.Text == want })
		})
		if !has {
			t.Errorf("%s does not begin with %q and an empty line; without it the program does not compile on a Mac, where %s says what to do", s.path, want, other)
		}
	}
}

// Both files for virtual machines describe the same one, for both processors.
func TestTheLimaFileIsUsable(t *testing.T) {
	var lima struct {
		Images []struct {
			Location string `yaml:"location"`
			Arch     string `yaml:"arch"`
		} `yaml:"images"`
		CPUs       int            `yaml:"cpus"`
		Memory     string         `yaml:"memory"`
		Disk       string         `yaml:"disk"`
		Mounts     []any          `yaml:"mounts"`
		Containerd map[string]any `yaml:"containerd"`
	}
	in := yaml.NewDecoder(strings.NewReader(readDoc(t, "lima.yaml")))
	in.KnownFields(true) // a typo is no new key
	if err := in.Decode(&lima); err != nil {
		t.Fatal(err)
	}
	var archs []string
	for _, i := range lima.Images {
		archs = append(archs, i.Arch)
		if !strings.HasPrefix(i.Location, "https://") || !strings.Contains(i.Location, "debian-12") {
			t.Errorf("%s is no Debian 12 by https", i.Location)
		}
	}
	if !slices.Equal(archs, []string{"x86_64", "aarch64"}) {
		t.Errorf("images for %v, want x86_64 and aarch64", archs)
	}
	size := regexp.MustCompile(`^[0-9]+GiB$`)
	if lima.CPUs < 1 || !size.MatchString(lima.Memory) || !size.MatchString(lima.Disk) || lima.Mounts == nil || len(lima.Mounts) > 0 {
		t.Errorf("cpus %d, memory %q, disk %q, mounts %v", lima.CPUs, lima.Memory, lima.Disk, lima.Mounts)
	}
}

// The machines are made ready by one script, which is there and executable.
func TestMachinesAreMadeReadyByOneScript(t *testing.T) {
	const script = "scripts/provision.sh"
	for _, name := range []string{"Vagrantfile", "lima.yaml", "Makefile"} {
		if !strings.Contains(readDoc(t, name), script) {
			t.Errorf("%s does not call %s", name, script)
		}
	}
	info, err := os.Stat(filepath.Join(theTree(t).root, script))
	if err != nil || info.Mode()&0o111 == 0 {
		t.Errorf("%s cannot be executed: %v", script, err)
	}
}
