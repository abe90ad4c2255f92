package jail

import "testing"

func TestFirst(t *testing.T) {
	needFuse(t)
	b := startBox(t, nil)
	t.Log(b.Isolation())
	t.Log(b.sh(t, `ls /; id; cat /proc/self/mountinfo; grep Cap /proc/self/status; ls -la /etc /dev /mnt/ /mnt/user-data; cat /mnt/skills/pub/SKILL.md; awk 'BEGIN{print "awk"}'; ls -la /proc/1/; hostname; ulimit -a; cat /proc/self/cgroup; df; echo x>/tmp/x; ls -A /tmp`))
}
