//go:build !cgo

package guest_test

const cgo = false
