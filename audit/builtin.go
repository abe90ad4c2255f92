package audit

// builtInSets are the built-in sets of names and paths.
func builtInSets() map[string][]string {
	return map[string][]string{
		"shell": {
			"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "csh", "tcsh", "rbash", "yash",
		},
		"interpreter": {
			"python", "python[0-9]*", "pypy", "pypy[0-9]*", "ipython", "perl", "perl5*", "ruby", "ruby[0-9]*", "node", "nodejs", "deno", "bun",
			"php", "php[0-9]*", "lua", "lua[0-9]*", "luajit", "Rscript", "tclsh", "wish", "expect", "guile", "osascript", "pwsh", "powershell",
		},
		"download": {
			"curl", "wget", "wget2", "fetch", "aria2c", "axel", "lynx", "links", "w3m", "nc", "ncat", "netcat", "socat", "telnet", "ftp", "tftp",
			"http", "https", "xh", "curlie",
		},
		"decoder":         {"base64", "base32", "basenc"},
		"reads-variables": {"read", "mapfile", "readarray"},
		// Their arguments are text, names or metadata: they read none of the files.
		"names-only": {
			"echo", "printf", "ls", "stat", "test", "[", "[[", "file", "chmod", "chown", "chgrp", "touch", "mkdir", "basename", "dirname",
			"realpath", "readlink", "which", "type", "find", ":", "export", "declare", "local", "readonly", "typeset", "git", "du", "cd", "pushd",
		},
		// Their first argument is a pattern or a program.
		"pattern-first": {
			"grep", "egrep", "fgrep", "rg", "ag", "ack", "sed", "awk", "gawk", "mawk", "jq",
		},
		// An element \* is one that stands for all there is, such as * or .*
		"roots": {
			"/", `/\*`, `/\*/\*`, "~", `~/\*`, "/home", `/home/\*`, "/home/*", `/home/*/\*`, "/root", `/root/\*`,
			"/mnt", `/mnt/\*`, "/mnt/user-data", `/mnt/user-data/\*`,
		},
		"system": {
			"/etc/**", "/usr", `/usr/\*`, "/usr/bin/**", "/usr/sbin/**", "/usr/lib/**", "/usr/lib64/**", "/usr/libexec/**", "/usr/share", "/usr/local", `/usr/local/\*`,
			"/bin/**", "/sbin/**", "/lib/**", "/lib64/**", "/boot/**", "/var", `/var/\*`, "/var/lib", `/var/lib/\*`, "/opt", `/opt/\*`, "/srv", `/srv/\*`,
			"/dev", `/dev/\*`, "/proc/**", "/sys/**",
		},
		"binaries": {
			"/bin/**", "/sbin/**", "/usr/bin/**", "/usr/sbin/**", "/usr/lib/**", "/usr/lib64/**", "/usr/libexec/**", "/lib/**", "/lib64/**",
			"/boot/**",
		},
		"startup": {
			"~/.bashrc", "~/.bash_profile", "~/.bash_login", "~/.bash_logout", "~/.bash_aliases", "~/.profile", "~/.zshrc", "~/.zshenv", "~/.zprofile", "~/.zlogin", "~/.zlogout", "~/.login", "~/.cshrc", "~/.ssh/authorized_keys", "~/.ssh/authorized_keys2", "~/.ssh/config", "~/.ssh/rc", "~/.ssh/environment", "~/.config/fish/**", "~/.config/autostart/**",
			"/root/.bashrc", "/root/.bash_profile", "/root/.profile", "/root/.zshrc", "/root/.zshenv", "/root/.ssh/authorized_keys", "/home/*/.bashrc", "/home/*/.bash_profile",
			"/home/*/.profile", "/home/*/.zshrc", "/home/*/.zshenv", "/home/*/.ssh/authorized_keys", "/mnt/user-data/workspace/.bashrc", "/mnt/user-data/workspace/.bash_profile",
			"/mnt/user-data/workspace/.profile", "/mnt/user-data/workspace/.zshrc", "/mnt/user-data/workspace/.zshenv", "/mnt/user-data/workspace/.ssh/authorized_keys",
		},
		"secrets": {"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/master.passwd", "/etc/security/opasswd"},
		"devices": {
			"/dev/sd*", "/dev/hd*", "/dev/vd*", "/dev/xvd*", "/dev/nvme*", "/dev/mmcblk*", "/dev/md*", "/dev/dm-*", "/dev/mapper/**",
			"/dev/disk/**", "/dev/mem", "/dev/kmem", "/dev/port",
		},
	}
}

// builtInRules are the rules that a file can change by their ids.
func builtInRules() []rule {
	return []rule{
		{ID: "remove-root", Verdict: "block", Reason: "removes a whole home, system or root directory", Any: []match{
			{Command: []string{"rm", "…"}, Flags: [][]string{{"r", "R", "recursive"}}, Operand: []string{"@roots", "@system"}},
			{Command: []string{"shred"}, Operand: []string{"@roots"}},
		}},
		{ID: "substituted-command", Verdict: "block", Reason: "runs as a command what a download, a decoder or another program writes", Any: []match{
			{Analysis: "substituted-command"},
		}},
		{ID: "fed-interpreter", Verdict: "block", Reason: "gives an interpreter a program that comes from a download, a decoder or another program; save it to a file and read it first", Any: []match{
			{Analysis: "fed-interpreter"},
		}},
		{ID: "piped-shell", Verdict: "warn", Reason: "gives a shell commands from a pipe that nobody has seen", Any: []match{
			{Analysis: "piped-shell"},
		}},
		{ID: "fork-bomb", Verdict: "block", Reason: "starts itself again and again", Any: []match{
			{Analysis: "fork-bomb"},
		}},
		{ID: "endless-spawn", Verdict: "block", Reason: "starts processes for ever without waiting for any", Any: []match{
			{Analysis: "endless-spawn"},
		}},
		{ID: "make-filesystem", Verdict: "block", Reason: "makes a new filesystem or partition table, which destroys what is on the device", Any: []match{
			{Command: []string{"mkfs", "mkfs.*", "mke2fs", "mkswap", "wipefs", "blkdiscard", "fdisk", "sfdisk", "parted", "gdisk", "sgdisk"}, Operand: []string{"/dev/**"}, Without: []string{"l", "list", "n", "no-act"}},
		}},
		{ID: "write-device", Verdict: "block", Reason: "reads or writes a disk or the memory below its filesystem", Any: []match{
			{Write: []string{"@devices"}},
			{Command: []string{"dd", "cat", "cp", "shred", "badblocks", "hdparm"}, Read: []string{"@devices"}},
		}},
		{ID: "write-system", Verdict: "block", Reason: "changes files of the system below /etc, /usr, /lib, /bin, /sbin or /boot", Any: []match{
			{Write: []string{"/etc/**", "@binaries"}},
		}},
		{ID: "write-startup", Verdict: "block", Reason: "changes a file that a shell or a login runs at its start, or keys that let somebody in", Any: []match{
			{Write: []string{"@startup"}},
		}},
		{ID: "read-secrets", Verdict: "block", Reason: "reads the system's password hashes", Any: []match{
			{Read: []string{"@secrets"}},
		}},
		{ID: "read-environment", Verdict: "block", Reason: "reads the environment of a process, where secrets are", Any: []match{
			{Read: []string{"/proc/*/environ", "/proc/*/task/*/environ"}},
		}},
		{ID: "preload", Verdict: "block", Reason: "makes programs load other libraries or run other files at their start", Any: []match{
			{Assign: []string{"LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "DYLD_LIBRARY_PATH", "BASH_ENV", "PROMPT_COMMAND"}},
		}},
		{ID: "network-device", Verdict: "block", Reason: "opens a network connection through the shell", Any: []match{
			{Read: []string{"/dev/tcp/**", "/dev/udp/**"}},
			{Write: []string{"/dev/tcp/**", "/dev/udp/**"}},
		}},
		{ID: "network-shell", Verdict: "block", Reason: "gives a shell to a network connection", Any: []match{
			{Command: []string{"nc", "ncat", "netcat"}, Flags: [][]string{{"e", "exec", "sh-exec", "lua-exec"}}},
			{Command: []string{"nc", "ncat", "netcat"}, Flags: [][]string{{"c"}}, Operand: []string{"/bin/**", "/usr/bin/**"}},
		}},
		{ID: "unparsed", Verdict: "warn", Reason: "is no valid shell grammar, so it was judged by its words alone", Any: []match{
			{Analysis: "unparsed"},
		}},
		{ID: "too-complex", Verdict: "block", Reason: "is too deep or too long to be judged; write it to a script file", Any: []match{
			{Analysis: "too-complex"},
		}},
		{ID: "install-package", Verdict: "warn", Reason: "installs packages", Any: []match{
			{Command: []string{"pip", "pip[0-9]*", "pipx"}, Words: []string{"install"}},
			{Command: []string{"uv"}, Words: []string{"pip|tool", "install"}},
			{Command: []string{"uv", "poetry", "pdm"}, Words: []string{"add"}},
			{Command: []string{"apt", "apt-get", "aptitude"}, Words: []string{"install|upgrade|dist-upgrade|full-upgrade"}},
			{Command: []string{"yum", "dnf", "microdnf", "zypper"}, Words: []string{"install|in|localinstall"}},
			{Command: []string{"apk"}, Words: []string{"add"}},
			{Command: []string{"pacman"}, Flags: [][]string{{"S", "U", "sync", "upgrade"}}, Without: []string{"s", "i", "l", "q"}},
			{Command: []string{"dpkg", "rpm"}, Flags: [][]string{{"i", "install"}}, Without: []string{"q", "query"}},
			{Command: []string{"brew", "snap", "flatpak", "conda", "mamba", "micromamba", "gem", "cargo", "easy_install", "cpan", "cpanm", "luarocks"}, Words: []string{"install"}},
			{Command: []string{"npm", "pnpm", "yarn", "bun"}, Words: []string{"install|i|ci|add"}},
			{Command: []string{"go"}, Words: []string{"install"}},
		}},
		{ID: "world-writable", Verdict: "warn", Reason: "lets every user write the files", Any: []match{
			{Command: []string{"chmod"}, Mode: "world-writable"},
		}},
		{ID: "privileges", Verdict: "warn", Reason: "asks for another user's rights, which a sandbox does not have", Any: []match{
			{Command: []string{"sudo", "su", "doas", "pkexec", "runuser"}, Without: []string{"version", "help"}},
		}},
		{ID: "change-path", Verdict: "warn", Reason: "changes where programs are looked for", Any: []match{
			{Assign: []string{"PATH"}},
		}},
	}
}
