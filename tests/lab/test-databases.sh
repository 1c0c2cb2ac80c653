# test-databases.sh: guest script. SQLite and PostgreSQL, whose own checks judge their files: with the library, what is
# there is whole, and the same as without; after a crash, too. LONG=1: on more file systems, and more of it.
# Variables (lab -e): ON='fat ext4 3'
. "$LAB/guest.sh"
. "$PROJECT/tests/tap.sh"
. "$PROJECT/tests/lab/places.sh"
transactions=12 pgbench=40 scale=1
[ -z "${LONG:-}" ] || transactions=300 pgbench=2000 scale=5
library() { # HOW: what LD_PRELOAD is
	[ "$1" = without ] || echo "$BUILD/libfastalloc.so"
}

# --- SQLite -------------------------------------------------------------------------

# sqlite HOW CONFIGURATION DATABASE: its commands from stdin
sqlite() {
	LD_PRELOAD=$(library "$1") FASTALLOC_CONFIG=/tmp/conf/$2 timeout 300 sqlite3 -batch -bail "$3" 2>&1
}
# rows TABLE FIRST LAST: transactions of ten rows each, some of them longer than a page
rows() {
	local i
	echo '.timeout 60000'
	for ((i = $2; i <= $3; i++)); do
		echo "BEGIN IMMEDIATE; WITH RECURSIVE n(k) AS (VALUES(0) UNION ALL SELECT k + 1 FROM n WHERE k < 9)
		INSERT INTO $1 SELECT $i * 10 + k, hex(zeroblob($i * 37 % 500 * (k + 1))) || $i FROM n; COMMIT;"
		if ((i % 3 == 0)); then echo "UPDATE $1 SET text = text || 'more' WHERE id % 7 = $i % 7;"; fi
		if ((i % 5 == 0)); then echo "DELETE FROM $1 WHERE id % 10 = 3 AND id < $i * 10;"; fi
	done
}
# Two write at once, each to a table of its own, so that what is there in the end does not depend on who was first.
contents() { # HOW CONFIGURATION DIR MODE
	local database=$3/database writer
	sqlite "$1" "$2" "$database" <<-END
		.output /dev/null
		PRAGMA journal_mode = $4;
		.output
		CREATE TABLE a(id INTEGER PRIMARY KEY, text); CREATE TABLE b(id INTEGER PRIMARY KEY, text);
		CREATE INDEX a_text ON a(text);
	END
	rows a 1 $transactions | sqlite "$1" "$2" "$database" >/tmp/a &
	writer=$!
	rows b 1 $transactions | sqlite "$1" "$2" "$database" >/tmp/b
	wait $writer
	cat /tmp/a /tmp/b
	echo 'DELETE FROM b WHERE id % 2; VACUUM; PRAGMA integrity_check;' | sqlite "$1" "$2" "$database"
	rows a 1000 1003 | sqlite "$1" "$2" "$database"
	drop_caches
	printf '%s\n' 'PRAGMA integrity_check; SELECT count(*), sum(length(text)) FROM a;' 'SELECT count(*) FROM b;' \
		'.sha3sum --schema' | sqlite without "$2" "$database"
	rm -f "$database"*
}
# crash HOW CONFIGURATION DIR MODE: killed while it commits. All that it had told of is there, whole, and then at most
# what was underway.
crash() {
	local database=$3/database writer told i
	echo "PRAGMA journal_mode = $4; CREATE TABLE t(id INTEGER PRIMARY KEY, blob);" | sqlite "$1" "$2" "$database"
	: >/tmp/told
	LD_PRELOAD=$(library "$1") FASTALLOC_CONFIG=/tmp/conf/$2 stdbuf -oL sqlite3 -batch -bail "$database" >/tmp/told 2>&1 < <(
		for ((i = 1; i <= 20000; i++)); do echo "INSERT INTO t VALUES($i, zeroblob(3000)); SELECT $i;"; done
	) &
	writer=$!
	while [ "$(wc -l </tmp/told)" -lt $transactions ] && kill -0 $writer 2>/dev/null; do sleep 0.0$((RANDOM % 10)); done
	kill -KILL $writer
	wait $writer 2>/dev/null
	told=$(tail -n 1 /tmp/told)
	drop_caches
	echo "PRAGMA integrity_check; SELECT count(*) = max(id), max(id) - $told BETWEEN 0 AND 1, min(length(blob)), \
		sum(hex(blob) <> hex(zeroblob(3000))) FROM t;" | sqlite without "$2" "$database"
	rm -f "$database"*
}
sqlite_on() { # NAME DIR CONFIGURATION
	local mode
	for mode in wal delete ${LONG:+truncate persist}; do
		[ -z "${LONG:-}" ] || without=$(contents without $3 $2 $mode)
		is "SQLite, $1, journal_mode=$mode: the same as without" "$without" "$(contents with $3 $2 $mode)"
		is "SQLite, $1, journal_mode=$mode: all that was committed when it was killed" \
			"$(printf '%s\n' $mode ok '1|1|3000|0')" "$(crash with $3 $2 $mode)"
	done
}

# --- PostgreSQL ----------------------------------------------------------------------

bin=$(echo /usr/lib/postgresql/*/bin)
postgres() { # HOW CONFIGURATION COMMAND...
	local preload configuration=$2
	preload=$(library "$1")
	shift 2
	setpriv --reuid postgres --regid postgres --clear-groups env HOME=/tmp LD_PRELOAD="$preload" \
		FASTALLOC_CONFIG=/tmp/conf/$configuration timeout 600 "$@"
}
start() { # HOW CONFIGURATION DATA
	postgres "$1" "$2" "$bin/pg_ctl" -D "$3" -w -t 120 -l /tmp/postgres.log start >/dev/null || cat /tmp/postgres.log
}
query() { postgres without stock "$bin/psql" -h /tmp -AtXc "$1" postgres; }
# Each transaction adds the same to an account, a teller, a branch, and the history.
sums="SELECT (SELECT sum(abalance) FROM pgbench_accounts) = h AND (SELECT sum(tbalance) FROM pgbench_tellers) = h
	AND (SELECT sum(bbalance) FROM pgbench_branches) = h AND n >= "
history='FROM (SELECT sum(delta) AS h, count(*) AS n FROM pgbench_history) AS history'
bench() { # HOW CONFIGURATION TRANSACTIONS
	postgres "$1" "$2" "$bin/pgbench" -h /tmp -n -c 4 -t "$3" postgres 2>&1 | sed -n 's/^number of transactions actually processed: //p'
}
# What they say of a database that goes through all that, line by line.
life() { # HOW CONFIGURATION DIR
	local how=$1 configuration=$2 data=$3/data server client
	install -d -o postgres -g postgres -m 700 "$data"
	postgres $how $configuration "$bin/initdb" -D "$data" --data-checksums -A trust --wal-segsize=1 -E UTF8 --locale=C \
		>/tmp/initdb 2>&1 || { tail -n 3 /tmp/initdb; return; }
	printf '%s\n' "unix_socket_directories = '/tmp'" "listen_addresses = ''" 'shared_buffers = 2MB' 'max_wal_size = 4MB' \
		'min_wal_size = 2MB' 'log_checkpoints = off' >>"$data/postgresql.conf"
	start $how $configuration "$data"
	postgres $how $configuration "$bin/pgbench" -h /tmp -i -q -s $scale postgres >/dev/null 2>&1
	echo "done: $(bench $how $configuration $pgbench)"
	query 'CREATE INDEX ON pgbench_accounts(abalance, aid)'
	# More of them, until the server is killed with all of its processes: no transaction is lost that was told of.
	query 'CREATE TABLE told(n int)'
	bench $how $configuration 100000 >/dev/null &
	client=$!
	while kill -0 $client 2>/dev/null && ! [ "$(query 'SELECT count(*) FROM pgbench_history')" -ge $((pgbench * 5)) ]; do
		sleep 0.1
	done
	server=$(head -n 1 "$data/postmaster.pid")
	kill -KILL $server $(pgrep -P $server) 2>/dev/null # some may have ended by then
	wait $client
	while pgrep -x postgres >/dev/null; do sleep 0.05; done
	rm -f "$data/postmaster.pid"
	start $how $configuration "$data"
	echo "sums: $(query "$sums $((pgbench * 5)) $history")"
	echo "indexed: $(query "SET enable_seqscan = off; SELECT count(*) FROM pgbench_accounts WHERE abalance > -1000000000")"
	query 'CREATE EXTENSION amcheck'
	postgres without stock "$bin/pg_amcheck" -h /tmp --heapallindexed postgres 2>&1
	echo "amcheck: $?"
	query 'VACUUM FULL'
	postgres without stock "$bin/pg_ctl" -D "$data" -w -t 120 -m fast stop >/dev/null
	drop_caches
	postgres without stock "$bin/pg_checksums" --check -D "$data" >/tmp/checksums 2>&1
	echo "checksums: $? $(grep -i 'bad\|fail\|error' /tmp/checksums)"
	rm -rf "$data"
}
postgres_on() { # NAME DIR CONFIGURATION
	local expected
	expected=$(printf '%s\n' "done: $((pgbench * 4))/$((pgbench * 4))" 'CREATE INDEX' 'CREATE TABLE' 'sums: t' \
		"indexed: SET
$((scale * 100000))" 'CREATE EXTENSION' 'amcheck: 0' VACUUM 'checksums: 0 Bad checksums:  0')
	is "PostgreSQL, $1: with the library, all is there and whole" "$expected" "$(life with $3 $2)"
	[ -n "${LONG:-}" ] || return 0
	is "PostgreSQL, $1: as without" "$expected" "$(life without $3 $2)"
}

# --- Where ------------------------------------------------------------------------------

# The content does not depend on where it is, so that it is made without the library just once.
if command -v sqlite3 >/dev/null; then
	without=$(contents without stock /tmp delete)
	is 'SQLite, without: intact, twice' 2 "$(grep -cx ok <<<"$without")"
fi
on() { # NAME DIR CONFIGURATION
	if command -v sqlite3 >/dev/null; then sqlite_on "$@"; else skip "SQLite, $1" 'not installed'; fi
	[[ -n ${LONG:-} || $1 = FAT ]] || return 0
	if [ -x "$bin/initdb" ]; then postgres_on "$@"; else skip "PostgreSQL, $1" 'not installed'; fi
}
on_each "${ON:-fat ${LONG:+ext4 3 4.1} 4.2}" on umask=077,uid=postgres,gid=postgres
finish
