package keeper

import (
	"errors"
	"fmt"

	"github.com/sandboxfs/sandboxfs/exec/jail"
	"github.com/sandboxfs/sandboxfs/provider"
)

func reportOf(err error) report {
	rep := report{Kind: provider.KindOf(err), Reason: err.Error()}
	var e *provider.Error
	var j *jail.Error
	switch {
	case errors.As(err, &e):
		rep.Reason, rep.Next = e.Reason, e.Next
	case errors.As(err, &j):
		rep.Kind = provider.Unavailable
		rep.Reason, rep.Next = fmt.Sprintf("%s: %v", j.Op, j.Err), j.Cure
	}
	return rep
}
