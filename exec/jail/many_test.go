package jail

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"
)

// TestManyAtOnce starts sandboxes at the same time and ends them in another
// order.
func TestManyAtOnce(t *testing.T) {
	forBoth(t, func(t *testing.T) {
		const n = 12
		specs, paths := make([]Spec, n), make([]string, n)
		for i := range n {
			specs[i], paths[i] = baseSpec(t)
			specs[i].Name = fmt.Sprintf("many-%d-%d", os.Getpid(), i)
			specs[i].Extra = []byte(fmt.Sprint(i))
			if os.Geteuid() == 0 {
				specs[i].HostUID, specs[i].HostGID = testUID+uint32(i), testUID+uint32(i)
			}
			specs[i].Serve = serveLater(t, &specs[i])
		}
		ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
		defer cancel()
		jails, errs := make([]*Jail, n), make([]error, n)
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() { jails[i], errs[i] = Start(ctx, specs[i]) })
		}
		wg.Wait()
		for i, err := range errs {
			if err != nil {
				t.Errorf("%d: %v", i, err)
			}
		}
		for i, j := range jails {
			if j == nil {
				continue
			}
			b := &box{j, paths[i]}
			if got, want := b.sh(t, "echo $$ >/tmp/f; cat /proc/sys/kernel/hostname; ls /tmp"), "sandbox\nf"; got != want {
				t.Errorf("%d: want %q, got %q", i, want, got)
			}
			if j.Isolation()["extra"] != fmt.Sprint(i) {
				t.Errorf("%d got the spec of %s", i, j.Isolation()["extra"])
			}
		}
		for i := n - 1; i >= 0; i -= 2 {
			if jails[i] != nil {
				wg.Go(jails[i].Close)
			}
		}
		wg.Wait()
		for i := 0; i < n; i += 2 {
			if jails[i] != nil {
				if got := (&box{jails[i], paths[i]}).sh(t, "echo alive"); got != "alive" {
					t.Errorf("%d after others ended: %q", i, got)
				}
			}
		}
		for _, j := range jails {
			if j != nil {
				j.Close()
			}
		}
	})
}
