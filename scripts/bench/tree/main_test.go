package main

import (
	"slices"
	"testing"
)

func TestChooseGroups(t *testing.T) {
	for list, want := range map[string][]string{
		"rg":                   {groupSearch, groupSearchCold},
		"open+close,git clone": {groupGit, groupOpen},
		"rm,rm -rf":            {groupTar},
	} {
		got, err := chooseGroups(list)
		var names []string
		for _, g := range got {
			names = append(names, g.name)
		}
		if err != nil || !slices.Equal(names, want) {
			t.Errorf("%q: want %v, got %v, %v", list, want, names, err)
		}
	}
	if got, err := chooseGroups(""); err != nil || len(got) != len(groups()) {
		t.Errorf("of nothing: want all, got %v, %v", got, err)
	}
	if _, err := chooseGroups("rg,swim"); err == nil {
		t.Error("a row that is none was taken")
	}
}

func TestChooseSubjects(t *testing.T) {
	if got, err := chooseSubjects("mount,bindfs"); err != nil || !slices.Equal(got, []string{oursMount, peerBindfs, plain}) {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := chooseSubjects(""); err != nil || !slices.Equal(got, order()) {
		t.Errorf("of nothing: want all, got %v, %v", got, err)
	}
	if _, err := chooseSubjects("sshfs"); err == nil {
		t.Error("a subject that is none was taken")
	}
}
