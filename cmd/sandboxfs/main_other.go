//go:build !linux

package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
)

// advice is printed where there is no Linux.
const advice = `sandboxfs: it runs on Linux, and this is %s. In its checkout, a virtual machine is two commands:
	vagrant up && vagrant ssh
	limactl start --name sandboxfs ./lima.yaml && limactl shell sandboxfs
CONTRIBUTING.md says how to go on in it.
`

func main() {
	fmt.Fprintf(os.Stderr, advice, runtime.GOOS)
	if len(os.Args) > 1 && slices.Contains([]string{"exec", "run", "shell"}, os.Args[1]) {
		os.Exit(125) // these pass a command's own status on
	}
	os.Exit(1)
}
