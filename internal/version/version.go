// Package version says which build of sandboxfs this is.
//
// It is data for people and bug reports; nothing may decide by it.
package version

import (
	"runtime"
	"runtime/debug"
)

// stamp is set by the linker in a build by the Makefile.
var stamp string

// Info describes a build.
type Info struct {
	// Version is what `git describe` says of the commit, a module's
	// version, or "unknown".
	Version string `json:"version"`
	// Go is the version of the Go toolchain.
	Go string `json:"go"`
	// Platform is GOOS/GOARCH.
	Platform string `json:"platform"`
}

// Get returns this build's description. A program built without the Makefile,
// by `go install` or as somebody's dependency, names the module's version.
func Get() Info {
	info := Info{Version: stamp, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info.Version == "" {
		info.Version = "unknown"
		if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" && b.Main.Version != "(devel)" {
			info.Version = b.Main.Version
		}
	}
	return info
}
