// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ehfiles: any sequence of requests of an executor, worked on in a directory of nobody's, as nobody. What
 * is outside of it stays as it was, and each answer is a message that ehview takes.
 */
#include <stdio.h>
#include <sys/fsuid.h>

int files_main(int argc, char **argv);

#define main files_main
#include "helpers/ehfiles/main.c"
#undef main

#include <dirent.h>
#include <event2/buffer.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOBODY 65534
#define OUTSIDE "outside"

static char top[] = "/dev/shm/ehs-fuzz-home-XXXXXX", served[64];
static int outside = -1;

static void empty(int dir)
{
	DIR *d = fdopendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (!unlinkat(dir, e->d_name, 0))
			continue;
		(void)!fchmodat(dir, e->d_name, 0700, 0);
		empty(openat(dir, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
		unlinkat(dir, e->d_name, AT_REMOVEDIR);
	}
	if (d)
		closedir(d);
	else if (dir >= 0)
		close(dir);
}

static void over(void)
{
	empty(open(served, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	rmdir(served);
	unlinkat(outside, OUTSIDE, 0);
	rmdir(top);
}

static void prepare(void)
{
	if (!mkdtemp(top) || chmod(top, 0755))
		exit(1);
	snprintf(served, sizeof(served), "%s/home", top);
	outside = open(top, O_PATH | O_CLOEXEC);
	/* all may write to it: only where it is protects it */
	close(openat(outside, OUTSIDE, O_CREAT | O_WRONLY | O_CLOEXEC, 0666));
	must(!fchmodat(outside, OUTSIDE, 0666, 0));
	if (mkdir(served, 0777) || chown(served, NOBODY, NOBODY))
		exit(1);
	atexit(over);
	base = event_base_new();
	out.message = files_on_message;
	out.read = files_on_read;
	out.broke = files_on_broke;
	if (!base || folder_init(served) || watch_init(base, &out))
		exit(1);
}

static void fill(void)
{
	int dir = open(served, O_PATH | O_CLOEXEC);

	mkdirat(dir, "d", 0755);
	close(openat(dir, "f", O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
	if (symlinkat("../" OUTSIDE, dir, "l") || symlinkat("..", dir, "up"))
		must(errno == EEXIST);
	close(dir);
}

/* The program ends with its only stream. */
static void end_stream(void)
{
	event_free(out.readable);
	event_free(out.writable);
	evbuffer_free(out.in);
	evbuffer_free(out.out);
	evbuffer_free(out.from);
	evbuffer_free(out.to);
	free(out.link.memory);
	close(out.fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct files_message m;
	struct stat st;
	long length;
	int pair[2];

	if (!base)
		prepare();
	setfsgid(NOBODY);
	setfsuid(NOBODY);
	fill();
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) ||
	    stream_open(&out, base, pair[0]))
		exit(1);
	while ((length = files_length(data, size)) > 0 && (size_t)length <= size) {
		if (files_decode(&m, data, length) || files_on_message(NULL, &m))
			break;
		data += length;
		size -= length;
		event_base_loop(base, EVLOOP_NONBLOCK);
	}
	end_stream();
	close(pair[1]);
	empty(open(served, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	setfsuid(0);
	setfsgid(0);
	must(!fstatat(outside, OUTSIDE, &st, AT_SYMLINK_NOFOLLOW) && !st.st_size &&
	     (st.st_mode & 07777) == 0666 && st.st_nlink == 1);
	return 0;
}
