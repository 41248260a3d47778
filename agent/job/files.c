// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Whether two nodes have the same program and directory. A program is identified by a digest of its
 * content, which a worker thread computes. It is cached while size and times do not change.
 */

#include "job/files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <xxhash.h>
#include <jansson.h>
#include <event2/event.h>

#include "base/agent.h"
#include "base/clock.h"
#include "base/log.h"
#include "wire/view.h"

#define FILES_CACHE 1024 /* entries, one per hash value, 80 bytes each */
#define FILES_QUEUE_MAX 256
#define FILES_BLOCK (256u << 10)
#define FILES_DEVICE_MS 10000

/* Changes whenever the content of a file does. */
struct files_key {
	uint64_t dev, ino, size;
	int64_t mtime, ctime;
};

struct files_entry {
	struct files_key key;
	XXH128_hash_t digest;
	bool valid;
};

/* Waits for a digest; `digest` is NULL if there is none. */
struct files_wait {
	struct files_wait *next;
	void (*done)(void *ctx, const struct files_key *key, const XXH128_hash_t *digest);
	void *ctx;
};

struct files_work {
	struct files_work *next;
	struct files_key key;
	int fd;
	struct files_wait *waits; /* for the loop only */
	XXH128_hash_t digest; /* for the worker only, until it has finished */
	bool good;
};

struct files {
	struct files_entry *cache;
	struct files_work *open; /* all work in progress; for the loop only */
	unsigned int open_count;
	struct event *done;
	pthread_t worker;

	pthread_mutex_t lock;
	pthread_cond_t more;
	/* protected by the lock: work to do and done */
	struct {
		struct files_work *work;
		bool finished;
	} ring[FILES_QUEUE_MAX];
	unsigned int put, taken, back;
	bool over; /* the worker must end */
	int event; /* the worker has finished some work */
};

static int64_t files_ns(const struct timespec *t)
{
	return t->tv_sec * 1000000000ll + t->tv_nsec;
}

static struct files_key files_key(const struct stat *st)
{
	return (struct files_key){
		.dev = st->st_dev,
		.ino = st->st_ino,
		.size = st->st_size,
		.mtime = files_ns(&st->st_mtim),
		.ctime = files_ns(&st->st_ctim),
	};
}

static struct files_entry *files_slot(struct files *f, const struct files_key *key)
{
	return &f->cache[XXH3_64bits(key, sizeof(*key)) % FILES_CACHE];
}

static const XXH128_hash_t *files_cached(struct files *f, const struct files_key *key)
{
	const struct files_entry *e = f ? files_slot(f, key) : NULL;

	return e && e->valid && !memcmp(&e->key, key, sizeof(*key)) ? &e->digest : NULL;
}

/* ---- the worker ---- */

static bool files_over(struct files *f)
{
	bool over;

	pthread_mutex_lock(&f->lock);
	over = f->over;
	pthread_mutex_unlock(&f->lock);
	return over;
}

static bool files_digest(struct files *f, struct files_work *w, XXH3_state_t *state, uint8_t *block)
{
	struct files_key after;
	struct stat st;
	ssize_t n = -1;

	XXH3_128bits_reset(state);
	while (!files_over(f) && (n = read(w->fd, block, FILES_BLOCK)) > 0)
		XXH3_128bits_update(state, block, n);
	if (n != 0 || fstat(w->fd, &st))
		return false;
	/* No digest for a file that changed while it was read. */
	after = files_key(&st);
	w->digest = XXH3_128bits_digest(state);
	return !memcmp(&after, &w->key, sizeof(after));
}

/* Waits for the next file to digest. -1: the agent ends. */
static int files_next(struct files *f)
{
	int at;

	pthread_mutex_lock(&f->lock);
	while (f->taken == f->put && !f->over)
		pthread_cond_wait(&f->more, &f->lock);
	at = f->over ? -1 : (int)(f->taken++ % FILES_QUEUE_MAX);
	pthread_mutex_unlock(&f->lock);
	return at;
}

static void *files_work(void *arg)
{
	XXH3_state_t *state = XXH3_createState();
	uint8_t *block = malloc(FILES_BLOCK);
	const uint64_t one = 1;
	struct files *f = arg;
	int at;

	while ((at = files_next(f)) >= 0) {
		struct files_work *w = f->ring[at].work;

		w->good = state && block && files_digest(f, w, state, block);

		pthread_mutex_lock(&f->lock);
		f->ring[at].finished = true;
		pthread_mutex_unlock(&f->lock);
		if (write(f->event, &one, sizeof(one)) != sizeof(one))
			log_error("cannot report the digest of a program: %s", strerror(errno));
	}
	XXH3_freeState(state);
	free(block);
	return NULL;
}

static void files_finish(struct files *f, struct files_work *w)
{
	struct files_work **at;
	struct files_wait *wait;
	struct files_entry *e;

	for (at = &f->open; *at != w; at = &(*at)->next)
		;
	*at = w->next;
	f->open_count--;
	close(w->fd);
	if (w->good) {
		e = files_slot(f, &w->key);
		e->key = w->key;
		e->digest = w->digest;
		e->valid = true;
	}
	while ((wait = w->waits)) {
		w->waits = wait->next;
		wait->done(wait->ctx, &w->key, w->good ? &w->digest : NULL);
		free(wait);
	}
	free(w);
}

static void files_on_done(evutil_socket_t fd, short what, void *arg)
{
	struct files *f = arg;
	uint64_t n;

	if (read(f->event, &n, sizeof(n)) != sizeof(n))
		return;
	for (;;) {
		struct files_work *w = NULL;

		pthread_mutex_lock(&f->lock);
		if (f->back != f->taken && f->ring[f->back % FILES_QUEUE_MAX].finished)
			w = f->ring[f->back++ % FILES_QUEUE_MAX].work;
		pthread_mutex_unlock(&f->lock);
		if (!w)
			return;
		files_finish(f, w);
	}
}

static int files_start_worker(struct files *f)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int err;

	/* The loop handles all signals. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 128 << 10);
	err = pthread_create(&f->worker, &attr, files_work, f);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err ? -ENOMEM : 0;
}

/* Starts with the first digest, so that an idle agent has one thread only. */
static int files_start(struct agent *agent)
{
	struct files *f;

	if (agent->files)
		return 0;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->more, NULL);
	f->cache = calloc(FILES_CACHE, sizeof(*f->cache));
	if (!f->cache)
		goto free_files;
	f->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (f->event < 0)
		goto free_cache;
	f->done = event_new(agent->base, f->event, EV_READ | EV_PERSIST, files_on_done, f);
	if (!f->done || event_add(f->done, NULL) || files_start_worker(f))
		goto close_event;
	agent->files = f;
	return 0;

close_event:
	if (f->done)
		event_free(f->done);
	close(f->event);
free_cache:
	free(f->cache);
free_files:
	pthread_cond_destroy(&f->more);
	pthread_mutex_destroy(&f->lock);
	free(f);
	return -ENOMEM;
}

void files_exit(struct agent *agent)
{
	struct files *f = agent->files;

	if (!f)
		return;
	pthread_mutex_lock(&f->lock);
	f->over = true;
	pthread_cond_signal(&f->more);
	pthread_mutex_unlock(&f->lock);
	pthread_join(f->worker, NULL);
	agent->files = NULL;
	/* Callers that still wait get no digest. */
	while (f->open) {
		f->open->good = false;
		files_finish(f, f->open);
	}
	event_free(f->done);
	close(f->event);
	free(f->cache);
	pthread_cond_destroy(&f->more);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

/* Takes over fd. `done` is called once, perhaps at once. */
static void files_ask(struct agent *agent, int fd, const struct files_key *key,
		      void (*done)(void *ctx, const struct files_key *key,
				   const XXH128_hash_t *digest),
		      void *ctx)
{
	const XXH128_hash_t *known = files_cached(agent->files, key);
	struct files_wait *wait = NULL;
	struct files_work *w;
	struct files *f;

	if (known) {
		done(ctx, key, known);
		goto close_fd;
	}
	if (files_start(agent))
		goto fail;
	f = agent->files;
	wait = calloc(1, sizeof(*wait));
	if (!wait)
		goto fail;
	wait->done = done;
	wait->ctx = ctx;
	for (w = f->open; w; w = w->next)
		if (!memcmp(&w->key, key, sizeof(*key)))
			break;
	if (w) {
		wait->next = w->waits;
		w->waits = wait;
		goto close_fd;
	}
	w = f->open_count < FILES_QUEUE_MAX ? calloc(1, sizeof(*w)) : NULL;
	if (!w)
		goto fail;
	w->key = *key;
	w->fd = fd;
	w->waits = wait;
	w->next = f->open;
	f->open = w;
	f->open_count++;
	pthread_mutex_lock(&f->lock);
	f->ring[f->put % FILES_QUEUE_MAX].work = w;
	f->ring[f->put++ % FILES_QUEUE_MAX].finished = false;
	pthread_cond_signal(&f->more);
	pthread_mutex_unlock(&f->lock);
	return;

fail:
	free(wait);
	done(ctx, key, NULL);
close_fd:
	close(fd);
}

/* ---- programs ---- */

struct files_program {
	files_fn done;
	void *ctx;
};

static char *files_hex(const XXH128_hash_t *digest, char out[33])
{
	snprintf(out, 33, "%016" PRIx64 "%016" PRIx64, (uint64_t)digest->high64,
		 (uint64_t)digest->low64);
	return out;
}

static void files_on_program(void *ctx, const struct files_key *key, const XXH128_hash_t *digest)
{
	struct files_program *p = ctx;
	json_t *identity = NULL;
	char hex[33];

	if (digest)
		identity = json_pack("{s:s,s:I,s:I,s:I,s:s}", "boot_id", clock_boot_id(), "dev",
				     (json_int_t)key->dev, "ino", (json_int_t)key->ino, "size",
				     (json_int_t)key->size, "digest", files_hex(digest, hex));
	p->done(p->ctx, identity);
	json_decref(identity);
	free(p);
}

/* Opens a regular file, or returns -1. O_NONBLOCK, because the path may name a FIFO or device. */
static int files_open_program(const char *path, struct files_key *key)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return -1;
	}
	*key = files_key(&st);
	return fd;
}

void files_program(struct agent *agent, const char *path, pid_t pid, files_fn done, void *ctx)
{
	struct files_program *p;
	struct files_key key;
	char full[PATH_MAX + 32];
	int fd;

	if (pid > 0 && path[0] != '/') {
		snprintf(full, sizeof(full), "/proc/%d/cwd/%s", (int)pid, path);
		path = full;
	}
	p = calloc(1, sizeof(*p));
	fd = p ? files_open_program(path, &key) : -1;
	if (fd < 0) {
		free(p);
		done(ctx, NULL);
		return;
	}
	p->done = done;
	p->ctx = ctx;
	files_ask(agent, fd, &key, files_on_program, p);
}

struct files_same {
	files_same_fn done;
	void *ctx;
	char digest[33];
};

static void files_on_same(void *ctx, const struct files_key *key, const XXH128_hash_t *digest)
{
	struct files_same *same = ctx;
	char hex[33];

	same->done(same->ctx, digest && !strcmp(files_hex(digest, hex), same->digest));
	free(same);
}

static bool files_same_boot(const char *there)
{
	return *there && !strcmp(there, clock_boot_id());
}

void files_same_program(struct agent *agent, const json_t *there, const char *path,
			files_same_fn done, void *ctx)
{
	const char *boot, *digest;
	struct files_same *same;
	struct files_key key;
	json_int_t dev, ino, size;
	int fd;

	if (json_unpack((json_t *)there, "{s:s,s:I,s:I,s:I,s:s}", "boot_id", &boot, "dev", &dev,
			"ino", &ino, "size", &size, "digest", &digest) ||
	    strlen(digest) != 32) {
		done(ctx, false);
		return;
	}
	fd = files_open_program(path, &key);
	if (fd < 0 || key.size != (uint64_t)size)
		goto differ;
	/* Another node on the same kernel: the same file. */
	if (files_same_boot(boot) && key.dev == (uint64_t)dev && key.ino == (uint64_t)ino) {
		close(fd);
		done(ctx, true);
		return;
	}
	same = calloc(1, sizeof(*same));
	if (!same)
		goto differ;
	same->done = done;
	same->ctx = ctx;
	memcpy(same->digest, digest, sizeof(same->digest));
	files_ask(agent, fd, &key, files_on_same, same);
	return;

differ:
	if (fd >= 0)
		close(fd);
	done(ctx, false);
}

/* ---- folders ---- */

static bool files_type_is_shared(const char *path)
{
	struct statfs fs;

	return !statfs(path, &fs) && view_several_hosts(fs.f_type);
}

/*
 * On a network file system statfs() asks the server, so the answer is kept for each device; not for
 * long, because another mount may get the same number.
 */
static bool files_is_shared(const char *path, dev_t dev)
{
	static struct files_device {
		dev_t dev;
		uint64_t until;
		bool shared;
	} known[8];
	static unsigned int next;
	struct files_device *d;
	uint64_t now = clock_ms();

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].dev == dev && known[i].until > now)
			return known[i].shared;
	d = &known[next++ % (sizeof(known) / sizeof(known[0]))];
	*d = (struct files_device){ dev, now + FILES_DEVICE_MS, files_type_is_shared(path) };
	return d->shared;
}

json_t *files_folder(const char *path)
{
	char real[PATH_MAX];
	struct stat st;
	ssize_t n;

	/* The target of /proc/PID/cwd, for people and for the other side. */
	n = readlink(path, real, sizeof(real) - 1);
	if (n < 0 && strlen(path) < sizeof(real))
		n = stpcpy(real, path) - real;
	if (n < 0 || real[0] != '/' || stat(path, &st) || !S_ISDIR(st.st_mode))
		return NULL;
	real[n] = '\0';
	return json_pack(
		"{s:s,s:s,s:I,s:I,s:i,s:I,s:I,s:I,s:I,s:b}", "path", real, "boot_id",
		clock_boot_id(), "dev", (json_int_t)st.st_dev, "ino", (json_int_t)st.st_ino, "mode",
		(int)st.st_mode, "uid", (json_int_t)st.st_uid, "gid", (json_int_t)st.st_gid,
		"mtime", (json_int_t)files_ns(&st.st_mtim), "ctime",
		(json_int_t)files_ns(&st.st_ctim), "shared", (int)files_is_shared(path, st.st_dev));
}

bool files_same_folder(const json_t *there, const char *path)
{
	json_int_t dev, ino, uid, gid, mtime, ctime;
	const char *boot;
	struct stat st;
	int mode, shared;

	if (json_unpack((json_t *)there, "{s:s,s:I,s:I,s:i,s:I,s:I,s:I,s:I,s:b}", "boot_id", &boot,
			"dev", &dev, "ino", &ino, "mode", &mode, "uid", &uid, "gid", &gid, "mtime",
			&mtime, "ctime", &ctime, "shared", &shared) ||
	    stat(path, &st) || !S_ISDIR(st.st_mode))
		return false;
	/* The same kernel, so the numbers identify the directory. */
	if (files_same_boot(boot) && st.st_dev == (dev_t)dev && st.st_ino == (ino_t)ino)
		return true;
	if (st.st_mode != (mode_t)mode || st.st_uid != (uid_t)uid || st.st_gid != (gid_t)gid)
		return false;
	/*
	 * A network file system: each host has its own device numbers, but inode numbers are the
	 * server's. Two servers that use the same number for the same path, mode and owner are not
	 * told apart. Times would tell, but attribute caches make them differ for a moment on the
	 * same directory too.
	 */
	if (shared && files_is_shared(path, st.st_dev))
		return st.st_ino == (ino_t)ino;
	/*
	 * Local copies of one image (a read-only lower layer, hosts installed alike): equal if
	 * nobody has changed the directory's entries since. A directory that was changed has its
	 * own ctime.
	 */
	return files_ns(&st.st_mtim) == mtime && files_ns(&st.st_ctim) == ctime;
}
