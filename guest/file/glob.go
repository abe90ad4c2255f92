package file

import (
	"context"
	"path"
	"sort"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/sandboxfs/sandboxfs/provider"
	"golang.org/x/sys/unix"
)

// Defaults and bounds of a glob.
const (
	defaultGlob = 200
	maxPattern  = 4096
	// maxResults bounds any search; whoever calls may have a smaller bound.
	maxResults = 10000
)

// Glob finds what matches a pattern below a directory; "**" stands for any
// number of directories, none included. Symbolic links are found and not
// entered. Directories of the ignore list are passed over unless the pattern
// itself begins with their name. It stops when it has enough. Kinds: not
// found, denied, invalid (the pattern, or not a directory).
func (f *Files) Glob(ctx context.Context, p, pattern string, o provider.GlobOptions) (*provider.GlobResult, error) {
	const op = "glob"
	plan, err := planGlob(op, p, pattern)
	if err != nil {
		return nil, err
	}
	root, err := openRoot(op, p)
	if err != nil {
		return nil, err
	}
	defer unix.Close(root)
	base := path.Clean(p)
	most := within(o.MaxResults, defaultGlob, maxResults)
	res := &provider.GlobResult{}
	w := &walker{root: root}
	w.enter = func(rel, name string) bool {
		return plan.mayHold(rel) && (o.NoIgnore || !provider.IsIgnoredDir(name) || plan.names(rel))
	}
	w.visit = func(dir int, rel string, e dirent) error {
		if !plan.match(rel) || isTemp(e.name) || !o.IncludeDirs && isDir(dir, e) {
			return nil
		}
		if len(res.Paths) == most {
			res.Truncated = true
			return errStop
		}
		res.Paths = append(res.Paths, path.Join(base, rel))
		return nil
	}
	if err := w.walk(ctx); err != nil {
		return nil, fail(op, p, err)
	}
	res.Truncated = res.Truncated || w.incomplete
	sort.Strings(res.Paths)
	return res, nil
}

// isDir reports whether a name is a directory, or a symbolic link to one.
func isDir(dir int, e dirent) bool {
	if e.kind != unix.DT_LNK {
		return e.kind == unix.DT_DIR
	}
	fd, err := openat(dir, e.name, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return false
	}
	unix.Close(fd)
	return true
}

// globPlan is a checked pattern and what it lets a walk leave out.
type globPlan struct {
	pattern string
	base    string // the directory that every match lies in, "." for the root
	depth   int    // the greatest depth of a match, -1 for any
}

// planGlob checks a pattern and looks where it can match. Kind: invalid.
func planGlob(op, p, pattern string) (*globPlan, error) {
	bad := func(reason, next string) error { return refuse(provider.Invalid, op, p, reason, next) }
	pattern = strings.TrimPrefix(pattern, "./")
	switch {
	case pattern == "":
		return nil, bad("the pattern is empty", `give one such as "**/*.py"`)
	case len(pattern) > maxPattern:
		return nil, bad("the pattern is longer than 4096 bytes", "give a shorter one")
	case strings.HasPrefix(pattern, "/"):
		return nil, bad("the pattern is absolute", "give the directory as the path and a pattern relative to it")
	case strings.ContainsRune(pattern, 0):
		return nil, bad("the pattern has a NUL byte", "file names cannot hold one")
	case hasDotDot(pattern):
		return nil, bad(`the pattern has a ".." part`, "give the directory as the path and a pattern below it")
	case braceCost(pattern) > maxBraces:
		return nil, bad("the pattern has too many alternatives", "give several simpler ones")
	case !doublestar.ValidatePattern(pattern):
		return nil, bad("the pattern is malformed", `close every "[" and "{", and write a literal one as "\["`)
	}
	base, rest := doublestar.SplitPattern(pattern)
	plan := &globPlan{pattern: pattern, base: base, depth: -1}
	// Braces are left out of this: "{*}*" is a "**" too.
	if !strings.Contains(rest, "**") && !strings.Contains(pattern, "{") {
		plan.depth = 1 + strings.Count(pattern, "/")
	}
	return plan, nil
}

func hasDotDot(pattern string) bool {
	for part := range strings.SplitSeq(pattern, "/") {
		if part == ".." {
			return true
		}
	}
	return false
}

// maxBraces bounds the alternatives that a pattern can stand for: the matcher
// tries each.
const maxBraces = 1000

// braceCost is the product of the numbers of alternatives in all braces, an
// upper bound for what the pattern stands for.
func braceCost(pattern string) int {
	cost := 1
	for part := range strings.SplitSeq(pattern, "{") {
		inside, _, _ := strings.Cut(part, "}")
		if cost *= 1 + strings.Count(inside, ","); cost > maxBraces {
			return cost
		}
	}
	return cost
}

func (g *globPlan) match(rel string) bool {
	ok, err := doublestar.Match(g.pattern, rel)
	return ok && err == nil
}

// mayHold reports whether something below a directory can match.
func (g *globPlan) mayHold(rel string) bool {
	if g.depth >= 0 && strings.Count(rel, "/")+1 >= g.depth {
		return false
	}
	if g.base == "." {
		return true
	}
	return below(rel, g.base) || below(g.base, rel)
}

// names reports whether the pattern itself spells out a directory.
func (g *globPlan) names(rel string) bool { return g.base != "." && below(g.base, rel) }

// below reports whether p is dir or lies below it.
func below(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, dir) && p[len(dir)] == '/'
}
