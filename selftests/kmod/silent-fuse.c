// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * silent-fuse MOUNT CMD…: mounts a FUSE file system on MOUNT, with one executable
 * file, "stub". It answers until that file has been opened once, and then never
 * again. Runs CMD with the open file as descriptor 3 until SIGTERM. The end of the
 * file system comes first then, because a process cannot close the file before.
 * Speaks the protocol itself, because a library would answer more.
 *
 * silent-fuse dirty MOUNT CMD…: answers to all but what is written. CMD has no
 * descriptor of it. On SIGUSR1 the file gets a page that is never written, so that
 * who closes it has to write it, and CMD is killed at once.
 *
 * silent-fuse slow TARGET MOUNT: "stub" is a symbolic link to TARGET, and each
 * look-up of it takes a while.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/fuse.h>

#define ROOT 1
#define STUB 2
#define LOOKUP_US 20000

static int dev;
static bool dirty;
static const char *target; /* of the link */

static void __attribute__((noreturn)) die(const char *what)
{
	fprintf(stderr, "silent-fuse: %s: %s\n", what, strerror(errno));
	exit(125);
}

static void answer(uint64_t unique, int err, const void *data, size_t size)
{
	struct fuse_out_header out = { .len = sizeof(out) + size, .error = -err, .unique = unique };
	struct iovec parts[] = { { &out, sizeof(out) }, { (void *)data, size } };

	if (writev(dev, parts, 2) < 0)
		die("answer");
}

static struct fuse_attr attr_of(uint64_t node)
{
	return (struct fuse_attr){
		.ino = node,
		.mode = node == ROOT ? S_IFDIR | 0755 : (target ? S_IFLNK : S_IFREG) | 0755,
		.nlink = 1,
		.size = 4096,
		.uid = getuid(),
		.gid = getgid(),
	};
}

/* Return: whether that was the last one to be answered. */
static int serve_one(void)
{
	static _Alignas(8) char buffer[1 << 17];
	const struct fuse_in_header *in = (void *)buffer;
	struct fuse_init_out init = { .major = 7,
				      .minor = 31,
				      .max_write = 4096,
				      .flags = dirty ? FUSE_WRITEBACK_CACHE : 0 };
	struct fuse_entry_out entry = { .nodeid = STUB, .attr = attr_of(STUB) };
	struct fuse_attr_out attr;
	struct fuse_open_out opened = { 0 };

	if (read(dev, buffer, sizeof(buffer)) < 0)
		die("read");
	switch (in->opcode) {
	case FUSE_INIT:
		answer(in->unique, 0, &init, sizeof(init));
		return 0;
	case FUSE_LOOKUP:
		if (strcmp((char *)(in + 1), "stub"))
			answer(in->unique, ENOENT, NULL, 0);
		else if (!target || !usleep(LOOKUP_US))
			answer(in->unique, 0, &entry, sizeof(entry));
		return 0;
	case FUSE_READLINK:
		answer(in->unique, 0, target, strlen(target));
		return 0;
	case FUSE_GETATTR:
		attr = (struct fuse_attr_out){ .attr = attr_of(in->nodeid) };
		answer(in->unique, 0, &attr, sizeof(attr));
		return 0;
	case FUSE_OPEN:
		answer(in->unique, 0, &opened, sizeof(opened));
		return !dirty;
	case FUSE_WRITE:
	case FUSE_SETATTR:
	case FUSE_FORGET:
		return 0;
	default:
		answer(in->unique, ENOSYS, NULL, 0);
		return 0;
	}
}

/* A page of the file is written here, and never there. */
static void make_dirty(const char *path)
{
	static const char page[4096];
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0 || write(fd, page, sizeof(page)) != sizeof(page))
		die(path);
}

int main(int argc, char **argv)
{
	char options[128], path[4096];
	pid_t server, child;
	sigset_t term;
	int fd, sig;

	if (argc > 1 && !strcmp(argv[1], "dirty")) {
		dirty = true;
		argv++;
		argc--;
	}
	if (argc == 4 && !strcmp(argv[1], "slow")) {
		target = argv[2];
		argv += 2;
		argc -= 2;
	} else if (argc < 3) {
		return 2;
	}
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigaddset(&term, SIGUSR1);
	if (sigprocmask(SIG_BLOCK, &term, NULL))
		die("signals");
	dev = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (dev < 0)
		die("/dev/fuse");
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=%u,group_id=%u", dev,
		 getuid(), getgid());
	if (mount("silent", argv[1], "fuse", MS_NOSUID | MS_NODEV, options))
		die(argv[1]);
	server = fork();
	if (!server) {
		while (!serve_one())
			;
		for (;;)
			pause();
	}
	close(dev);
	snprintf(path, sizeof(path), "%s/stub", argv[1]);
	child = fork();
	if (!child) {
		if (target)
			pause();
		fd = dirty ? 3 : open(path, O_RDONLY);
		if (fd < 0 || (fd != 3 && dup2(fd, 3) < 0))
			die(path);
		execv(argv[2], argv + 2);
		die(argv[2]);
	}
	if (server < 0 || child < 0)
		die("start");
	while (!sigwait(&term, &sig) && sig == SIGUSR1) {
		make_dirty(path);
		kill(child, SIGKILL);
	}
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return 0;
}
