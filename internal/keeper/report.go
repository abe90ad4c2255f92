package keeper

import (
	"errors"
	"fmt"

	"github.com/sandboxfs/sandboxfs/exec/jail"
	"github.com/sandboxfs/sandboxfs/provider"
)

// told puts what the jail says into the error that a caller gets.
func told(err error) error {
	var j *jail.Error
	if !errors.As(err, &j) {
		return err
	}
	return &provider.Error{Kind: provider.Unavailable, Reason: fmt.Sprintf("%s: %v", j.Op, j.Err), Next: j.Cure, Err: err}
}
