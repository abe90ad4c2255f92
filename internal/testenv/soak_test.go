package testenv

import "testing"

func TestSoak(t *testing.T) {
	for value, want := range map[string]int{"": 1, "0": 1, "1": 2} {
		t.Setenv(EnvSoak, value)
		if got := Soak(1, 2); got != want {
			t.Errorf("$%s=%q: got %d, want %d", EnvSoak, value, got, want)
		}
	}
}
