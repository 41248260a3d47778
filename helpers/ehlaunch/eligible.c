// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Says whether a process may leave this host, whatever program it is to run elsewhere, where the module is not there to say it. All
 * of its threads are looked at, each of which may be confined by itself; those that begin meanwhile are as the ones that
 * started them. A process cannot undo what confines it, so that it changes after the look does not matter.
 */
#include "eligible.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "caller.h"
#include "confined.h"

#define ELIGIBLE_THREADS 32 /* as the module: an agent must not hold up others with one process */

enum { ELIGIBLE_FD_CLIENT = LAUNCH_FD_NEWS + 1, ELIGIBLE_FDS };

bool eligible_is_good(const struct request *r)
{
	return r->length == sizeof(r->eligible) && r->nfds == ELIGIBLE_FDS;
}

/* One thread. It may have been the parent of one that is not in the list: if it has gone, nothing is known. */
static int eligible_look(int threads, const char *name, const struct caller *caller,
			 struct confined *found)
{
	int folder = openat(threads, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err;

	if (folder < 0)
		return -errno;
	err = confined_look(folder, strtol(name, NULL, 10), caller->uid, found);
	close(folder);
	return err;
}

/* The first reason that one of its threads has. 0 or -errno. */
static int eligible_find(const struct caller *caller, struct confined *found)
{
	int fd = openat(caller->folder, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	int err = dir ? 0 : -errno, n = 0;
	struct dirent *d;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return err;
	}
	while (!err && found->reason == EHS_REASON_NONE && (d = readdir(dir))) {
		if (*d->d_name == '.')
			continue;
		err = ++n > ELIGIBLE_THREADS ? -E2BIG : eligible_look(fd, d->d_name, caller, found);
	}
	closedir(dir);
	return err || n ? err : -ESRCH;
}

static int eligible_judge(const struct caller *caller, struct confined *found)
{
	int err = eligible_find(caller, found);

	/* A stub would take its place, and reap no child of others. */
	if (!err && found->reason == EHS_REASON_NONE && caller->pid == 1) {
		found->reason = EHS_REASON_INIT;
		snprintf(found->text, sizeof(found->text), "it is the init process");
	}
	/* Else it was read of another one with its number. */
	return err ?: caller_lives(caller) ? 0 : -ESRCH;
}

int eligible_answer(const struct request *r)
{
	struct launch_judged told = { .reason = EHS_REASON_CONFINED };
	struct confined found = { .reason = EHS_REASON_NONE };
	struct caller caller;
	int err = caller_find(r->fds[ELIGIBLE_FD_CLIENT], r->eligible.came, &caller);

	if (!err) {
		err = eligible_judge(&caller, &found);
		caller_drop(&caller);
	}
	told.news.stage = err ? LAUNCH_UNSEEN : LAUNCH_READY;
	told.news.error = -err;
	if (!err) {
		told.reason = found.reason;
		snprintf(told.text, sizeof(told.text), "%s", found.text);
	}
	request_answer(r->fds[LAUNCH_FD_NEWS], &told, sizeof(told), NULL, 0);
	return 0;
}
