package shell

import (
	"io"
	"os"
	"testing"
	"time"
)

// A command ends while its output is being read, and a job goes on writing:
// what the command wrote is given whole, then end of file, whatever the job does.
func TestStreamEndsBeforeAJob(t *testing.T) {
	for range 2000 {
		r, job, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		// The job has the only other writing end.
		holdR, hold, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		holdR.Close()
		s := &stream{f: r, hold: hold}
		type result struct {
			text string
			err  error
		}
		got := make(chan result, 1)
		go func() {
			b, err := io.ReadAll(s)
			got <- result{string(b), err}
		}()
		if _, err := job.WriteString("out\n"); err != nil {
			t.Fatal(err)
		}
		s.finish()
		if _, err := job.WriteString("later\n"); err != nil {
			t.Fatal(err)
		}
		select {
		case g := <-got:
			if g.text != "out\n" || g.err != nil {
				t.Fatalf("read %q, %v", g.text, g.err)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("the reader waits for the job")
		}
		s.Close()
		job.Close()
	}
}
