package quota

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/sandboxfs/sandboxfs/internal/hostpath"
	"github.com/sandboxfs/sandboxfs/internal/regions"
	"github.com/sandboxfs/sandboxfs/internal/rundir"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
)

// own are the regions of a thread's own that count.
var own = [...]string{mapping.Workspace, mapping.Uploads, mapping.Outputs, mapping.ACPWorkspace}

// Regions returns the virtual paths of a table's regions that count: a
// thread's own, and any other whose host directory lies in one of those.
func Regions(table *mapping.Table) []string {
	var hosts, counted []string
	for _, r := range table.Regions() {
		if slices.Contains(own[:], r.Virtual) {
			hosts = append(hosts, r.Host)
		}
	}
	for _, r := range table.Regions() {
		if slices.ContainsFunc(hosts, func(dir string) bool { return r.Host == dir || strings.HasPrefix(r.Host, dir+"/") }) {
			counted = append(counted, r.Virtual)
		}
	}
	return counted
}

// ForThread attaches to the ledger of the thread of source, whose missing
// directories it makes. Where limits bound nothing, or source names no thread,
// it returns nil, which counts nothing. runtime must stay open as long as the
// ledger. Kinds: unavailable, timeout (of ctx).
func ForThread(ctx context.Context, runtime *rundir.Root, source regions.Source, limits provider.QuotaConfig) (*Ledger, error) {
	if limits.IsZero() || source.Key.IsGeneric() {
		return nil, nil
	}
	table, err := source.Table()
	if err != nil {
		return nil, err
	}
	home, err := hostpath.Open(source.Home)
	if err != nil {
		return nil, unavailable(err)
	}
	defer home.Close()
	var roots []*os.File
	defer func() {
		for _, r := range roots {
			r.Close()
		}
	}()
	for _, r := range table.Regions() {
		if !slices.Contains(own[:], r.Virtual) {
			continue
		}
		dir, err := hostpath.MakeDirs(home, 0o755, strings.Split(strings.TrimPrefix(r.Host, source.Home+"/"), "/")...)
		if err != nil {
			return nil, unavailable(err)
		}
		roots = append(roots, dir)
	}
	l, err := Open(ctx, runtime.Ledger(source.Home, source.Key), roots, limits)
	if err != nil {
		return nil, unavailable(err)
	}
	return l, nil
}

func unavailable(err error) error {
	e := provider.FromErrno("count the thread's files", "", err)
	if e.Kind == provider.Internal {
		e.Kind = provider.Unavailable
	}
	return e
}
