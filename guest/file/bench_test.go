package file

import (
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sandboxfs/sandboxfs/provider"
)

// tree makes a source tree of n files in the manner of code: short words,
// few of them rare.
func tree(tb testing.TB, n int) string {
	tb.Helper()
	dir := tb.TempDir()
	r := rand.New(rand.NewSource(1))
	words := strings.Fields("func return if err nil string the value of int package import type struct for range len append make error context task disk index")
	for i := range n {
		sub := filepath.Join(dir, fmt.Sprintf("d%d/e%d", i%40, i%7))
		if err := os.MkdirAll(sub, 0o755); err != nil {
			tb.Fatal(err)
		}
		var b strings.Builder
		for range 20 + r.Intn(100) {
			for range 6 {
				b.WriteString(words[r.Intn(len(words))])
				b.WriteByte(' ')
			}
			b.WriteByte('\n')
		}
		if i%5000 == 7 {
			b.WriteString("a Rare_Needle here\n")
		}
		if err := os.WriteFile(filepath.Join(sub, fmt.Sprintf("f%d.go", i)), []byte(b.String()), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

func BenchmarkGrep(b *testing.B) {
	dir := os.Getenv("GREP_BENCH_DIR")
	if dir == "" {
		dir = tree(b, 20_000)
	}
	for name, pattern := range map[string]string{
		"literal": "rare_needle", "folded": "task_none", "expression": `rare_[a-z]+ here$`, "no literal": `[A-Z]are_[Nn]eedle|zzz\d+`,
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				res, err := New().Grep(b.Context(), dir, pattern, provider.GrepOptions{})
				if err != nil || res.FilesSearched < 20_000 {
					b.Fatalf("%+v, %v", res, err)
				}
			}
		})
	}
}

func BenchmarkGlob(b *testing.B) {
	dir := tree(b, 20_000)
	for b.Loop() {
		if _, err := New().Glob(b.Context(), dir, "**/none*.go", provider.GlobOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}
