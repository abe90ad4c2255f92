package config

import (
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// The values of Type Bool, as YAML 1.1 and the shell's habits have them.
var (
	yes = [...]string{"true", "yes", "on", "1"}
	no  = [...]string{"false", "no", "off", "0"}
)

// scalar parses the text of a value that is no list and no mapping. home is
// what "~" stands for in a path; "" where it is not known.
func (k Key) scalar(text, home string) (any, error) {
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return nil, errors.New("must be UTF-8 without a NUL byte")
	}
	switch k.Type {
	case Bool:
		switch lower := strings.ToLower(text); {
		case slices.Contains(yes[:], lower):
			return true, nil
		case slices.Contains(no[:], lower):
			return false, nil
		}
		return nil, fmt.Errorf("must be true or false, not %s", quote(text))
	case Choice:
		if !slices.Contains(k.Choices, text) {
			return nil, fmt.Errorf("must be %s, not %s", strings.Join(k.Choices, " or "), quote(text))
		}
		return text, nil
	case Path:
		return parsePath(text, home)
	case Number:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < int64(k.Min) || n > int64(k.Max) {
			return nil, fmt.Errorf("must be a whole number%s, not %s", k.bounds(), quote(text))
		}
		return n, nil
	case Seconds:
		return parseSeconds(text)
	case Bytes:
		return ParseBytes(text)
	case Text:
		return text, nil
	}
	return nil, errors.New("must not be a plain text")
}

func (k Key) bounds() string {
	if k.Max >= math.MaxInt32 {
		return fmt.Sprintf(" of %d or more", k.Min)
	}
	return fmt.Sprintf(" from %d to %d", k.Min, k.Max)
}

// parsePath demands an absolute path. The home directory is the one thing
// that is expanded, as a shell would have done for a flag.
func parsePath(text, home string) (string, error) {
	if rest, ok := strings.CutPrefix(text, "~/"); ok && path.IsAbs(home) {
		return path.Join(home, rest), nil
	}
	if !path.IsAbs(text) {
		return "", fmt.Errorf("must be an absolute path, not %s", quote(text))
	}
	return path.Clean(text), nil
}

// maxSeconds is a hundred years: what is longer is a mistake.
const maxSeconds = 100 * 365 * 24 * 3600

func parseSeconds(text string) (time.Duration, error) {
	bad := fmt.Errorf("must be a number of seconds, or a duration such as 10m, and not negative; not %s", quote(text))
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		if !(n >= 0 && n <= maxSeconds) { // also what is no number
			return 0, bad
		}
		return time.Duration(n * float64(time.Second)), nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > maxSeconds*time.Second {
		return 0, bad
	}
	return d, nil
}

// units are those of coreutils: a bare letter is a power of 1024.
func units() map[string]float64 {
	u := map[string]float64{"": 1, "b": 1}
	power, thousand := 1.0, 1.0
	for _, letter := range "kmgtp" {
		power, thousand = power*1024, thousand*1000
		u[string(letter)], u[string(letter)+"ib"], u[string(letter)+"b"] = power, power, thousand
	}
	return u
}

// ParseBytes reads a number of bytes with a unit or without, as a value of the
// type [Bytes] is written: "10k" and "10KiB" are 10240, "10kB" is 10000. The
// error says what is right and quotes the text, and begins with "must be".
func ParseBytes(text string) (int64, error) {
	bad := fmt.Errorf("must be a number of bytes, with a unit or without, such as 10GiB, 500M (1024 based), 2GB (1000 based), and not negative; not %s", quote(text))
	digits := strings.TrimRight(text, "BbKkMmGgTtPpIi ")
	unit, ok := units()[strings.ToLower(strings.TrimSpace(text[len(digits):]))]
	if !ok {
		return 0, bad
	}
	if n, err := strconv.ParseInt(digits, 10, 64); err == nil && n >= 0 {
		if n > math.MaxInt64/int64(unit) {
			return 0, bad
		}
		return n * int64(unit), nil
	}
	if strings.Trim(digits, "0123456789.") != "" {
		return 0, bad // ParseFloat knows more spellings than people
	}
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil || n*unit >= math.MaxInt64 {
		return 0, bad
	}
	return int64(n * unit), nil
}

// quote shows a wrong value, and not much of it.
func quote(text string) string {
	const most = 40
	if len(text) > most {
		return strconv.Quote(strings.ToValidUTF8(text[:most], "")) + "..."
	}
	return strconv.Quote(text)
}
