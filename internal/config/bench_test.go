package config

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkLoad reads a small file, and one of another program with a thousand
// lines besides, as every call of the command line does.
func BenchmarkLoad(b *testing.B) {
	small := "sandbox:\n  idle_timeout: 600\n  environment:\n    A: b\n  local: {net: none}\n"
	var large strings.Builder
	large.WriteString("models:\n")
	for i := range 200 {
		fmt.Fprintf(&large, "  - name: model-%d\n    use: provider:Class\n    max_tokens: 4096\n    # a comment\n    supports: [a, b, c]\n", i)
	}
	for _, c := range []struct{ name, text string }{{"none", ""}, {"small", small}, {"large", large.String() + small}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				cfg := &Config{sources: Sources{Getenv: func(string) string { return "" }}, origins: map[string]Origin{}}
				if err := cfg.addFile(Keys(), []byte(c.text)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
