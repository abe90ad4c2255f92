package testenv

import "os"

// EnvSoak, set to "1", lets tests run in their long forms. `make soak` sets it.
const EnvSoak = "SANDBOXFS_SOAK"

// Soak returns the length of a test that has a long form: rounds, files,
// seconds. Such a test is called TestSoak..., so that `make soak` finds it; its
// short form runs with all the others.
func Soak(short, long int) int {
	if os.Getenv(EnvSoak) == "1" {
		return long
	}
	return short
}
