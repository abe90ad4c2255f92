package config

import (
	"math"

	"github.com/sandboxfs/sandboxfs/provider"
)

// Keys returns the table of all keys, in the order in which they are shown.
func Keys() []Key {
	keys := []Key{
		{Name: "use", Type: Text, Default: provider.DefaultName, Env: "SANDBOXFS_PROVIDER", Flag: "provider",
			Help:  "where sandboxes run; DeerFlow's class paths are understood",
			field: func(s *Settings) any { return &s.Provider.Use }},
		{Name: "allow_host_bash", Type: Bool, Default: "false",
			Help:  "permit the tier host, which confines nothing",
			field: func(s *Settings) any { return &s.Provider.AllowHostBash }},
		{Name: "image", Type: Text,
			Help:  "the container image, for providers that run containers",
			field: func(s *Settings) any { return &s.Image }},
		{Name: "port", Type: Number, Min: 1, Max: math.MaxUint16, Default: "8080",
			Help:  "the first port of a container on this machine",
			field: func(s *Settings) any { return &s.Port }},
		{Name: "replicas", Type: Number, Min: 1, Max: math.MaxInt32, Default: "3",
			Help:  "how many containers may run",
			field: func(s *Settings) any { return &s.Replicas }},
		{Name: "container_prefix", Type: Text, Default: "sandboxfs",
			Help:  "begins the name of a container",
			field: func(s *Settings) any { return &s.ContainerPrefix }},
		{Name: "idle_timeout", Type: Seconds, Default: "600",
			Help:  "end a sandbox in which nothing ran for so long; 0 for never",
			field: func(s *Settings) any { return &s.Idle }},
		{Name: "mounts", Type: Mounts, Default: "[]",
			Help:  "directories of the host that every sandbox shows besides: host_path, container_path, read_only",
			field: func(s *Settings) any { return &s.Provider.Mounts }},
		{Name: "environment", Type: Variables, Default: "{}", Secret: true,
			Help:  "variables of every command; the value $NAME is taken from the environment of sandboxfs",
			field: func(s *Settings) any { return &s.Provider.Environment }},
		{Name: "shell", Type: Choice, Choices: []string{provider.ShellOneShot, provider.ShellPersistent},
			Help:  "whether commands that are shell text and name no session share the session \"default\" of their thread",
			field: func(s *Settings) any { return &s.Provider.Shell }},
		{Name: "bash_command_timeout", Type: Seconds, Default: "600", Flag: "timeout",
			Help:  "end a command after so long; 0 for never",
			field: func(s *Settings) any { return &s.CommandTimeout }},
		{Name: "bash_output_max_chars", Type: Number, Max: math.MaxInt32, Default: "20000",
			Help:  "how much output of a command an agent sees; 0 for all",
			field: func(s *Settings) any { return &s.BashOutputMaxChars }},
		{Name: "read_file_output_max_chars", Type: Number, Max: math.MaxInt32, Default: "50000",
			Help:  "how much of a file an agent sees at once; 0 for all",
			field: func(s *Settings) any { return &s.ReadFileOutputMaxChars }},
		{Name: "ls_output_max_chars", Type: Number, Max: math.MaxInt32, Default: "20000",
			Help:  "how much of a listing an agent sees; 0 for all",
			field: func(s *Settings) any { return &s.LsOutputMaxChars }},
		{Name: "home", Type: Path, Default: "$XDG_DATA_HOME/sandboxfs, else ~/.local/share/sandboxfs",
			Help:  "the data directory",
			field: func(s *Settings) any { return &s.Provider.Home }},
		{Name: "skills_dir", Type: Path, Default: "skills in the data directory",
			Help:  "the directory shown at /mnt/skills",
			field: func(s *Settings) any { return &s.Provider.SkillsDir }},
		{Name: "runtime_dir", Type: Path, Default: "$XDG_RUNTIME_DIR/sandboxfs, else /run/sandboxfs (root) or /tmp/sandboxfs-UID",
			Help:  "where sockets and locks are",
			field: func(s *Settings) any { return &s.Provider.RuntimeDir }},
		{Name: "local.tier", Type: Choice, Choices: []string{provider.TierIsolated, provider.TierHost}, Env: "SANDBOXFS_TIER", Flag: "tier",
			Help:  "the isolation of a new sandbox; host needs allow_host_bash",
			field: func(s *Settings) any { return &s.Provider.Local.Tier }},
		{Name: "local.net", Type: Choice, Choices: []string{provider.NetHost, provider.NetNone}, Env: "SANDBOXFS_NET", Flag: "net",
			Help:  "the network of a new sandbox: this machine's, or only a loopback of its own",
			field: func(s *Settings) any { return &s.Provider.Local.Net }},
		{Name: "local.ownership", Type: Choice, Choices: []string{provider.OwnershipOwner, provider.OwnershipPreserve}, Env: "SANDBOXFS_OWNERSHIP",
			Help:  "whether the tree shows everything as the sandbox's own, or the host's owners (root only)",
			field: func(s *Settings) any { return &s.Provider.Local.Ownership }},
		{Name: "local.max_sandboxes", Type: Number, Min: 1, Max: math.MaxInt32, Default: "256", Env: "SANDBOXFS_MAX_SANDBOXES",
			Help:  "how many sandboxes of one host user may live",
			field: func(s *Settings) any { return &s.Provider.Local.MaxSandboxes }},
		{Name: "local.quota.bytes", Type: Bytes, Default: "0", Env: "SANDBOXFS_QUOTA_BYTES",
			Help:  "how much data a thread may hold, such as 10GiB or 500M; 0 for no bound",
			field: func(s *Settings) any { return &s.Provider.Local.Quota.Bytes }},
		{Name: "local.quota.files", Type: Number, Max: math.MaxInt, Default: "0", Env: "SANDBOXFS_QUOTA_FILES",
			Help:  "how many files and directories a thread may hold; 0 for no bound",
			field: func(s *Settings) any { return &s.Provider.Local.Quota.Files }},
		{Name: "audit.sync", Type: Choice, Choices: []string{"grouped", "always"},
			Help:  "whether a record is on the disk before its command starts (always), or soon (grouped)",
			field: func(s *Settings) any { return &s.Audit.Sync }},
		{Name: "audit.required", Type: Bool, Default: "true",
			Help:  "whether an agent's command does not run where it cannot be recorded",
			field: func(s *Settings) any { return &s.Audit.Required }},
		{Name: "audit.rules", Type: Path, Default: "audit/rules.yaml in the data directory, if it is there",
			Help:  "a file that adds, softens or switches off rules about commands",
			field: func(s *Settings) any { return &s.Audit.Rules }},
		{Name: "audit.max_bytes", Type: Bytes, Default: "1GiB",
			Help:  "how much of the log is kept; 0 for all",
			field: func(s *Settings) any { return &s.Audit.MaxBytes }},
		{Name: "audit.max_age", Type: Seconds, Default: "8760h",
			Help:  "how long the log is kept; 0 for ever",
			field: func(s *Settings) any { return &s.Audit.MaxAge }},
	}
	for i, k := range keys {
		if k.Env == "" {
			keys[i].Env = variableOf(k.Name)
		}
		if k.Type == Choice {
			keys[i].Default = k.Choices[0]
		}
	}
	return keys
}

// elsewhere are DeerFlow's keys that mean nothing here. They are not warned
// about, so that its file can be used as it is.
func elsewhere() []string {
	return []string{"thread_data_mounts", "ownership", "provisioner_url", "provisioner_api_key", "overflow_policy", "acquire_timeout",
		"burst_limit", "health_check_skip_seconds"}
}
