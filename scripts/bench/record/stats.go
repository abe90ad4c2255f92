package record

import (
	"cmp"
	"os"
)

// Quantile returns that of sorted values, the zero value of none; q is between
// 0 and 1.
func Quantile[T cmp.Ordered](sorted []T, q float64) T {
	if len(sorted) == 0 {
		var none T
		return none
	}
	return sorted[int(q*float64(len(sorted)-1)+0.5)]
}

// Median returns the middle one of sorted values.
func Median[T cmp.Ordered](sorted []T) T { return Quantile(sorted, 0.5) }

// Append adds a section to the end of a file, after an empty line. An empty
// name does nothing.
func Append(file, section string) error {
	if file == "" {
		return nil
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString("\n" + section)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}
