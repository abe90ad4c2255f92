package exec

import (
	"os"
	"runtime"
	"sync"
	"time"
)

// reserveThreads makes Go's runtime have n threads to spare. A runtime that
// cannot make a thread ends the process, and a command may use up every process
// that the sandbox may have; whoever must survive that has its threads before.
// An idle thread stays with the runtime for good.
func reserveThreads(n int) {
	var ready, end sync.WaitGroup
	ready.Add(n)
	end.Add(n)
	release := make(chan struct{})
	for range n {
		go func() {
			runtime.LockOSThread() // all at once, so each on a thread of its own
			ready.Done()
			<-release
			runtime.UnlockOSThread()
			end.Done()
		}()
	}
	ready.Wait()
	close(release)
	end.Wait()
	settleThreads()
}

// settleThreads waits until every thread that the runtime has decided to make
// exists: it makes some of them in the background, a moment later.
func settleThreads() {
	for deadline := time.Now().Add(time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Microsecond) {
		wanted, _ := runtime.ThreadCreateProfile(nil)
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil || len(tasks) >= wanted {
			return
		}
	}
}
