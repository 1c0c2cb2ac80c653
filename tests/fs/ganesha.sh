# ganesha.sh: source it for an NFS server in user space (NFS-Ganesha), in namespaces of its own (mount, PID, network),
# so that it meets no other server and leaves nothing behind. It exports /mnt/local by NFS 3 and 4, to anybody.
# shellcheck shell=bash
#
#   ganesha_missing             what it needs and is not there, or nothing
#   ganesha_namespace "$@"      run this script again, with "inside" before its arguments, in such namespaces
#   ganesha_prepare             once, inside: private directories, and the portmapper
#   ganesha_start [NAME=VALUE...]   with these in its environment; returns when it answers
#   ganesha_stop [SIGNAL]
GANESHA_URL=nfs://127.0.0.1/mnt/local
GANESHA_URL4='nfs://127.0.0.1/export?version=4' # libnfs 4 sends no WRITEs larger than 3 KiB by this one
PATH=$PATH:/usr/sbin:/sbin

ganesha_missing() {
	local program missing=()
	for program in ganesha.nfsd rpcbind unshare; do
		command -v $program >/dev/null || missing+=($program)
	done
	[ -e "$BUILD/tests/nfsload" ] || missing+=(libnfs)
	echo "${missing[*]}"
}
ganesha_namespace() {
	exec unshare -mnpf --kill-child --mount-proc --propagation private bash "$0" inside "$@"
}
ganesha_prepare() {
	local dir
	# The first process of a PID namespace ends by no signal that it does not catch.
	trap 'exit 130' INT
	trap 'exit 143' TERM
	ip link set lo up || return
	for dir in /mnt /run /var/lib/nfs; do mount -t tmpfs tmpfs $dir || return; done
	mkdir -p /run/ganesha /var/lib/nfs/ganesha /mnt/local
	rpcbind -w || return
	cat >/run/ganesha.conf <<-END
		NFS_CORE_PARAM { Protocols = 3, 4; Enable_NLM = false; Enable_RQUOTA = false; Enable_UDP = false; }
		NFSV4 { Graceless = true; }
		EXPORT {
			Export_Id = 1; Path = /mnt/local; Pseudo = /export; Access_Type = RW; Squash = none; SecType = sys;
			FSAL { Name = VFS; }
		}
	END
}
ganesha_start() {
	local i
	env "$@" ganesha.nfsd -F -f /run/ganesha.conf -L /run/ganesha.log -p /run/ganesha.pid -N CRIT 2>/run/ganesha.err &
	ganesha=$!
	for ((i = 0; i < 100; i++)); do
		rpcinfo -t 127.0.0.1 mountd 3 >/dev/null 2>&1 && rpcinfo -t 127.0.0.1 nfs 3 >/dev/null 2>&1 && return
		sleep 0.1
	done
	echo "ganesha does not start: $(tail -n 3 /run/ganesha.log)" >&2
	return 1
}
ganesha_stop() {
	kill "-${1:-TERM}" $ganesha
	wait $ganesha 2>/dev/null
}
