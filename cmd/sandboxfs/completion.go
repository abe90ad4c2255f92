//go:build linux

package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
)

// completeVerb is what the completion scripts call; it is nobody's verb.
const completeVerb = "__complete"

func completionCommand() *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Category:  categorySetup,
		Usage:     "print a script that lets a shell complete verbs, flags, threads and paths",
		ArgsUsage: "bash|zsh|fish",
		Description: "    source <(sandboxfs completion bash)                          # in ~/.bashrc\n" +
			"    source <(sandboxfs completion zsh)                           # in ~/.zshrc, after compinit\n" +
			"    sandboxfs completion fish >~/.config/fish/completions/sandboxfs.fish",
		Action: func(c *cli.Context) error {
			script, ok := completionScripts[c.Args().First()]
			if !ok || c.NArg() != 1 {
				return usageError{"name a shell: sandboxfs completion bash|zsh|fish"}
			}
			_, err := fmt.Fprint(c.App.Writer, strings.ReplaceAll(script, "COMPLETE", completeVerb))
			return err
		},
	}
}

// The scripts ask the program itself. It answers one candidate a line; one
// that ends in '/', ':' or '=' can go on, and the words ":files" and ":dirs"
// stand for the files and directories of this machine.
var completionScripts = map[string]string{
	"bash": `# bash completion for sandboxfs
_sandboxfs() {
	local words=() word joined=no cur prefix line candidates=()
	# bash cuts words at ':' and '=', which belong to them here.
	for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
		if [[ $joined == yes || $word == [:=]* ]] && ((${#words[@]} > 1)) && [[ -n ${words[-1]} ]]; then
			words[-1]+=$word
		else
			words+=("$word")
		fi
		[[ $word == *[:=] ]] && joined=yes || joined=no
	done
	cur=${words[-1]}
	prefix=${cur%"${cur##*[:=]}"}
	COMPREPLY=()
	while IFS= read -r line; do
		case $line in
		:files) compopt -o filenames; mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$cur") ;;
		:dirs) compopt -o filenames; mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$cur") ;;
		?*)
			[[ $line == *[/:=] ]] && compopt -o nospace
			COMPREPLY+=("$(printf '%q' "${line#"$prefix"}")")
			;;
		esac
	done < <("${words[0]}" COMPLETE "${words[@]:1}" 2>/dev/null)
} 2>/dev/null
complete -F _sandboxfs sandboxfs
`,
	"zsh": `#compdef sandboxfs
_sandboxfs() {
	local line
	local -a plain open
	for line in "${(@f)$("${words[1]}" COMPLETE "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
		case $line in
		:files) _files ;;
		:dirs) _files -/ ;;
		*[/:=]) open+=("$line") ;;
		?*) plain+=("$line") ;;
		esac
	done
	(( $#plain )) && compadd -- $plain
	(( $#open )) && compadd -S '' -- $open
}
if [[ $funcstack[1] == _sandboxfs ]]; then _sandboxfs "$@"; else compdef _sandboxfs sandboxfs; fi
`,
	"fish": `# fish completion for sandboxfs
function __sandboxfs_complete
	set -l words (commandline -opc) (commandline -ct)
	for line in ($words[1] COMPLETE $words[2..-1] 2>/dev/null)
		switch $line
			case :files
				__fish_complete_path (commandline -ct)
			case :dirs
				__fish_complete_directories (commandline -ct)
			case '*'
				echo -- $line
		end
	end
end
complete -c sandboxfs -f -a '(__sandboxfs_complete)'
`,
}
