/* musl.h: what the library expects of libc's headers, where libc is musl. The build includes it first.
 *
 * There, up to 1.2.3, the names with 64 are macros for the plain ones. The functions are hooked by both. */
#ifndef FASTALLOC_MUSL_H
#define FASTALLOC_MUSL_H

#define _LARGEFILE64_SOURCE /* off64_t, from 1.2.4 on */

/* These have the same arguments, of other types. */
#define ioctl      libc_ioctl
#define lio_listio libc_lio_listio
#define sendmmsg   libc_sendmmsg
#include <aio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#undef ioctl
#undef lio_listio
#undef sendmmsg

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/uio.h>
#include <unistd.h>

#undef aio_write64
#undef creat64
#undef fallocate64
#undef fopen64
#undef freopen64
#undef ftruncate64
#undef lio_listio64
#undef open64
#undef openat64
#undef posix_fallocate64
#undef pwrite64
#undef pwritev64
#undef sendfile64
#undef truncate64

#include "have.h"
#ifndef HAVE_STRUCT_STATX
#include <linux/stat.h>
#endif

/* No libraries in namespaces of their own, and no other order of search. */
#ifndef RTLD_DEEPBIND
#define RTLD_DEEPBIND 0
#endif
#define LM_ID_BASE 0
typedef long Lmid_t;

#endif
