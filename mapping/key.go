package mapping

import "fmt"

// DefaultUser owns every thread for which no user is named.
const DefaultUser = "default"

// MaxIDLength is the greatest length in bytes of a thread or user id.
const MaxIDLength = 64

// Key names a thread: the unit of isolation. The zero Key is the generic
// sandbox, which has skills and custom mounts but no user data.
type Key struct {
	// User owns the thread; empty means [DefaultUser].
	User string
	// Thread is the conversation; empty means no thread.
	Thread string
}

// Normalize fills in the default user.
func (k Key) Normalize() Key {
	if k.User == "" {
		k.User = DefaultUser
	}
	return k
}

// IsGeneric reports whether the key names no thread.
func (k Key) IsGeneric() bool { return k.Thread == "" }

// Validate checks both ids by [ValidateID]. An empty thread is valid only as
// the generic key; callers that need a thread check [Key.IsGeneric].
func (k Key) Validate() error {
	k = k.Normalize()
	if err := ValidateID("user", k.User); err != nil {
		return err
	}
	if k.IsGeneric() {
		return nil
	}
	return ValidateID("thread", k.Thread)
}

// String returns "THREAD", or "USER:THREAD" for a user other than the
// default, for messages and ids, and "" for the generic key, whose sandbox
// belongs to no user. Neither part of a valid key can hold a colon, so valid
// keys with one text are one thread.
func (k Key) String() string {
	if k.IsGeneric() || k.User == "" || k.User == DefaultUser {
		return k.Thread
	}
	return k.User + ":" + k.Thread
}

// ValidateID accepts 1 to 64 ASCII letters, digits, '_' and '-', and nothing
// else, so that an id is always one plain path component. What names the kind
// of id in the message: "thread" or "user".
func ValidateID(what, id string) error {
	if id == "" {
		return fmt.Errorf("the %s id is empty; give 1 to %d letters, digits, '_' or '-'", what, MaxIDLength)
	}
	if len(id) > MaxIDLength {
		return fmt.Errorf("the %s id has %d bytes; at most %d letters, digits, '_' or '-' are allowed", what, len(id), MaxIDLength)
	}
	for _, c := range []byte(id) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-':
		default:
			return fmt.Errorf("the %s id %q has a character other than letters, digits, '_' and '-'", what, id)
		}
	}
	return nil
}
