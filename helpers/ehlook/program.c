// SPDX-License-Identifier: GPL-2.0-or-later
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "rights.h"

#define PROGRAM_BLOCK (256u << 10)
#define PROGRAM_LARGE (16u << 20) /* bytes */
#define PROGRAM_NICE 10

static struct look_program program_of(const struct stat *st)
{
	return (struct look_program){
		.dev = st->st_dev,
		.ino = st->st_ino,
		.size = st->st_size,
		.mtime_ns = st->st_mtim.tv_sec * 1000000000ll + st->st_mtim.tv_nsec,
		.ctime_ns = st->st_ctim.tv_sec * 1000000000ll + st->st_ctim.tv_nsec,
	};
}

static bool program_may(int fd, int how)
{
	return !syscall(SYS_faccessat2, fd, "", how, AT_EMPTY_PATH | AT_EACCESS);
}

/* Root may read everything: its programs are those that somebody may execute. */
static bool program_is_open(int fd)
{
	return program_may(fd, X_OK) || (geteuid() && program_may(fd, R_OK));
}

int program_find(const struct look_request *q, int folder, struct look_answer *a)
{
	char name[32];
	struct stat st;
	ssize_t n;
	int fd, err;

	if (q->path[0] != '/' && folder < 0)
		return -ENOENT;
	/* O_PATH opens neither devices nor FIFOs. */
	fd = openat(folder < 0 ? AT_FDCWD : folder, q->path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = 0;
	if (fstat(fd, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode))
		err = -EINVAL;
	else if (!program_is_open(fd))
		err = -EACCES;
	if (err) {
		close(fd);
		return err;
	}
	a->program = program_of(&st);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	n = readlink(name, a->real, sizeof(a->real) - 1);
	a->real[n > 0 ? n : 0] = '\0';
	return fd;
}

/*
 * For reading. A program that its user may only execute is read by root: he is told nothing but whether
 * another host has the same one.
 */
static int program_open(int program)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	char name[32];
	int fd, err;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", program);
	err = rights_take();
	if (err) {
		rights_drop();
		return err;
	}
	fd = open(name, flags);
	if (fd < 0 && errno == EACCES && program_may(program, X_OK)) {
		rights_drop();
		fd = open(name, flags);
	}
	if (fd < 0)
		fd = -errno;
	rights_drop();
	return fd;
}

void program_digest(const struct look_request *q, int program, struct look_answer *a)
{
	static uint8_t block[PROGRAM_BLOCK];
	static XXH3_state_t state;
	struct look_program after;
	const int nice = getpriority(PRIO_PROCESS, 0);
	XXH128_hash_t digest;
	bool lowered = false;
	uint64_t total = 0;
	struct stat st;
	ssize_t n;
	int fd;

	fd = program_open(program);
	if (fd < 0) {
		a->digest_error = -fd;
		return;
	}
	XXH3_128bits_reset(&state);
	while ((n = read(fd, block, sizeof(block))) > 0) {
		total += n;
		if (total > q->limit)
			break;
		/* An exec waits for this; but for a very large program nobody may wait so long. */
		if (total > PROGRAM_LARGE && !lowered)
			lowered = !setpriority(PRIO_PROCESS, 0, PROGRAM_NICE);
		XXH3_128bits_update(&state, block, n);
	}
	if (lowered)
		setpriority(PRIO_PROCESS, 0, nice);
	if (n)
		a->digest_error = n < 0 ? errno : EFBIG;
	else if (fstat(fd, &st))
		a->digest_error = errno;
	close(fd);
	if (a->digest_error)
		return;
	/* None for a file that changed while it was read. */
	after = program_of(&st);
	if (memcmp(&after, &a->program, sizeof(after))) {
		a->digest_error = EAGAIN;
		return;
	}
	digest = XXH3_128bits_digest(&state);
	a->digest[0] = digest.high64;
	a->digest[1] = digest.low64;
}
