// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Makes the kernel forget names. For that the kernel takes the directory's lock,
 * which a process that waits for our answer may hold; so a process of its own does
 * it. A thread would keep our devices open, and with them the kernel's requests,
 * after the other threads are killed; the process has devices of its own.
 */
#include "forget.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <event2/buffer.h>
#include <linux/fuse.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* A name to be forgotten, or with a device of -1 a fence. */
struct forget {
	int32_t device;
	uint32_t ticket;
	uint64_t folder;
	uint32_t length;
	char name[FILES_NAME_MAX + 1];
};

static int forget_socket;
static struct evbuffer *forget_out;
static struct event *forget_writable;

static void forget_one(const struct forget *f)
{
	struct fuse_notify_inval_entry_out entry = { .parent = f->folder, .namelen = f->length };
	struct fuse_out_header head = {
		.len = sizeof(head) + sizeof(entry) + f->length + 1,
		.error = FUSE_NOTIFY_INVAL_ENTRY,
	};
	struct iovec all[] = {
		{ &head, sizeof(head) },
		{ &entry, sizeof(entry) },
		{ (char *)f->name, f->length + 1 },
	};

	/* the kernel need not know the name */
	if (writev(f->device, all, 3) < 0 && errno == ENODEV)
		_exit(0);
}

static void __attribute__((noreturn)) forget_run(int socket, pid_t parent)
{
	struct forget f;

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent)
		_exit(0);
	while (recv(socket, &f, sizeof(f), MSG_WAITALL) == sizeof(f))
		if (f.device >= 0)
			forget_one(&f);
		else if (send(0, &f.ticket, sizeof(f.ticket), MSG_NOSIGNAL) < 0)
			break;
	_exit(0);
}

static void forget_flush(void)
{
	while (evbuffer_get_length(forget_out)) {
		if (evbuffer_write(forget_out, forget_socket) > 0)
			continue;
		if (errno != EAGAIN && errno != EINTR)
			exit(1); /* names that are not forgotten would stay wrong */
		event_add(forget_writable, NULL);
		return;
	}
}

static void forget_on_writable(evutil_socket_t fd, short what, void *arg)
{
	forget_flush();
}

int forget_init(struct event_base *base, unsigned int ntrees)
{
	pid_t self = getpid(), pid;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -errno;
	pid = fork();
	if (!pid) {
		/* keeps only the agent's descriptor and devices of its own */
		for (unsigned int i = 0; i < ntrees; i++) {
			close(FD_DEVICE(i));
			close(FD_HOME(i));
		}
		close(pair[0]);
		forget_run(pair[1], self);
	}
	close(pair[1]);
	if (pid < 0)
		return -EAGAIN;
	for (unsigned int i = 0; i < ntrees; i++)
		close(FD_FORGET(i));
	forget_socket = pair[0];
	evutil_make_socket_nonblocking(forget_socket);
	forget_out = evbuffer_new();
	forget_writable = event_new(base, forget_socket, EV_WRITE, forget_on_writable, NULL);
	return forget_out && forget_writable ? 0 : -ENOMEM;
}

static void forget_put(const struct forget *f)
{
	if (evbuffer_add(forget_out, f, sizeof(*f)))
		exit(1);
	forget_flush();
}

void forget_name(const struct tree *t, fuse_ino_t folder, const char *name)
{
	struct forget f;

	memset(&f, 0, sizeof(f));
	f.device = FD_FORGET(t->index);
	f.folder = folder;
	f.length = strlen(name);
	memcpy(f.name, name, f.length);
	forget_put(&f);
}

void forget_fence(uint32_t ticket)
{
	struct forget f;

	memset(&f, 0, sizeof(f));
	f.device = -1;
	f.ticket = ticket;
	forget_put(&f);
}
