package board

import "strings"

// Scripts that the board's /bin/sh carries out. They keep to what BusyBox has, and are sent as one
// line, because csh cannot pass on more.

// oneLine joins the lines of a script.
func oneLine(script string) string {
	var all []string
	for one := range strings.Lines(script) {
		if one = strings.TrimSpace(one); one != "" {
			all = append(all, one)
		}
	}
	return strings.Join(all, " ")
}

// paths has the directories that an ordinary login lacks.
const paths = `PATH="$PATH:/usr/sbin:/sbin"; export PATH; LC_ALL=C; export LC_ALL;`

// describing prints what the board says of itself.
var describing = oneLine(`
	echo "machine=$(uname -m)";
	echo "order=$(dd if=/bin/sh bs=1 skip=5 count=1 2>/dev/null)";
	as=none; uid=$(id -u);
	if [ "$uid" = 0 ]; then as=root;
	elif sudo -n true </dev/null >/dev/null 2>&1; then as=sudo;
	elif doas -n true </dev/null >/dev/null 2>&1; then as=doas;
	fi;
	echo "as=$as"; echo "user=$(id -un)";
	while read -r key value unit; do
		case "$key" in MemAvailable:|MemFree:|MemTotal:) echo "$key=$value";; esac;
	done </proc/meminfo;
	while read -r device place type options rest; do
		case "$type" in tmpfs|ramfs|rootfs)
			set -- $(df -Pk "$place" 2>/dev/null | tail -n 1);
			echo "memory=$type $place $options $2 $4";;
		esac;
	done </proc/mounts;
	for tool in sha256sum gzip zcat gunzip xz unxz xzcat base64 head; do
		if command -v $tool >/dev/null 2>&1; then echo "has=$tool"; fi;
	done;
	for place in /var/tmp /tmp; do
		if [ -d $place ] && [ -w $place ]; then echo "work=$place"; break; fi;
	done;`)

// ask describes the board, waits for the name of a directory, and keeps it until its input ends. $1
// is the mark around what it prints, and $2 the script that keeps the directory, as root.
var ask = oneLine(paths + `
	mark=$1; keep=$2;
	echo; echo "$mark";
	` + describing + askEnd)

// askPlace is ask of a board that has described itself; $3 is how to become root.
var askPlace = oneLine(paths + `
	mark=$1; keep=$2; as=$3;
	echo; echo "$mark";` + askEnd)

const askEnd = `
	echo "$mark";
	read -r dir || exit 0;
	case $as in
		root) exec /bin/sh -c "$keep" whichfs "$mark" "$dir";;
		sudo) exec sudo -n /bin/sh -c "$keep" whichfs "$mark" "$dir";;
		doas) exec doas -n /bin/sh -c "$keep" whichfs "$mark" "$dir";;
	esac;`

// agentLives is true while the agent that was started in directory $dir runs. Numbers of processes are
// used again, so the program is compared, too.
const agentLives = `agent_lives() {
		agent=$(cat "$dir/agent.pid" 2>/dev/null) && [ -n "$agent" ] && [ "$(readlink "/proc/$agent/exe")" = "$dir/agent" ];
	};`

// keep makes directory $2, says so with the mark $1, and removes the directory when its input ends or
// it is asked to end. The agent, whose input ends as well, has until then to release the storage: who
// finds no directory may claim it. What is being received meanwhile may be made once more.
var keep = oneLine(agentLives + `
	umask 077;
	dir=$2;
	mkdir "$dir" || exit 1;
	remove() {
		trap "" HUP INT TERM PIPE;
		for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
			if agent_lives; then sleep 1; fi;
		done;
		for try in 1 2 3 4 5; do
			rm -rf "$dir";
			if [ -e "$dir" ]; then sleep 1; else break; fi;
		done;
	};
	trap "remove; exit 1" HUP INT TERM PIPE;
	echo $$ >"$dir/keep.pid";
	echo "$1";
	while read -r nothing; do :; done;
	remove;
	if [ -e "$dir" ]; then exit 1; fi;`)

// takeOver waits until directory $2 of an earlier session is gone, and ends that session after some
// seconds: where a line is dead, the board has not noticed.
var takeOver = oneLine(paths + agentLives + `
	dir=$2;
	for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
		if [ -e "$dir" ]; then sleep 1; fi;
	done;
	if agent_lives; then kill -9 "$agent"; fi;
	keep=$(cat "$dir/keep.pid" 2>/dev/null);
	if [ -n "$keep" ] && grep -q "$dir" "/proc/$keep/cmdline"; then kill "$keep"; fi;
	for try in 1 2 3 4 5; do
		if [ -e "$dir" ]; then sleep 1; fi;
	done;
	if [ -e "$dir" ]; then rm -rf "$dir"; fi;
	echo; echo "$1";`)

// receive writes its input to file $2 and prints the file's digest. $3 is the command that unpacks the
// input, or none, and $4 the one that computes the digest.
var receive = oneLine(paths + `
	umask 077;
	file=$2; unpack=$3;
	set -- "$1" $4;
	mark=$1; shift;
	case "$unpack" in
		none) cat >"$file" || exit 1;;
		*) $unpack >"$file" || exit 1;;
	esac;
	case "$file" in */agent) chmod 700 "$file" || exit 1;; esac;
	echo; echo "$mark";
	"$@" "$file" || exit 1;`)

// adopt copies an agent $2 that the board has to file $3, and prints its digest, unless it was checked
// ($4). One in memory is not copied.
var adopt = oneLine(paths + `
	umask 077;
	mark=$1; from=$2; file=$3; checked=$4;
	case "$from" in
		*/whichfs-*/agent) ln "$from" "$file" 2>/dev/null || cp "$from" "$file" || exit 1;;
		*) cp "$from" "$file" || exit 1; chmod 700 "$file" || exit 1;;
	esac;
	echo; echo "$mark";
	if [ $checked = true ]; then :; elif command -v sha256sum >/dev/null 2>&1; then sha256sum "$file"; else "$file" digest "$file"; fi;`)

// forget removes files that the agent has read.
var forget = oneLine(paths + `mark=$1; shift; rm -f "$@"; echo; echo "$mark";`)

// start starts the agent $2 of directory $3, where it may put small files, and where programs may be
// that were sent.
var start = oneLine(paths + `
	cd / || exit 1;
	TMPDIR=$3; export TMPDIR;
	if [ -d "$3/tools/bin" ]; then PATH="$3/tools/bin:$PATH"; fi;
	echo $$ >"$3/agent.pid";
	echo; echo "$1";
	exec "$2" board;`)
