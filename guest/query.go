package guest

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/sandboxfs/sandboxfs/provider"
)

// number reads a parameter that is a decimal number or absent (0).
func number(op string, r *http.Request, name string) (int, error) {
	text := query(r, name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, &provider.Error{Kind: provider.Invalid, Op: op, Reason: "the parameter " + name + " is not a number"}
	}
	return n, nil
}

// putNumber adds a parameter unless it is 0, its default.
func putNumber(q url.Values, name string, n int) {
	if n != 0 {
		q.Set(name, strconv.Itoa(n))
	}
}

// putFlag adds a parameter if it is set.
func putFlag(q url.Values, name string, on bool) {
	if on {
		q.Set(name, "1")
	}
}
