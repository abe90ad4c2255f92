package record

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestQuantile(t *testing.T) {
	times := []time.Duration{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	for q, want := range map[float64]time.Duration{0: 1, 0.1: 2, 0.5: 6, 0.9: 10, 1: 11} {
		if got := Quantile(times, q); got != want {
			t.Errorf("%v: want %d, got %d", q, want, got)
		}
	}
	if got := Median[time.Duration](nil); got != 0 {
		t.Errorf("of nothing: want 0, got %d", got)
	}
}

func TestAppend(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.md")
	for _, section := range []string{"one\n", "two\n"} {
		if err := Append(file, section); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if want := "\none\n\ntwo\n"; err != nil || string(got) != want {
		t.Errorf("want %q, got %q, %v", want, got, err)
	}
	if err := Append("", "x"); err != nil {
		t.Errorf("no file: want nothing, got %v", err)
	}
}
