package boardtest

// InMounts is a command that runs a program with mounts of its own, which a script has changed before: the
// program and its arguments are "$@". What other tests have mounted at that moment would stay mounted here.
func InMounts(script string) []string {
	const leave = `while read -r from at rest; do case $from in /dev/loop*) umount -l "$at" ;; esac; done </proc/mounts
`
	return []string{"unshare", "--mount", "--propagation", "private", "sh", "-c", leave + script, "sh"}
}
