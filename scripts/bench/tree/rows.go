package main

import "time"

// The groups of workloads, in the order of a round. Those of a group are done
// one after the other by one process.
const (
	groupBulk       = "bulk"
	groupRandomCold = "random-cold"
	groupFiles      = "files"
	groupWalk       = "walk"
	groupStatCold   = "stat-cold"
	groupFindCold   = "find-cold"
	groupGit        = "git"
	groupGitCold    = "git-cold"
	groupTar        = "tar"
	groupBuild      = "build"
	groupSearch     = "search"
	groupSearchCold = "search-cold"
	groupSync       = "sync"
	groupOpen       = "open"
	groupReadOnly   = "read-only"
)

// The rows of the table.
const (
	rowWrite          = "sequential write"
	rowRead           = "sequential read"
	rowRandom         = "random read warm"
	rowRandomCold     = "random read cold"
	rowCreate         = "create 4 KiB"
	rowUnlink         = "unlink"
	rowStatCold       = "stat cold"
	rowStat           = "stat warm"
	rowFindCold       = "find cold"
	rowFind           = "find warm"
	rowClone          = "git clone"
	rowStatus         = "git status"
	rowStatusCold     = "git status cold"
	rowTar            = "tar x"
	rowRemove         = "rm -rf"
	rowBuild          = "go build"
	rowSearchCold     = "rg cold"
	rowSearch         = "rg warm"
	rowFsync          = "fsync loop"
	rowSQLite         = "sqlite-like"
	rowOpen           = "open+close"
	rowReadOnlyOpen   = "read-only: open+read+close"
	rowReadOnlySearch = "read-only: rg warm"
)

// What is dropped before a cold group; see drop_caches in the kernel's
// documentation of /proc/sys/vm.
const (
	dropNothing = 0
	dropNames   = 2 // dentries and inodes
	dropAll     = 3 // and the page cache
)

// A group of workloads.
type group struct {
	name string
	rows []string
	drop int
}

// groups in the order of a round. The one that drops file contents is the last,
// so that the others find theirs and their programs in memory.
func groups() []group {
	return []group{
		{groupBulk, []string{rowWrite, rowRead, rowRandom}, dropNothing},
		{groupFiles, []string{rowCreate, rowUnlink}, dropNothing},
		{groupWalk, []string{rowStat, rowFind}, dropNothing},
		{groupStatCold, []string{rowStatCold}, dropNames},
		{groupFindCold, []string{rowFindCold}, dropNames},
		{groupGit, []string{rowStatus, rowClone}, dropNothing},
		{groupGitCold, []string{rowStatusCold}, dropNames},
		{groupTar, []string{rowTar, rowRemove}, dropNothing},
		{groupBuild, []string{rowBuild}, dropNothing},
		{groupSearch, []string{rowSearch}, dropNothing},
		{groupSearchCold, []string{rowSearchCold}, dropNames},
		{groupSync, []string{rowFsync, rowSQLite}, dropNothing},
		{groupOpen, []string{rowOpen}, dropNothing},
		{groupReadOnly, []string{rowReadOnlyOpen, rowReadOnlySearch}, dropNothing},
		{groupRandomCold, []string{rowRandomCold}, dropAll},
	}
}

// A target is the ratio to the plain directory that a row may have at most; 0
// is none.
type target struct {
	row        string
	root, user float64
}

// targets in the order of the table, one for each row.
func targets() []target {
	return []target{
		{rowRead, 1.0, 1.5},
		{rowWrite, 1.1, 3},
		{rowRandom, 1.1, 1.5},
		{rowRandomCold, 0, 0},
		{rowStatCold, 2.3, 2.3},
		{rowStat, 1.5, 1.5},
		{rowFindCold, 2.2, 2.2},
		{rowFind, 1.2, 1.2},
		{rowStatus, 2.0, 2.0},
		{rowStatusCold, 0, 0},
		{rowClone, 1.5, 1.5},
		{rowTar, 2.0, 2.0},
		{rowCreate, 2.4, 2.4},
		{rowUnlink, 0, 0},
		{rowRemove, 1.7, 1.7},
		{rowSearchCold, 2.0, 2.0},
		{rowSearch, 4, 4},
		{rowFsync, 0, 0},
		{rowSQLite, 1.3, 1.3},
		{rowBuild, 1.05, 1.05},
		{rowOpen, 8.5, 8.5},
		{rowReadOnlyOpen, 1.5, 1.5},
		{rowReadOnlySearch, 1.3, 1.3},
	}
}

// sizes of the workloads.
type sizes struct {
	Big         int64 // bytes of the large file
	Reads       int   // random reads where all is cached
	ColdReads   int   // and where nothing is
	Small       int   // small files that are created and removed
	Files, Dirs int   // of the tree that is walked and searched
	Repository  int   // files of the git repository and of the archive
	Syncs       int   // writes with fsync, and transactions
	Opens       int   // open and close
	Passes      int   // times that a short warm workload is done; its middle one counts
	// Deadline is the longest that one process may take for a group; a
	// filesystem that hangs is left out and costs no more than this.
	Deadline time.Duration
}

func fullSizes() sizes {
	return sizes{Big: 256 << 20, Reads: 40000, ColdReads: 2000, Small: 2000, Files: 5000, Dirs: 300,
		Repository: 1500, Syncs: 200, Opens: 20000, Passes: 3, Deadline: 3 * time.Minute}
}

func quickSizes() sizes {
	return sizes{Big: 32 << 20, Reads: 8000, ColdReads: 300, Small: 400, Files: 1500, Dirs: 100,
		Repository: 250, Syncs: 40, Opens: 1500, Passes: 3, Deadline: 40 * time.Second}
}
