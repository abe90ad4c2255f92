package local

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/sandboxfs/sandboxfs/internal/mounter"
	"github.com/sandboxfs/sandboxfs/mapping"
	"github.com/sandboxfs/sandboxfs/provider"
)

var (
	_ provider.HostMounter     = (*Provider)(nil)
	_ provider.HostMountLister = (*Provider)(nil)
	_ provider.HostUnmounter   = (*Provider)(nil)
)

// MountAt mounts a thread's tree at a directory of the host, in the operator's
// view unless told otherwise. Kinds: as [provider.HostMounter].
func (p *Provider) MountAt(ctx context.Context, key mapping.Key, o provider.HostMountOptions) (provider.HostMount, error) {
	const op = "mount"
	if err := key.Validate(); err != nil {
		return provider.HostMount{}, &provider.Error{Kind: provider.Invalid, Op: op, Reason: err.Error()}
	}
	key = key.Normalize()
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, acquireTimeout)
		defer cancel()
	}
	if o.View == "" {
		o.View = provider.ViewOperator
	}
	if o.Ownership == "" {
		o.Ownership = provider.OwnershipOwner
	}
	spec := mounter.Spec{
		Source: p.source(key), Quota: p.cfg.Local.Quota, Point: o.Point, View: o.View, Ownership: o.Ownership,
		UID: uint32(os.Geteuid()), GID: uint32(os.Getegid()), Audience: mounter.MounterOnly,
	}
	if o.AllowOther {
		spec.Audience = mounter.Everybody
	}
	daemon, err := findDaemon()
	if err == nil {
		err = checkMount(o)
	}
	if err != nil {
		return provider.HostMount{}, mountError(op, key.String(), err)
	}
	m, err := mounter.Mount(ctx, daemon, p.run, spec)
	return m, mountError(op, key.String(), err)
}

// checkMount refuses options that contradict each other or the user.
func checkMount(o provider.HostMountOptions) error {
	invalid := func(reason, next string) error {
		return &provider.Error{Kind: provider.Invalid, Reason: reason, Next: next}
	}
	switch {
	case o.Point == "":
		return invalid("no mount point is given", "name an empty directory")
	case o.View != provider.ViewOperator && o.View != provider.ViewAgent:
		return invalid(fmt.Sprintf("there is no view %q", o.View), "use operator or agent")
	case o.Ownership != provider.OwnershipOwner && o.Ownership != provider.OwnershipPreserve:
		return invalid(fmt.Sprintf("there is no ownership %q", o.Ownership), "use owner or preserve")
	case o.Ownership == provider.OwnershipPreserve && os.Geteuid() != 0:
		return invalid(`ownership "preserve" needs root, who alone can make files of other owners`, `use "owner"`)
	}
	return nil
}

// HostMounts lists the mounts of this host user and data directory.
func (p *Provider) HostMounts(context.Context) ([]provider.HostMount, error) {
	mounts, err := mounter.List(p.run, p.home)
	return mounts, mountError("mount", "", err)
}

// UnmountAt ends a mount. Kinds: as [provider.HostUnmounter].
func (p *Provider) UnmountAt(ctx context.Context, point string, how provider.UnmountMode) error {
	return mountError("umount", "", mounter.Unmount(ctx, p.run, point, how))
}

// mountError gives an error the operation and the thread.
func mountError(op, thread string, err error) error {
	if err == nil {
		return nil
	}
	var e *provider.Error
	if errors.As(err, &e) {
		c := *e
		c.Op, c.Thread = op, thread
		return &c
	}
	e = provider.FromErrno(op, "", err)
	e.Thread = thread
	return e
}
