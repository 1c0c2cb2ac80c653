# clients.sh: guest script. What programs cost on NFS 3 (1 MiB requests), as they are and with the
# library: seconds and calls.  What they wrote is compared on the server, or checked by themselves.
#
#   tests/lab/lab -m 4G -t 1800 tests/bench/clients.sh [ROUNDS] [CASE...]
#
# ROUNDS: 5 if not given.  QUICK=1: one round of small files.  CASE: fallocate fio aria2-falloc
# aria2-prealloc rsync cp tar sqlite postgres (all by default); one that is not installed is left out.
#
# aria2-falloc and rsync call fallocate(2) itself, so there the library has `fallocate = auto`.
. "$LAB/guest.sh"
rounds=${1:-5} mib=256 database=64 scale=5
[ "${QUICK:-0}" = 0 ] || rounds=1 mib=32 database=8 scale=1
shift
want=" ${*:-fallocate fio aria2-falloc aria2-prealloc rsync cp tar sqlite postgres} "
failed=0
cd /run/work || exit
export TMPDIR=/run/work
n=/mnt/nfs e=/mnt/export
# Where a user other than root can read it.
cp "$BUILD/libfastalloc.so" /tmp/ && chmod 755 /tmp/libfastalloc.so || exit
{ cat "$PROJECT/preload.conf" && printf '\n[default]\nfallocate = auto\n'; } >/tmp/auto.conf

complain_about() {
	echo "clients.sh: $*" >&2
	[ ! -s log ] || tail -n 5 log >&2
	failed=1
}
settled() {
	local i
	exportfs -f
	sync
	for ((i = 0; i < 100 && $(free_bytes $e) < room; i++)); do sleep 0.1; done
}

# A case has prepare_CASE (not timed), run_CASE, verify_CASE (on the server) and needs_CASE: its
# program.  In run_, $with is the library or nothing.
needs_fallocate() { command -v fallocate; }
run_fallocate() { $with fallocate --posix -l ${mib}M $n/f; }
verify_fallocate() { [ "$(stat -c %s $e/f)" = $((mib << 20)) ] && [ "$(stat -c %b $e/f)" -ge $((mib << 11)) ] && cmp -sn $((mib << 20)) $e/f /dev/zero; }

needs_fio() { command -v fio; }
run_fio() {
	$with fio --name=f --filename=$n/f --size=${mib}M --fallocate=posix --ioengine=psync --rw=write --bs=1M \
		--end_fsync=1 --verify=crc32c --do_verify=1 --verify_fatal=1 >log 2>&1
}
verify_fio() {
	fio --name=f --filename=$e/f --size=${mib}M --ioengine=psync --rw=read --bs=1M --verify=crc32c --verify_only \
		--verify_fatal=1 >log 2>&1
}

aria2() { $with aria2c -q --no-conf --allow-overwrite=true --file-allocation="$1" -d $n -o f http://127.0.0.1:8000/data >log 2>&1; }
needs_aria2_falloc() { command -v aria2c && command -v python3; }
run_aria2_falloc() { aria2 falloc; }
verify_aria2_falloc() { cmp data $e/f; }
needs_aria2_prealloc() { needs_aria2_falloc; }
run_aria2_prealloc() { aria2 prealloc; }
verify_aria2_prealloc() { cmp data $e/f; }

needs_rsync() { command -v rsync; }
run_rsync() { $with rsync --preallocate --whole-file data $n/f >log 2>&1; }
verify_rsync() { cmp data $e/f; }

needs_cp() { command -v cp; }
run_cp() { $with cp data $n/f; }
verify_cp() { cmp data $e/f; }

needs_tar() { command -v tar; }
run_tar() { $with tar -xf data.tar -C $n; }
verify_tar() { diff -r tree $e/tree; }

needs_sqlite() { command -v sqlite3; }
run_sqlite() { $with sqlite3 $n/f <inserts.sql >log 2>&1; }
verify_sqlite() {
	[ "$(sqlite3 $e/f 'PRAGMA integrity_check; SELECT count(*), sum(length(b)) FROM t')" = "ok
$((database * 16))|$((database << 20))" ]
}

postgres() { (cd / && runuser -u postgres -- "$@"); }
needs_postgres() {
	bin=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
	[ -x "$bin/initdb" ] && id postgres
}
prepare_postgres() {
	install -d -o postgres -m 700 $n/pg
	postgres "$bin/initdb" -D $n/pg -k -A trust --no-sync >log 2>&1
	printf "unix_socket_directories = '/tmp'\nlisten_addresses = ''\n" >>$n/pg/postgresql.conf
}
run_postgres() {
	postgres $with "$bin/pg_ctl" -D $n/pg -w -l /tmp/postgres.log start >log 2>&1 &&
		postgres $with "$bin/pgbench" -h /tmp -i -q -s $scale postgres >>log 2>&1 &&
		rows=$(postgres "$bin/psql" -h /tmp -Atc 'SELECT count(*) FROM pgbench_accounts' postgres) &&
		postgres "$bin/pg_ctl" -D $n/pg -w -m fast stop >>log 2>&1
}
verify_postgres() { [ "$rows" = $((scale * 100000)) ] && postgres "$bin/pg_checksums" --check -D $e/pg >log 2>&1; }

# measured CASE SIDE
measured() {
	local case=$1 side=$2 function=${1//-/_} op start ns ret line before=()
	rm -rf ${n:?}/*
	settled
	: >log
	declare -F "prepare_$function" >/dev/null && { "prepare_$function" || complain_about "$case $side: prepare"; sync; }
	for op in WRITE READ COMMIT; do before+=("$(nfs_calls $op)"); done
	start=$(date +%s%N)
	"run_$function"
	ret=$?
	ns=$(($(date +%s%N) - start))
	printf -v line 'seconds=%d.%03d ret=%d' $((ns / 1000000000)) $((ns / 1000000 % 1000)) $ret
	for op in WRITE READ COMMIT; do
		line+=" ${op,,}=$(($(nfs_calls $op) - ${before[0]}))"
		before=("${before[@]:1}")
	done
	echo "client-$case $side $line"
	# aria2 gives up where fallocate(2) is not supported: that is what it does without the library.
	if [ $case$side = aria2-falloc"plain" ] && [ $ret != 0 ]; then
		:
	elif [ $ret != 0 ]; then
		complain_about "$case $side: exit status $ret"
	else
		"verify_$function" || complain_about "$case $side: what the server has is not what was written"
	fi
}

nfs_prepare && nfs_stop && echo 1048576 >/proc/fs/nfsd/max_block_size && nfs_serve ext4 async &&
	nfs_mount 3 rsize=1048576,wsize=1048576 || exit
# Blocks that have been written before.
head -c $((mib * 4))M /dev/zero >$e/warm && sync && rm $e/warm || exit
sync
room=$(($(free_bytes $e) - 1048576))
head -c ${mib}M /dev/urandom >data
mkdir tree
for ((i = 0; i < mib; i++)); do head -c $((i * 997 % 65536)) data >tree/$i; done
tar -cf data.tar tree
{
	echo 'PRAGMA journal_mode = TRUNCATE; CREATE TABLE t (b BLOB);'
	for ((i = 0; i < database / 4; i++)); do
		echo 'INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 64) SELECT randomblob(65536) FROM n;'
	done
} >inserts.sql
if [[ $want == *' aria2'* ]] && command -v python3 >/dev/null; then
	/usr/bin/env python3 -m http.server --bind 127.0.0.1 8000 >/dev/null 2>&1 &
	server=$!
	for ((i = 0; i < 50; i++)); do (: </dev/tcp/127.0.0.1/8000) 2>/dev/null && break || sleep 0.2; done
fi
for case in $want; do
	if ! "needs_${case//-/_}" >/dev/null 2>&1; then
		echo "clients.sh: $case: not installed" >&2
		continue
	fi
	for ((round = 0; round < rounds; round++)); do
		with='' measured "$case" plain
		with="env LD_PRELOAD=/tmp/libfastalloc.so"
		case $case in aria2-falloc | rsync) with+=" FASTALLOC_CONFIG=/tmp/auto.conf" ;; esac
		measured "$case" fastalloc
	done
done
[ -z "${server-}" ] || kill "$server"
rm -rf ${n:?}/*
nfs_stop || failed=1
exit $failed
