// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Nothing here waits for a file system: paths are only followed in what the kernel remembers of them, and
 * attributes are those that it remembers. Whether these may be old is for the agent to say, which knows
 * what is mounted.
 */
#include "helpers/end/look.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/stat.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define LOOK_DONT_SYNC 0x4000 /* AT_STATX_DONT_SYNC, in whatever header */

/* The descriptor, or -errno. */
static int look_at(int folder, const char *path, unsigned int flags, struct statx *st)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC | flags, .resolve = RESOLVE_CACHED };
	int fd = syscall(SYS_openat2, folder, path, &how, sizeof(how)), err;

	if (fd < 0)
		return -errno;
	if (!syscall(SYS_statx, fd, "", AT_EMPTY_PATH | LOOK_DONT_SYNC, STATX_BASIC_STATS, st))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

static int64_t look_ns(const struct statx_timestamp *t)
{
	return t->tv_sec * 1000000000ll + t->tv_nsec;
}

static int look_see(const char *folder, const char *path, struct seen *s)
{
	struct statx st = { 0 };
	int at = look_at(AT_FDCWD, folder, O_DIRECTORY, &st), program;

	if (at < 0)
		return at;
	s->folder = (struct look_folder){
		.dev = makedev(st.stx_dev_major, st.stx_dev_minor),
		.ino = st.stx_ino,
		.mode = st.stx_mode,
		.uid = st.stx_uid,
		.gid = st.stx_gid,
	};
	program = look_at(at, path, 0, &st);
	close(at);
	if (program < 0)
		return program;
	close(program);
	s->program = (struct look_program){
		.dev = makedev(st.stx_dev_major, st.stx_dev_minor),
		.ino = st.stx_ino,
		.size = st.stx_size,
		.mtime_ns = look_ns(&st.stx_mtime),
		.ctime_ns = look_ns(&st.stx_ctime),
	};
	return S_ISREG(st.stx_mode) ? 0 : -EINVAL;
}

void look_make(const char *folder, const char *path, uint8_t out[LOOK_FRAME])
{
	struct seen s = { 0 };

	s.error = -look_see(folder, path, &s);
	frame_header(out, FRAME_SEEN, SEEN_SIZE);
	seen_encode(&s, out + FRAME_HEADER);
}
