// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Makes the kernel forget names. It wants the folder's lock for that, which may be
 * held by who waits for an answer of ours: so not in the loop.
 */

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "ehview.h"

struct forget {
	struct forget *next;
	struct fuse_session *session; /* NULL: a fence */
	fuse_ino_t folder;
	uint32_t ticket;
	size_t length;
	char name[];
};

static struct forget *forget_first, **forget_last = &forget_first;
static pthread_mutex_t forget_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t forget_more = PTHREAD_COND_INITIALIZER;

static void forget_put(struct fuse_session *session, fuse_ino_t folder, const char *name,
		       uint32_t ticket)
{
	size_t length = strlen(name);
	struct forget *f = malloc(sizeof(*f) + length + 1);

	if (!f)
		abort(); /* what is not forgotten would be wrong for ever */
	f->next = NULL;
	f->session = session;
	f->folder = folder;
	f->ticket = ticket;
	f->length = length;
	memcpy(f->name, name, length + 1);
	pthread_mutex_lock(&forget_lock);
	*forget_last = f;
	forget_last = &f->next;
	pthread_cond_signal(&forget_more);
	pthread_mutex_unlock(&forget_lock);
}

static void *forget_run(void *arg)
{
	struct forget *f;

	for (;;) {
		pthread_mutex_lock(&forget_lock);
		while (!forget_first)
			pthread_cond_wait(&forget_more, &forget_lock);
		f = forget_first;
		forget_first = f->next;
		if (!forget_first)
			forget_last = &forget_first;
		pthread_mutex_unlock(&forget_lock);
		if (f->session)
			fuse_lowlevel_notify_inval_entry(f->session, f->folder, f->name, f->length);
		else
			view_synced(f->ticket);
		free(f);
	}
	return NULL;
}

int forget_init(void)
{
	pthread_t thread;
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&thread, NULL, forget_run, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -err;
}

void forget_name(struct tree *t, const struct node *folder, const char *name)
{
	forget_put(t->session, node_ino(folder), name, 0);
}

void forget_fence(uint32_t ticket)
{
	forget_put(NULL, 0, "", ticket);
}
