# Being loaded among others: with allocators, sanitizers and other preloaded libraries, in plugins, in
# programs of other languages, in bare environments. Each job prints, and leaves, what it does without.
home=$HOME
. "${PROJECT:?}/tests/syscalls/lib.sh" || exit 1
config '[default]' 'write = preallocate' 'window_after = 0' 'ftruncate = preallocate'
rounds=${LONG:+1000}
rounds=${rounds:-4}
JOB=$BUILD/tests/job PLUGIN=$BUILD/tests/libjob.so
cd "$W" || exit 1

result() { # COMMAND...: its status and output, and the files it left in $W/job, where @ stands for that
	rm -rf "$W/job" "$W/seen"
	mkdir -m 755 "$W/job"
	timeout 60 "${@//@/$W/job}" >"$W/output" 2>&1 </dev/null
	echo "status $?"
	sed "s|$W/job|@|g" "$W/output"
	(cd "$W/job" && stat -c '%n %s %a' -- * && cksum -- *)
}

# both NAME PRELOAD COMMAND...: with these libraries preloaded, and without ours.
both() {
	local name=$1 preload=$2 expected actual i
	shift 2
	expected=$(result env ${preload:+LD_PRELOAD="${preload//@LIB/}"} "$@")
	[[ $preload == *@LIB* ]] || preload=@LIB
	preload=${preload//@LIB/$LIB}
	for ((i = 1; i <= rounds; i++)); do
		actual=$(result env LD_PRELOAD="$preload" FASTALLOC_STATS="$W/seen" "$@")
		[ "$actual" = "$expected" ] && { [ -n "${unseen:-}" ] || [ -s "$W/seen" ]; } && continue
		[ -s "$W/seen" ] || actual+=' (and it was not seen)'
		is "$name, round $i of $rounds" "$(head -c 4000 <<<"$expected")" "$(head -c 4000 <<<"$actual")"
		return
	done
	like "$name: the same $rounds times" 'status 0.*done' "$(tr '\n' ' ' <<<"$expected")"
}
# The same in both orders.
orders() { # NAME LIBRARY COMMAND...
	local name=$1 library=$2
	shift 2
	both "$name behind it" "@LIB $library" "$@"
	both "$name before it" "$library @LIB" "$@"
}
installed() { find /usr/lib /usr/local/lib -name "$1" 2>/dev/null | head -n 1; }

both 'a program' '' "$JOB" @

# Other libraries that are preloaded.
for name in libjemalloc.so.2 libtcmalloc_minimal.so.4 libeatmydata.so libfaketime.so.1 nocache.so; do
	library=$(installed $name)
	if [ -n "$library" ]; then
		FAKETIME=+10d orders "$name" "$library" "$JOB" @
	else
		skip "$name" 'not installed'
	fi
done
# fakeroot needs a server, which does not run everywhere.
library=$(installed libfakeroot-tcp.so)
owners='cd "$0" && seq 20000 >a && cp a b && chown 7:8 b && chmod 600 b && install -o 9 -m 644 a c && stat -c "%n %u %g %a" a b c && echo done'
if [ -n "$library" ] && timeout 10 fakeroot-tcp true 2>/dev/null && (cd "$W" && mkdir tried && timeout 10 fakeroot-tcp sh -c "$owners" tried >/dev/null 2>&1); then
	both 'fakeroot, started with the library' '' fakeroot-tcp sh -c "$owners" @
	both 'fakeroot, the library behind it' '' sh -c 'exec fakeroot-tcp env LD_PRELOAD="$0:$LD_PRELOAD" sh -c "$1" "$2"' "$library" "$owners" @
	both 'fakeroot, the library before it' '' sh -c 'ours=$LD_PRELOAD; exec fakeroot-tcp env LD_PRELOAD="$ours:$0" sh -c "$1" "$2"' "$library" "$owners" @
else
	skip 'fakeroot' 'not installed, or does not run here'
fi

# Sanitizers, and a program without shared libraries. ASan's own wants to be the first.
build() { # COMPILER FLAGS...
	"$1" -w -o "$W/built" "${@:2}" "$PROJECT/tests/job.c" -pthread -ldl 2>/dev/null
}
runtime() { LD_TRACE_LOADED_OBJECTS=1 "$W/built" | sed -n 's|.* => \(/[^ ]*san[^ ]*\) .*|\1|p' | head -n 1; }
for compiler in gcc clang; do
	for sanitizer in address thread; do
		# TSan's memory may collide with addresses at random.
		if ! build $compiler -O1 -g -fsanitize=$sanitizer || ! result setarch -R "$W/built" @ | grep -q '^done'; then
			skip "$compiler -fsanitize=$sanitizer" 'not installed, or does not run here'
			continue
		fi
		export ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0
		library=$(runtime)
		# What a program starts must not load TSan's, as shells do not run with it.
		[ $sanitizer = address ] || library=
		if [ -n "$library" ]; then
			orders "$compiler -fsanitize=$sanitizer" "$library" setarch -R "$W/built" @
		else
			both "$compiler -fsanitize=$sanitizer" '' setarch -R "$W/built" @
		fi
		unset ASAN_OPTIONS
	done
done
if build gcc -static; then
	unseen=1 both 'a static program' '' "$W/built" @
else
	skip 'a static program' 'cannot be linked here'
fi

# Other libraries' constructors and destructors, and plugins.
cat >"$W/idle.c" <<<'int main(void) { return 0; }'
gcc -o "$W/idle" "$W/idle.c" -Wl,--no-as-needed "$PLUGIN" -Wl,-rpath,"$BUILD/tests"
for moment in constructor destructor; do
	# By the destructor what it did is not counted any more.
	unseen=${moment#constructor} both "in another library's $moment" '' env JOB=$moment JOB_DIRECTORY=@ "$W/idle"
	unseen=${moment#constructor} orders "in a preloaded library's $moment," "$PLUGIN" \
		env JOB=$moment JOB_DIRECTORY=@ "$W/idle"
done
both 'in a plugin' '' "$JOB" @ "$PLUGIN"
both 'in a plugin, RTLD_LOCAL' '' "$JOB" @ "$PLUGIN" local
unseen=1 both 'in a plugin, RTLD_DEEPBIND' '' "$JOB" @ "$PLUGIN" deep

# Other languages: files by what each has for them.
with() { # NAME COMMAND... (the program's name first)
	local name=$1 command
	shift
	command=$(HOME=$home command -v "$1") && command=$(HOME=$home "$command" "${version:---version}" >/dev/null 2>&1 && echo "$command")
	if [ -n "$command" ]; then
		both "$name" '' "$@"
	else
		skip "$name" 'not installed'
	fi
}
# shellcheck disable=SC2016 # it is that shell's
shell='cd "$0" && for i in 1 2 3 4 5; do seq 5000 >>a; printf "%0700d\n" $i; done >b && cp a c && dd if=a of=d bs=700 conv=notrunc status=none &&
	(echo x; echo y) | sort -r >e; exec 3>f; echo 1 >&3; (echo 2 >&3); exec 3>&-; echo done'
with 'bash' bash -c "$shell" @
both 'an empty environment' '' env -u HOME -u PATH -u FASTALLOC_CONFIG "$JOB" @
both 'as cron does' '' sh -c 'exec env -i HOME=/ LOGNAME=root SHELL=/bin/sh PATH=/usr/bin:/bin LD_PRELOAD="$LD_PRELOAD" \
	FASTALLOC_STATS="$FASTALLOC_STATS" /bin/sh -c "$0 $1"' "$JOB" @
both 'as a service manager does' '' sh -c 'exec env -i LANG=C PATH=/usr/bin:/bin INVOCATION_ID=0 LD_PRELOAD="$LD_PRELOAD" \
	FASTALLOC_STATS="$FASTALLOC_STATS" setsid -w setpriv --no-new-privs --inh-caps=-all "$0" "$1"' "$JOB" @
with 'Perl' perl -e 'chdir shift; open(my $f, ">", "a"); print $f "line $_\n" for 1..20000; close $f;
	open($f, "+<", "a"); seek($f, 0, 2); syswrite($f, "x" x 700) for 1..100; truncate($f, 100000); close $f;
	if (!fork) { open(my $g, ">>", "a"); print $g "child"; close $g; exit } wait; print -s "a", " done\n"' @
with 'Python' /usr/bin/python3 -c 'import os, shutil, subprocess, sys, tempfile, threading
os.chdir(sys.argv[1])
with open("a", "w") as f:
    for i in range(20000): f.write("line %d\n" % i)
with open("a", "r+b", 0) as f:
    os.posix_fallocate(f.fileno(), 0, 1 << 19); f.seek(0, 2)
    for i in range(100): f.write(b"x" * 700)
    f.truncate(300000)
shutil.copy("a", "b")
def write(name):
    with open(name, "wb", 0) as f:
        for i in range(100): f.write(b"y" * 700)
threads = [threading.Thread(target=write, args=("t%d" % i,)) for i in range(3)]
for t in threads: t.start()
for t in threads: t.join()
subprocess.run(["sh", "-c", "echo z >>a"], check=True)
print(os.path.getsize("a"), "done")' @
with 'Node' node -e 'const fs = require("fs"); process.chdir(process.argv[1]);
	const f = fs.openSync("a", "w"); for (let i = 0; i < 2000; i++) fs.writeSync(f, "x".repeat(700)); fs.ftruncateSync(f, 1000000); fs.closeSync(f);
	fs.copyFileSync("a", "b"); const s = fs.createWriteStream("c"); for (let i = 0; i < 2000; i++) s.write("line " + i + "\n");
	s.end(() => { require("child_process").execSync("echo z >>a"); console.log(fs.statSync("a").size, "done"); });' @
mkdir "$W/built.d"
cat >"$W/built.d/Job.java" <<'JAVA'
import java.io.*;
import java.nio.*;
import java.nio.channels.*;
import java.nio.file.*;
class Job {
	public static void main(String[] a) throws Exception {
		Path d = Paths.get(a[0]);
		try (OutputStream o = new FileOutputStream(d.resolve("a").toFile())) {
			for (int i = 0; i < 2000; i++) o.write(new byte[700]);
		}
		try (FileChannel c = FileChannel.open(d.resolve("b"), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
			for (int i = 0; i < 1000; i++) c.write(ByteBuffer.wrap(("line " + i + "\n").getBytes()));
			c.truncate(5000);
		}
		try (RandomAccessFile r = new RandomAccessFile(d.resolve("a").toFile(), "rw")) { r.setLength(3000000); }
		Files.copy(d.resolve("a"), d.resolve("c"));
		Process p = new ProcessBuilder("sh", "-c", "echo z >>" + d.resolve("a")).start();
		System.out.println(p.waitFor() + " " + Files.size(d.resolve("a")) + " done");
	}
}
JAVA
if HOME=$home javac -d "$W/built.d" "$W/built.d/Job.java" 2>/dev/null; then
	version=-version with 'Java' java -Xshare:auto -XX:TieredStopAtLevel=1 -XX:-UsePerfData -cp "$W/built.d" Job @
else
	skip 'Java' 'not installed'
fi
cat >"$W/job.rs" <<'RUST'
use std::io::{Seek, Write};
use std::{env, fs, process, thread};
fn main() -> std::io::Result<()> {
	env::set_current_dir(env::args().nth(1).unwrap())?;
	let threads: Vec<_> = (0..3).map(|n| thread::spawn(move || {
		let mut f = fs::File::create(format!("t{}", n)).unwrap();
		for _ in 0..200 { f.write_all(&[b'x'; 700]).unwrap(); }
		f.set_len(100000).unwrap();
	})).collect();
	for t in threads { t.join().unwrap(); }
	let mut f = fs::OpenOptions::new().write(true).open("t0")?;
	f.seek(std::io::SeekFrom::End(0))?;
	writeln!(f, "the end")?;
	f.sync_all()?;
	drop(f);
	fs::copy("t0", "c")?;
	process::Command::new("sh").args(["-c", "echo z >>c"]).status()?;
	println!("{} done", fs::metadata("c")?.len());
	Ok(())
}
RUST
if HOME=$home rustc -O -o "$W/rust" "$W/job.rs" 2>/dev/null; then
	both 'Rust' '' "$W/rust" @
else
	skip 'Rust' 'not installed'
fi
cat >"$W/job.go" <<'GO'
package main
import ("fmt"; "os"; "strings")
func main() {
	os.Chdir(os.Args[1])
	f, _ := os.Create("a")
	for i := 0; i < 2000; i++ { f.WriteString(strings.Repeat("x", 700)) }
	f.Truncate(1000000)
	f.Close()
	fmt.Println("done")
}
GO
if (cd "$W" && HOME=$home GO111MODULE=off GOCACHE=$W/gocache go build -o "$W/go" job.go) 2>/dev/null; then
	unseen=1 both 'Go' '' "$W/go" @
else
	skip 'Go' 'not installed'
fi

# Without /proc, and nothing else but what the program needs.
mkdir -p "$W/root/lib"
cp -L $(LD_TRACE_LOADED_OBJECTS=1 "$JOB" | grep -o '/[^ ]*') "$W/root/lib/" 2>/dev/null
cp -L "$(LD_TRACE_LOADED_OBJECTS=1 "$JOB" | grep -o '/[^ ]*/ld-linux[^ ]*')" "$W/root/lib/ld.so"
cp "$LIB" "$W/preload.conf" "$W/root/" && cp "$JOB" "$W/root/job.so" && mkdir "$W/root/job"
# There is no shell there: system says so.
in_chroot() { # [OPTION...]
	find "$W/root/job" -type f -delete
	FASTALLOC_CONFIG=/preload.conf timeout 60 chroot "$W/root" /lib/ld.so --library-path /lib "$@" /job.so /job 2>&1
	(cd "$W/root/job" && cksum -- *)
}
expected=$(in_chroot) different=0
for ((i = 1; i <= rounds; i++)); do
	[ "$(in_chroot --preload /libfastalloc.so)" = "$expected" ] || different=$((different + 1))
done
like 'in a chroot, without' 'thread 121 0' "$expected"
is "in a chroot, without /proc and all else: rounds of $rounds that differ" 0 $different
finish
