// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ehlook looks at programs and directories for its agent, with the rights of the user whose they are. It has
 * been started with a socket to the agent as descriptor 3, answers one request after the other, and ends with
 * its agent. A file system that does not answer holds up this process and nothing else: its agent starts another.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "helpers/common/device.h"
#include "program.h"
#include "rights.h"
#include "wire/view.h"

static int program = -1; /* of the last LOOK_AT */

static void main_drop(void)
{
	if (program >= 0)
		close(program);
	program = -1;
}

/* The descriptor of the directory, or -errno. */
static int main_open_folder(const struct look_request *q, int process)
{
	int fd;

	/* That of the process is open already: no rights are needed for it. */
	if (process >= 0)
		fd = openat(process, "cwd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	else if (q->folder[0] == '/')
		fd = open(q->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	else
		return -ENOENT;
	return fd < 0 ? -errno : fd;
}

static int main_describe_folder(int fd, struct look_answer *a)
{
	struct look_folder *f = &a->folder;
	char name[32];
	struct statfs fs;
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st))
		return -errno;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	n = readlink(name, a->folder_path, sizeof(a->folder_path) - 1);
	/* Outside of our root. */
	if (n <= 0 || a->folder_path[0] != '/')
		return -ENOENT;
	a->folder_path[n] = '\0';
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	f->mode = st.st_mode;
	f->uid = st.st_uid;
	f->gid = st.st_gid;
	f->mtime_ns = st.st_mtim.tv_sec * 1000000000ll + st.st_mtim.tv_nsec;
	f->ctime_ns = st.st_ctim.tv_sec * 1000000000ll + st.st_ctim.tv_nsec;
	/* Of 9p statfs() tells the type that the server has. */
	f->shared = (!fstatfs(fd, &fs) && view_several_hosts(fs.f_type)) ||
		    device_kind(st.st_dev) == DEVICE_SHARED;
	return 0;
}

static void main_look(const struct look_request *q, struct look_answer *a)
{
	int process = -1, folder = -1, err = 0;

	if (q->pid) {
		process = rights_open_process(q);
		if (process < 0)
			err = process;
		else
			/* With root's rights: the process may be one that its user may not trace. */
			folder = main_open_folder(q, process);
	}
	if (!err)
		err = rights_find(q, process);
	if (!err)
		err = rights_take();
	if (!err && !q->pid)
		folder = main_open_folder(q, -1);
	if (!err)
		a->folder_error = folder < 0 ? -folder : -main_describe_folder(folder, a);
	else
		a->folder_error = -err;
	if (!err) {
		program = program_find(q, folder, a);
		err = program < 0 ? program : 0;
	}
	a->program_error = -err;
	rights_drop();
	if (folder >= 0)
		close(folder);
	if (process >= 0)
		close(process);
}

/* Handles a request. False: the agent has gone. */
static bool main_serve(struct look_request *q, struct look_answer *a)
{
	ssize_t n = recv(LOOK_SOCKET, q, sizeof(*q), 0);

	if (n < 0 && errno == EINTR)
		return true;
	if (n != sizeof(*q) || q->version != LOOK_VERSION)
		return false;
	q->folder[LOOK_PATH - 1] = q->path[LOOK_PATH - 1] = '\0';
	if (q->what != LOOK_DIGEST) {
		main_drop();
		memset(a, 0, sizeof(*a));
	}
	if (q->what == LOOK_DROP)
		return true;
	if (q->what == LOOK_AT)
		main_look(q, a);
	else if (program < 0)
		a->digest_error = EBADF;
	else
		program_digest(q, program, a);
	return send(LOOK_SOCKET, a, sizeof(*a), MSG_NOSIGNAL) == sizeof(*a);
}

int main(void)
{
	static struct look_request q;
	static struct look_answer a;

	umask(077);
	rights_begin();
	while (main_serve(&q, &a))
		;
	return 0;
}
