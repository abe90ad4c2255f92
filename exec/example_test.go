package exec_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/sandboxfs/sandboxfs/exec"
)

func ExampleHeadTail() {
	out := exec.NewHeadTail(16)
	fmt.Fprint(out, "first lines\n", strings.Repeat("noise\n", 1000), "the error\n")
	fmt.Printf("%q %q %d\n", out.Head(), out.Tail(), out.Omitted())
	// Output: "first li" "e error\n" 6006
}

func ExampleNewLimited() {
	out := exec.NewLimited(os.Stdout, 20)
	fmt.Fprint(out, "日本語日本語日本語日本語")
	out.Close()
	// Output:
	// 日本語
	// [18 bytes omitted]
	// 日本語
}
