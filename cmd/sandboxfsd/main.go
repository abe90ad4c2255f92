// Command sandboxfsd is what runs once per sandbox and once per mount. Nobody calls it by hand.
//
//	sandboxfsd keep    the host side of a local sandbox: its tree, its namespaces
//	sandboxfsd mount   the server of a thread's tree that is mounted on the host
//	sandboxfsd guest   pid 1 inside a sandbox: runs commands, does file work
//	sandboxfsd slot    the parent of one running command
//
// It must start in milliseconds and stay small, so it links no Docker,
// Kubernetes or MCP package. Read next: packages internal/keeper,
// internal/mounter, guest and exec.
package main

import (
	"fmt"
	"os"

	"github.com/sandboxfs/sandboxfs/exec"
	"github.com/sandboxfs/sandboxfs/internal/keeper"
	"github.com/sandboxfs/sandboxfs/internal/mounter"
	"github.com/sandboxfs/sandboxfs/internal/version"
)

func main() {
	verb := ""
	if len(os.Args) > 1 {
		verb = os.Args[1]
	}
	switch verb {
	case "keep":
		os.Exit(keeper.Main())
	case "mount":
		os.Exit(mounter.Main())
	case "guest":
		os.Exit(guestMain())
	case "slot":
		exec.SlotMain()
	case "version":
		fmt.Println("sandboxfsd", version.Get().Version)
	default:
		fmt.Fprintln(os.Stderr, "sandboxfsd is started by sandboxfs; see: sandboxfs help")
		os.Exit(2)
	}
}
