package mounter

import (
	"errors"
	"strings"
	"testing"

	"github.com/sandboxfs/sandboxfs/provider"
)

// TestWhatTheHelperSays holds that what fusermount3 refuses gets a cure.
func TestWhatTheHelperSays(t *testing.T) {
	for said, want := range map[string]struct {
		kind provider.Kind
		text string
	}{
		"/usr/bin/fusermount3: failed to open /etc/mtab: No such file or directory\n": {
			provider.Unavailable, "fusermount3: failed to open /etc/mtab: No such file or directory; " +
				"it looks its mounts up in /etc/mtab; let root make that: ln -s /proc/self/mounts /etc/mtab"},
		"fusermount3: failed to unmount /m: Device or resource busy\n": {provider.Conflict, "fusermount3: failed to unmount /m: Device or resource busy"},
		"": {provider.Denied, "fusermount3: exit status 1"},
	} {
		err := helperError(said, errors.New("exit status 1"))
		if !errors.Is(err, want.kind) || strings.TrimPrefix(err.Error(), ": ") != want.text {
			t.Errorf("%q: want %s: %s, got %v", said, want.kind, want.text, err)
		}
	}
}
