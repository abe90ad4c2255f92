package guest

import (
	"fmt"
	"net/http"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/sandboxfs/sandboxfs/provider"
)

// jobs lists the background jobs of all sessions, oldest first.
func (ss *sessions) jobs() []provider.Job {
	type dated struct {
		provider.Job
		at time.Time
	}
	var all []dated
	for _, s := range ss.all() {
		for _, j := range s.shell.Jobs() {
			all = append(all, dated{provider.Job{
				ID: fmt.Sprintf("%s:%d", s.name, j.PID), Session: s.name, PID: j.PID, Command: j.Command,
				Started: j.Started.UTC().Format(time.RFC3339), Processes: j.Processes,
			}, j.Started})
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].at.Before(all[j].at) })
	jobs := make([]provider.Job, 0, len(all))
	for _, j := range all {
		jobs = append(jobs, j.Job)
	}
	return jobs
}

// stopJob ends a job and reports whether there was one.
func (ss *sessions) stopJob(id string) bool {
	name, number, ok := strings.Cut(id, ":")
	pid, err := strconv.Atoi(number)
	if !ok || err != nil {
		return false
	}
	ss.mu.Lock()
	s := ss.byName[name]
	ss.mu.Unlock()
	return s != nil && s.shell.StopJob(pid, termGrace)
}

// handleJobs lists the jobs. It is no activity.
func (s *server) handleJobs(w http.ResponseWriter, _ *http.Request) {
	s.writeJSON(w, http.StatusOK, wireJobs{Jobs: s.sessions.jobs()})
}

// handleStopJob answers when the job has ended.
func (s *server) handleStopJob(w http.ResponseWriter, r *http.Request) {
	id := query(r, "id")
	if !s.sessions.stopJob(id) {
		s.writeError(w, &provider.Error{Kind: provider.NotFound, Op: opStopJob, Reason: fmt.Sprintf("there is no job %q", id), Next: "list the jobs"})
		return
	}
	s.writeJSON(w, http.StatusOK, struct{}{})
}

// handleSessions lists the sessions. It is no activity.
func (s *server) handleSessions(w http.ResponseWriter, _ *http.Request) {
	s.writeJSON(w, http.StatusOK, wireSessions{Sessions: s.sessions.list()})
}

// handleCloseSession answers when everything in the session has ended.
func (s *server) handleCloseSession(w http.ResponseWriter, r *http.Request) {
	s.sessions.close(query(r, "name"))
	s.writeJSON(w, http.StatusOK, struct{}{})
}
