// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <event2/event.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/log.h"

#define KEEP_STACK (256 << 10)
#define KEEP_SLOW_MS 5000 /* after which the log says that the disk does not answer */
#define KEEP_END_MS 2000

struct keep_job {
	STAILQ_ENTRY(keep_job) link;
	struct keep_job *older; /* of the same file, which this one replaces */
	char *text; /* NULL: the file is removed */
	bool sync;
	int err;
	keep_done_fn done; /* the loop's alone, as `ctx` is: the thread has the rest */
	void *ctx;
	char path[];
};

STAILQ_HEAD(keep_jobs, keep_job);

struct keep {
	/* of the loop */
	struct event *told, *slow;
	unsigned int open; /* jobs that the thread has not done */
	uint64_t since; /* ms: it has done none, though there are some */
	bool said; /* that the disk does not answer */
	bool stuck; /* it was waited for in vain */
	pthread_t thread;
	int fd; /* an eventfd: something is done */

	pthread_mutex_t lock;
	pthread_cond_t more, less;
	struct keep_jobs waiting, done; /* under the lock, as the rest is */
	struct keep_job *busy;
	bool ends;
};

bool keep_path(const struct config *c, const char *name, char path[PATH_MAX])
{
	char directory[PATH_MAX];

	snprintf(directory, sizeof(directory), "%s", c->state);
	return snprintf(path, PATH_MAX, "%s/%s", dirname(directory), name) < PATH_MAX;
}

/* The directory of a file, which is made if it is not there. */
static const char *keep_directory(const char *path, char room[PATH_MAX])
{
	const char *directory;

	snprintf(room, PATH_MAX, "%s", path);
	directory = dirname(room);
	mkdir(directory, 0755);
	return directory;
}

void keep_make(const struct config *c)
{
	char room[PATH_MAX];

	keep_directory(c->state, room);
}

/* ---- a file, in the thread ---- */

static int keep_fill(const char *path, const char *text, bool sync)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	ssize_t length = strlen(text);
	int err = 0;

	if (fd < 0)
		return -errno;
	errno = EIO;
	if (write(fd, text, length) != length || (sync && fsync(fd)))
		err = -errno;
	if (close(fd) && !err)
		err = -errno;
	return err;
}

/* The new name, too, must be on disk. */
static int keep_sync(const char *directory)
{
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = fsync(fd) ? -errno : 0;
	close(fd);
	return err;
}

static int keep_do(const struct keep_job *job)
{
	char work[PATH_MAX], room[PATH_MAX];
	const char *directory;
	int err;

	if (!job->text)
		return unlink(job->path) && errno != ENOENT ? -errno : 0;
	if (snprintf(work, sizeof(work), "%s.new", job->path) >= PATH_MAX)
		return -ENAMETOOLONG;
	directory = keep_directory(job->path, room);
	err = keep_fill(work, job->text, job->sync);
	if (!err && rename(work, job->path))
		err = -errno;
	if (err)
		unlink(work);
	return err || !job->sync ? err : keep_sync(directory);
}

static void *keep_run(void *arg)
{
	const uint64_t one = 1;
	struct keep *k = arg;
	struct keep_job *job;

	pthread_mutex_lock(&k->lock);
	while (true) {
		while (STAILQ_EMPTY(&k->waiting) && !k->ends)
			pthread_cond_wait(&k->more, &k->lock);
		job = STAILQ_FIRST(&k->waiting);
		if (!job)
			break;
		STAILQ_REMOVE_HEAD(&k->waiting, link);
		k->busy = job;
		pthread_mutex_unlock(&k->lock);
		job->err = keep_do(job);
		pthread_mutex_lock(&k->lock);
		k->busy = NULL;
		STAILQ_INSERT_TAIL(&k->done, job, link);
		pthread_cond_signal(&k->less);
		/* it cannot fail: its number is far from the largest */
		(void)!write(k->fd, &one, sizeof(one));
	}
	pthread_mutex_unlock(&k->lock);
	return NULL;
}

/* ---- what was done ---- */

/* Tells all that wait for it, the first first. */
static void keep_tell(struct keep_job *job, int err)
{
	keep_done_fn done = job->done;

	if (job->older)
		keep_tell(job->older, err);
	job->done = NULL;
	if (done)
		done(job->ctx, err);
}

static void keep_free(struct keep_job *job)
{
	if (job->older)
		keep_free(job->older);
	if (job->text)
		explicit_bzero(job->text, strlen(job->text)); /* it may have a key in it */
	free(job->text);
	free(job);
}

static struct keep_job *keep_next_done(struct keep *k)
{
	struct keep_job *job;

	pthread_mutex_lock(&k->lock);
	job = STAILQ_FIRST(&k->done);
	if (job)
		STAILQ_REMOVE_HEAD(&k->done, link);
	pthread_mutex_unlock(&k->lock);
	return job;
}

static void keep_watch(struct keep *k)
{
	k->since = clock_ms();
	if (k->open)
		clock_arm(k->slow, KEEP_SLOW_MS);
	else
		evtimer_del(k->slow);
}

static void keep_collect(struct agent *agent)
{
	struct keep *k = agent->keep;
	struct keep_job *job;

	while ((job = keep_next_done(k))) {
		if (k->said)
			log_info("the disk of %s answers again, after %llu s", job->path,
				 (unsigned long long)(clock_ms() - k->since) / 1000);
		k->said = false;
		k->open--;
		keep_watch(k);
		keep_tell(job, job->err);
		keep_free(job);
	}
}

static void keep_on_told(evutil_socket_t fd, short what, void *arg)
{
	uint64_t n;

	(void)!read(fd, &n, sizeof(n));
	keep_collect(arg);
}

static void keep_on_slow(evutil_socket_t fd, short what, void *arg)
{
	struct agent *agent = arg;

	agent->keep->said = true;
	log_warning("the disk of %s has not answered for %d s: what must be on it first waits, as "
		    "invitations, revocations and a renewed certificate do; all else goes on",
		    agent->config->state, KEEP_SLOW_MS / 1000);
}

/* ---- what is asked for ---- */

/* The job of this file that the thread has not begun takes no more time. */
static void keep_put(struct keep *k, struct keep_job *job)
{
	struct keep_job *was;

	pthread_mutex_lock(&k->lock);
	STAILQ_FOREACH(was, &k->waiting, link)
		if (!strcmp(was->path, job->path))
			break;
	if (was) {
		STAILQ_REMOVE(&k->waiting, was, keep_job, link);
		job->sync |= was->sync;
		job->older = was;
	} else {
		k->open++;
	}
	STAILQ_INSERT_TAIL(&k->waiting, job, link);
	pthread_cond_signal(&k->more);
	pthread_mutex_unlock(&k->lock);
	if (k->open == 1 && !was)
		keep_watch(k);
}

static int keep_ask(struct agent *agent, const char *name, const char *text, bool sync,
		    keep_done_fn done, void *ctx)
{
	char path[PATH_MAX];
	struct keep_job *job;

	if (!keep_path(agent->config, name, path))
		return -ENAMETOOLONG;
	job = calloc(1, sizeof(*job) + strlen(path) + 1);
	if (!job)
		return -ENOMEM;
	job->text = text ? strdup(text) : NULL;
	if (text && !job->text) {
		free(job);
		return -ENOMEM;
	}
	strcpy(job->path, path);
	job->sync = sync;
	job->done = done;
	job->ctx = ctx;
	keep_put(agent->keep, job);
	return 0;
}

int keep_write(struct agent *agent, const char *name, const char *text, keep_done_fn done,
	       void *ctx)
{
	return keep_ask(agent, name, text, true, done, ctx);
}

int keep_note(struct agent *agent, const char *name, const char *text, keep_done_fn done, void *ctx)
{
	return keep_ask(agent, name, text, false, done, ctx);
}

int keep_remove(struct agent *agent, const char *name)
{
	return keep_ask(agent, name, NULL, false, NULL, NULL);
}

char *keep_read(const struct config *c, const char *name, size_t most)
{
	char path[PATH_MAX], *text = NULL;
	ssize_t n = -1;
	int fd, err;

	errno = ENAMETOOLONG;
	fd = keep_path(c, name, path) ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
	if (fd < 0)
		return NULL;
	text = malloc(most + 2);
	if (text)
		n = read(fd, text, most + 1);
	err = errno;
	close(fd);
	if (n >= 0 && (size_t)n <= most) {
		text[n] = '\0';
		return text;
	}
	free(text);
	errno = n > 0 ? EFBIG : err;
	return NULL;
}

/* ---- set-up ---- */

/* Signals are the loop's. */
static int keep_start(struct keep *k)
{
	pthread_condattr_t monotonic;
	pthread_attr_t small;
	sigset_t all, before;
	int err;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&k->lock, NULL);
	pthread_cond_init(&k->more, NULL);
	pthread_cond_init(&k->less, &monotonic);
	pthread_condattr_destroy(&monotonic);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, KEEP_STACK);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&k->thread, &small, keep_run, k);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&small);
	return -err;
}

int keep_init(struct agent *agent)
{
	struct keep *k = calloc(1, sizeof(*k));
	int err = -ENOMEM;

	if (!k)
		return -ENOMEM;
	STAILQ_INIT(&k->waiting);
	STAILQ_INIT(&k->done);
	k->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (k->fd < 0) {
		err = -errno;
		goto free_keep;
	}
	k->told = agent_watch(agent, k->fd, EV_READ | EV_PERSIST, keep_on_told, agent);
	k->slow = evtimer_new(agent->base, keep_on_slow, agent);
	if (!k->told || !k->slow)
		goto free_events;
	err = keep_start(k);
	if (err) {
		log_error("cannot start the thread that writes files beside %s: %s",
			  agent->config->state, strerror(-err));
		goto free_events;
	}
	agent->keep = k;
	return 0;

free_events:
	agent_free_event(&k->told);
	agent_free_event(&k->slow);
	close(k->fd);
free_keep:
	free(k);
	return err;
}

/* false: the thread has done nothing by then. */
static bool keep_wait(struct keep *k, const struct timespec *until)
{
	int err = 0;

	pthread_mutex_lock(&k->lock);
	while (STAILQ_EMPTY(&k->done) && !err)
		err = pthread_cond_timedwait(&k->less, &k->lock, until);
	pthread_mutex_unlock(&k->lock);
	return !err;
}

/* They are the loop's to call, whatever the thread does meanwhile. */
static void keep_give_up(struct agent *agent)
{
	struct keep *k = agent->keep;
	struct keep_job *job, *busy;
	struct keep_jobs waiting;

	log_error("the disk of %s does not answer: what was to be written last may be lost",
		  agent->config->state);
	k->stuck = true;
	pthread_mutex_lock(&k->lock);
	busy = k->busy;
	STAILQ_INIT(&waiting);
	STAILQ_CONCAT(&waiting, &k->waiting);
	pthread_mutex_unlock(&k->lock);
	if (busy)
		keep_tell(busy, -ETIMEDOUT);
	while ((job = STAILQ_FIRST(&waiting))) {
		STAILQ_REMOVE_HEAD(&waiting, link);
		k->open--;
		keep_tell(job, -ETIMEDOUT);
		keep_free(job);
	}
}

void keep_settle(struct agent *agent)
{
	struct keep *k = agent->keep;
	struct timespec until;

	if (!k)
		return;
	keep_collect(agent);
	k->stuck = k->stuck && k->open;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += KEEP_END_MS / 1000;
	while (k->open && !k->stuck)
		if (keep_wait(k, &until))
			keep_collect(agent);
		else
			keep_give_up(agent);
}

void keep_exit(struct agent *agent)
{
	struct keep *k = agent->keep;

	if (!k)
		return;
	keep_settle(agent);
	agent->keep = NULL;
	event_free(k->told);
	event_free(k->slow);
	/* The thread that waits for the disk goes on using the rest, until the process has ended. */
	if (k->stuck)
		return;
	pthread_mutex_lock(&k->lock);
	k->ends = true;
	pthread_cond_signal(&k->more);
	pthread_mutex_unlock(&k->lock);
	pthread_join(k->thread, NULL);
	pthread_cond_destroy(&k->less);
	pthread_cond_destroy(&k->more);
	pthread_mutex_destroy(&k->lock);
	close(k->fd);
	free(k);
}
