//go:build race

package jail

func init() { raceEnabled = true }
