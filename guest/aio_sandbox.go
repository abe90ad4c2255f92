package guest

import (
	"net/http"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/version"
)

type aioSystem struct {
	OS            string   `json:"os"`
	OSVersion     string   `json:"os_version"`
	Arch          string   `json:"arch"`
	User          string   `json:"user"`
	HomeDir       string   `json:"home_dir"`
	Timezone      string   `json:"timezone"`
	OccupiedPorts []string `json:"occupied_ports"`
}

type aioTool struct {
	Name string `json:"name"`
}

type aioUtils struct {
	Category string    `json:"category"`
	Tools    []aioTool `json:"tools"`
}

type aioRuntime struct {
	Python []struct{} `json:"python"`
	NodeJS []struct{} `json:"nodejs"`
}

type aioDetail struct {
	System    aioSystem  `json:"system"`
	Workspace string     `json:"workspace"`
	Runtime   aioRuntime `json:"runtime"`
	Utils     []aioUtils `json:"utils"`
}

// aioSandbox has its fields beside the envelope, as that API has them.
type aioSandbox struct {
	envelope
	HomeDir   string    `json:"home_dir"`
	Version   string    `json:"version"`
	Workspace string    `json:"workspace"`
	Detail    aioDetail `json:"detail"`
}

// handleSandbox is also the readiness probe of AIO's clients. It is no
// activity.
func (s *server) handleSandbox(w http.ResponseWriter, _ *http.Request) {
	env := s.base.vars
	zone, _ := time.Now().Zone()
	tools := []aioTool{{Name: s.base.shell}}
	s.writeJSON(w, http.StatusOK, aioSandbox{
		envelope: envelope{Success: true, Message: messageOK, Data: "A sandbox with the shell " + s.base.shell + ". Files are below " + s.o.DownloadRoot + "."},
		HomeDir:  env["HOME"], Version: version.Get().Version, Workspace: s.o.Workdir,
		Detail: aioDetail{
			System:    aioSystem{OS: runtime.GOOS, OSVersion: kernelRelease(), Arch: runtime.GOARCH, User: env["USER"], HomeDir: env["HOME"], Timezone: zone, OccupiedPorts: []string{}},
			Workspace: s.o.Workdir, Runtime: aioRuntime{Python: []struct{}{}, NodeJS: []struct{}{}}, Utils: []aioUtils{{Category: "shell", Tools: tools}},
		},
	})
}

func kernelRelease() string {
	b, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(b))
}
