package quota

import (
	"bufio"
	"encoding/json"
	"os"
	osexec "os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/regions"
	"github.com/sandboxfs/sandboxfs/internal/rundir"
	"github.com/sandboxfs/sandboxfs/provider"
)

// holderEnv makes the test program a holder that works until it is killed.
const holderEnv = "SANDBOXFS_TEST_QUOTA_HOLDER"

func TestMain(m *testing.M) {
	if text := os.Getenv(holderEnv); text != "" {
		hold(text)
	}
	os.Exit(m.Run())
}

// hold writes, removes and keeps files open for ever.
func hold(text string) {
	var source regions.Source
	fail := func(err error) {
		if err != nil {
			os.Stdout.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
	}
	runtime, where, _ := strings.Cut(text, "\n")
	fail(json.Unmarshal([]byte(where), &source))
	run, err := rundir.Open(runtime)
	fail(err)
	dir, err := os.Open(world{run, source}.path())
	fail(err)
	var once sync.Once
	for name := range strings.SplitSeq("a b c", " ") {
		l, err := ForThread(deadline(&testing.T{}), run, source, provider.QuotaConfig{Bytes: 100 * unit, Files: 30})
		fail(err)
		go func() {
			for {
				f, err := l.Create(dir, name, 0o644)
				if err != nil {
					continue
				}
				f.Write(make([]byte, 20*unit))
				once.Do(func() { os.Stdout.WriteString("works\n") })
				l.Remove(dir, name, 0)
				f.Close()
			}
		}()
	}
	select {}
}

// TestKilledHolder kills a process at any moment; what the others see is right
// when they next look.
func TestKilledHolder(t *testing.T) {
	w := newWorld(t)
	l := w.attach(t, provider.QuotaConfig{Bytes: 100 * unit, Files: 30})
	dir := w.dir(t)
	open, err := l.Create(dir, "open", 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open.Write(make([]byte, 3*unit)); err != nil {
		t.Fatal(err)
	}
	if err := l.Remove(dir, "open", 0); err != nil {
		t.Fatal(err)
	}
	where, err := json.Marshal(w.source)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		cmd := osexec.CommandContext(deadline(t), "/proc/self/exe")
		cmd.Env = append(os.Environ(), holderEnv+"="+w.run.Path()+"\n"+string(where))
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if line, _ := bufio.NewReader(out).ReadString('\n'); line != "works\n" {
			t.Fatalf("the holder said %q", line)
		}
		time.Sleep(time.Duration(i) * 300 * time.Microsecond) // anywhere in its work
		cmd.Process.Kill()
		cmd.Wait()
		bytes, files, _, _ := l.Usage()
		u := l.count()
		if bytes != u.bytes || files != u.files || u.bytes < 3*unit {
			t.Fatalf("kill %d: %d bytes in %d files are shown, there are %d in %d", i, bytes, files, u.bytes, u.files)
		}
		for _, name := range []string{"a", "b", "c"} {
			l.Remove(dir, name, 0)
		}
		wantUsage(t, l, 3*unit, 1)
	}
	open.Close()
	wantUsage(t, l, 0, 0)
}

// TestStoppedHolder has a holder in the middle of an operation that never
// ends: a walk must not wait for it for good.
func TestStoppedHolder(t *testing.T) {
	w := newWorld(t)
	a, b := w.attach(t, plenty), w.attach(t, plenty)
	a.Usage()
	o := b.begin()
	began := time.Now()
	a.h.countedAt.Store(0)
	a.refresh()
	if took := time.Since(began); took > 3*patience {
		t.Errorf("waited %v", took)
	}
	if err := a.WriteFile(w.dir(t), "f", []byte("x"), 0o644); err != nil {
		t.Error(err)
	}
	o.end()
	wantRecounted(t, a)
}

// TestHostChanges: what changes behind our back is counted before anything is
// refused.
func TestHostChanges(t *testing.T) {
	w := newWorld(t)
	l := w.attach(t, provider.QuotaConfig{Bytes: 10 * unit, Files: 10})
	dir := w.dir(t)
	if err := l.WriteFile(dir, "f", make([]byte, 8*unit), 0o644); err != nil {
		t.Fatal(err)
	}
	os.Remove(w.path("f"))
	l.h.countedAt.Store(monotonic() - 2*int64(refreshLeast))
	if err := l.WriteFile(dir, "g", make([]byte, 8*unit), 0o644); err != nil {
		t.Errorf("after the host removed a file: %v", err)
	}
	wantUsage(t, l, 8*unit, 1)
	os.WriteFile(w.path("h"), make([]byte, unit), 0o644)
	l.h.countedAt.Store(monotonic() - 2*int64(recountLeast))
	walks := l.h.walks.Load()
	if err := l.Remove(dir, "g", 0); err != nil { // an operation begins a walk in the background
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); l.h.walks.Load() == walks && time.Now().Before(end); {
		l.h.countedAt.Store(monotonic() - 2*int64(recountLeast)) // it may have been disturbed
		l.perhapsRecount()
		time.Sleep(time.Millisecond)
	}
	wantUsage(t, l, unit, 1)
}

// TestManyHolders has more ledgers than slots.
func TestManyHolders(t *testing.T) {
	w := newWorld(t)
	dir := w.dir0(t)
	var wg sync.WaitGroup
	for range maxHolders + 20 {
		wg.Go(func() {
			l, err := ForThread(deadline(t), w.run, w.source, plenty)
			if err != nil {
				t.Error(err)
				return
			}
			defer l.Close()
			if err := l.WriteFile(dir, "f", []byte("x"), 0o644); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	wantUsage(t, w.attach(t, plenty), unit, 1)
}

// FuzzAttach gives a ledger's file any content: it is never believed.
func FuzzAttach(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{1, 't', 'o', 'u', 'q', 'x', 'b', 's', 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0})
	f.Add(make([]byte, fileSize))
	f.Add([]byte(strings.Repeat("\xff", fileSize+1)))
	w := newWorld(f)
	os.MkdirAll(w.path("d"), 0o755)
	os.WriteFile(w.path("d/f"), make([]byte, 5000), 0o644)
	f.Fuzz(func(t *testing.T, content []byte) {
		file, err := w.run.Ledger(w.source.Home, w.source.Key).Open()
		if err != nil {
			t.Fatal(err)
		}
		file.Truncate(0)
		file.WriteAt(content, 0)
		file.Close()
		l := w.attach(t, plenty)
		wantUsage(t, l, 3*unit, 2)
		if n := l.h.holders.Load(); n != 1 {
			t.Errorf("%d holders", n)
		}
		l.Close()
	})
}
