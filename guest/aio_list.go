package guest

import (
	"cmp"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/sandboxfs/sandboxfs/provider"
)

type aioEntry struct {
	Name         string  `json:"name"`
	Path         string  `json:"path"`
	IsDirectory  bool    `json:"is_directory"`
	Size         *int64  `json:"size"`
	ModifiedTime *string `json:"modified_time"`
	Permissions  *string `json:"permissions"`
	Extension    *string `json:"extension"`
}

type aioListing struct {
	Path           string     `json:"path"`
	Files          []aioEntry `json:"files"`
	TotalCount     int        `json:"total_count"`
	DirectoryCount int        `json:"directory_count"`
	FileCount      int        `json:"file_count"`
}

type aioListRequest struct {
	Path               string   `json:"path"`
	Recursive          bool     `json:"recursive"`
	ShowHidden         *bool    `json:"show_hidden"`
	FileTypes          []string `json:"file_types"`
	MaxDepth           *int     `json:"max_depth"`
	IncludeSize        *bool    `json:"include_size"`
	IncludePermissions bool     `json:"include_permissions"`
	SortBy             string   `json:"sort_by"`
	SortDesc           bool     `json:"sort_desc"`
}

// handleAIOList lists a directory.
func (s *server) handleAIOList(w http.ResponseWriter, r *http.Request) {
	var q aioListRequest
	if !s.decodeAIO(w, r, &q, "path") {
		return
	}
	depth := 1
	if q.Recursive {
		depth = 100
		if q.MaxDepth != nil && *q.MaxDepth > 0 {
			depth = *q.MaxDepth
		}
	}
	l, err := s.files.List(r.Context(), q.Path, provider.ListOptions{Depth: depth, MaxEntries: maxAIOResults})
	if err != nil {
		s.writeFileFailure(w, q.Path, err)
		return
	}
	data := aioListing{Path: q.Path, Files: []aioEntry{}}
	sortEntries(l.Entries, q.SortBy, q.SortDesc)
	for _, e := range l.Entries {
		if !q.shows(e, path.Clean(q.Path)) {
			continue
		}
		data.Files = append(data.Files, q.entry(e))
		data.TotalCount++
		if e.Type == "dir" {
			data.DirectoryCount++
		} else {
			data.FileCount++
		}
	}
	out := envelope{Success: true, Message: messageOK, Data: data}
	if l.Truncated {
		hint := "not all is listed; list a directory further down"
		out.Hint = &hint
	}
	s.writeJSON(w, http.StatusOK, out)
}

// shows reports whether an entry was asked for.
func (q *aioListRequest) shows(e provider.Entry, base string) bool {
	if q.ShowHidden != nil && !*q.ShowHidden && strings.Contains(strings.TrimPrefix(e.Path, base), "/.") {
		return false
	}
	if len(q.FileTypes) == 0 || e.Type == "dir" {
		return true
	}
	return slices.ContainsFunc(q.FileTypes, func(t string) bool {
		return strings.TrimPrefix(path.Ext(e.Path), ".") == strings.TrimPrefix(t, ".")
	})
}

func (q *aioListRequest) entry(e provider.Entry) aioEntry {
	out := aioEntry{Name: path.Base(e.Path), Path: e.Path, IsDirectory: e.Type == "dir"}
	if q.IncludeSize == nil || *q.IncludeSize {
		size := e.Size
		out.Size = &size
	}
	modified := rfc3339(e.ModTime)
	out.ModifiedTime = &modified
	if q.IncludePermissions {
		p := fmt.Sprintf("%04o", e.Mode)
		out.Permissions = &p
	}
	if ext := path.Ext(e.Path); ext != "" && !out.IsDirectory {
		out.Extension = &ext
	}
	return out
}

// sortEntries orders by what was asked for; by path where that says nothing.
func sortEntries(list []provider.Entry, by string, desc bool) {
	order := func(a, b provider.Entry) int { return 0 }
	switch by {
	case "size":
		order = func(a, b provider.Entry) int { return cmp.Compare(a.Size, b.Size) }
	case "modified", "modified_time", "mtime":
		order = func(a, b provider.Entry) int { return cmp.Compare(a.ModTime, b.ModTime) }
	}
	slices.SortStableFunc(list, order)
	if desc {
		slices.Reverse(list)
	}
}
