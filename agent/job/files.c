// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Whether two nodes have the same program and directory. A digest is cached while size and times of the
 * program do not change, and computed once for all who ask for it at the same time.
 */

#include "job/files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>
#include <utlist.h>

#include "base/agent.h"
#include "base/clock.h"
#include "helpers/common/device.h"
#include "wire/seen.h"

#define FILES_CACHE 1024 /* entries, one per hash value */
#define FILES_HEX 33
#define FILES_ANYBODY UINT64_MAX

struct files_key {
	struct look_program program;
	uint64_t whom; /* FILES_ANYBODY, or a user to whom ehlook has shown it */
};

struct files_entry {
	struct files_key key;
	char digest[FILES_HEX];
	bool valid;
};

/* A program that is being read. */
struct files_digest {
	struct files_digest *next;
	struct agent *agent;
	struct look *look;
	struct look_program key;
};

struct files_question {
	struct files_question *next;
	struct agent *agent;
	struct look *look; /* until it is found; NULL: waits for `digest` */
	struct files_digest *digest;
	files_identity_fn identify; /* one of the two is set */
	files_result_fn compare;
	void *ctx;
	uid_t uid;
	json_t *program, *folder; /* compare: the peer's; identify: folder is ours */
	struct look_program key; /* ours */
	char *real, *folder_path;
};

struct files {
	struct files_entry cache[FILES_CACHE];
	struct files_digest *digests;
	struct files_question *questions;
};

static struct files *files_begin(struct agent *agent)
{
	if (!agent->files)
		agent->files = calloc(1, sizeof(*agent->files));
	return agent->files;
}

static struct files_entry *files_slot(struct files *f, const struct files_key *key)
{
	return &f->cache[XXH3_64bits(key, sizeof(*key)) % FILES_CACHE];
}

/* The digest, or NULL. */
static const char *files_cached(struct files *f, const struct look_program *program, uint64_t whom)
{
	const struct files_key key = { *program, whom };
	const struct files_entry *e = files_slot(f, &key);

	return e->valid && !memcmp(&e->key, &key, sizeof(key)) ? e->digest : NULL;
}

static void files_keep(struct files *f, const struct look_program *program, uint64_t whom,
		       const char *digest)
{
	const struct files_key key = { *program, whom };
	struct files_entry *e = files_slot(f, &key);

	/* The two keys of a program may share a slot: then it is the entry's own. */
	if (digest == e->digest)
		return;
	e->key = key;
	memcpy(e->digest, digest, sizeof(e->digest));
	e->valid = true;
}

/* ---- descriptions ---- */

static json_t *files_describe_program(const struct look_program *p, const char *digest)
{
	return json_pack("{s:s,s:I,s:I,s:I,s:s}", "boot_id", clock_boot_id(), "dev",
			 (json_int_t)p->dev, "ino", (json_int_t)p->ino, "size", (json_int_t)p->size,
			 "digest", digest);
}

/* Agents of before take directories with the same times for the same: so none has these. */
static json_t *files_describe_folder(const char *path, const struct look_folder *f)
{
	return json_pack("{s:s,s:s,s:I,s:I,s:i,s:I,s:I,s:I,s:I,s:b}", "path", path, "boot_id",
			 clock_boot_id(), "dev", (json_int_t)f->dev, "ino", (json_int_t)f->ino,
			 "mode", (int)f->mode, "uid", (json_int_t)f->uid, "gid", (json_int_t)f->gid,
			 "mtime", (json_int_t)-1, "ctime", (json_int_t)-1, "shared",
			 (int)f->shared);
}

static bool files_same_boot(const char *there)
{
	return *there && !strcmp(there, clock_boot_id());
}

static bool files_same_folder(const json_t *there, const struct look_folder *here)
{
	json_int_t dev, ino, uid, gid;
	const char *boot;
	int mode, shared;

	if (json_unpack((json_t *)there, "{s:s,s:I,s:I,s:i,s:I,s:I,s:b}", "boot_id", &boot, "dev",
			&dev, "ino", &ino, "mode", &mode, "uid", &uid, "gid", &gid, "shared",
			&shared))
		return false;
	/* The same kernel, so the numbers identify the directory. */
	if (files_same_boot(boot) && here->dev == (uint64_t)dev && here->ino == (uint64_t)ino)
		return true;
	/*
	 * A network file system: each host has its own device numbers, but inode numbers are the
	 * server's. Two servers that use the same number for the same path, mode and owner are not
	 * told apart. Times would tell, but attribute caches make them differ for a moment on the
	 * same directory too.
	 *
	 * Copies on disks of their own are never the same, however alike: what the task writes
	 * would not be at home.
	 */
	return shared && here->shared && here->ino == (uint64_t)ino &&
	       here->mode == (uint32_t)mode && here->uid == (uid_t)uid && here->gid == (gid_t)gid;
}

/* Whether a program that a peer describes may be ours; then *digest is its. */
static bool files_may_be_same(const json_t *there, const struct look_program *here,
			      const char **digest, bool *surely)
{
	json_int_t dev, ino, size;
	const char *boot;

	if (json_unpack((json_t *)there, "{s:s,s:I,s:I,s:I,s:s}", "boot_id", &boot, "dev", &dev,
			"ino", &ino, "size", &size, "digest", digest))
		return false;
	/* Another node on the same kernel: the same file. */
	*surely = files_same_boot(boot) && here->dev == (uint64_t)dev && here->ino == (uint64_t)ino;
	return here->size == (uint64_t)size;
}

/* FILES_UNKNOWN: they are if the program here has *digest. */
static enum files_result files_judge(const struct look_folder *folder_here, const json_t *folder,
				     const struct look_program *program_here, const json_t *program,
				     const char **digest)
{
	bool surely;

	if (!files_same_folder(folder, folder_here))
		return FILES_FOLDER_DIFFERS;
	if (!files_may_be_same(program, program_here, digest, &surely))
		return FILES_PROGRAM_DIFFERS;
	return surely ? FILES_SAME : FILES_UNKNOWN;
}

/*
 * ---- what an end has seen ----
 *
 * A process may claim to see what its user may not read. So it counts only if ehlook, with the rights of
 * this user, has seen the same: nobody learns by a claim whether a file of others is the one he guesses.
 */

/*
 * False: ehlook must be asked. The kernel's memory of a program is right where nobody else changes it;
 * of a directory only what hardly changes is compared.
 */
static bool files_seen(const struct seen *said, struct look_folder *folder)
{
	const enum device_kind kind = said->error ? DEVICE_UNKNOWN : device_kind(said->folder.dev);

	*folder = said->folder;
	folder->shared = kind == DEVICE_SHARED;
	return kind != DEVICE_UNKNOWN && device_kind(said->program.dev) == DEVICE_LOCAL;
}

bool files_identify_seen(struct agent *agent, const struct seen *said, uid_t uid, const char *path,
			 json_t **program, json_t **folder)
{
	struct files *f = files_begin(agent);
	struct look_folder here;
	const char *digest;

	*program = *folder = NULL;
	if (!f || !files_seen(said, &here))
		return false;
	digest = files_cached(f, &said->program, uid);
	if (!digest)
		return false;
	*program = files_describe_program(&said->program, digest);
	*folder = files_describe_folder(path, &here);
	if (*program && *folder)
		return true;
	/* a path that is not UTF-8 cannot be told */
	json_decref(*program);
	json_decref(*folder);
	*program = *folder = NULL;
	return false;
}

enum files_result files_compare_seen(struct agent *agent, const struct seen *said, uid_t uid,
				     const json_t *program, const json_t *folder)
{
	struct files *f = files_begin(agent);
	const char *digest, *known;
	struct look_folder here;
	enum files_result result;

	if (!f || !files_seen(said, &here))
		return FILES_UNKNOWN;
	result = files_judge(&here, folder, &said->program, program, &digest);
	known = result == FILES_UNKNOWN ? files_cached(f, &said->program, uid) : NULL;
	if (known)
		result = strcmp(known, digest) ? FILES_PROGRAM_DIFFERS : FILES_SAME;
	return result;
}

/* ---- questions ---- */

/* Takes it out of the list. Questions that were asked for it alone are not waited for. */
void files_cancel(struct files_question *q)
{
	struct files *f = q->agent->files;
	struct files_question *other;
	struct files_digest *d = q->digest;

	LL_DELETE(f->questions, q);
	if (q->look)
		look_end(q->look);
	for (other = f->questions; d && other && other->digest != d; other = other->next)
		;
	if (d && !other) {
		LL_DELETE(f->digests, d);
		look_end(d->look);
		free(d);
	}
	json_decref(q->program);
	json_decref(q->folder);
	free(q->real);
	free(q->folder_path);
	free(q);
}

static void files_answer(struct files_question *q, const struct files_identity *identity,
			 enum files_result result, const char *trouble)
{
	files_identity_fn identify = q->identify;
	files_result_fn compare = q->compare;
	void *ctx = q->ctx;

	/* The identity it is told is q's. */
	if (identify)
		identify(ctx, identity, trouble);
	files_cancel(q);
	if (compare)
		compare(ctx, result, trouble);
}

static void files_fail(struct files_question *q, const char *trouble)
{
	files_answer(q, NULL, FILES_PROGRAM_DIFFERS, trouble);
}

static void files_on_digest_known(struct files_question *q, const char *digest)
{
	struct files_identity identity = { .folder = q->folder,
					   .real = q->real,
					   .folder_path = q->folder_path };
	const char *there;
	bool surely;

	files_keep(q->agent->files, &q->key, q->uid, digest);
	if (q->compare) {
		files_answer(q, NULL,
			     files_may_be_same(q->program, &q->key, &there, &surely) &&
					     !strcmp(there, digest)
				     ? FILES_SAME
				     : FILES_PROGRAM_DIFFERS,
			     NULL);
		return;
	}
	q->program = identity.program = files_describe_program(&q->key, digest);
	if (identity.program)
		files_answer(q, &identity, FILES_SAME, NULL);
	else
		files_fail(q, strerror(ENOMEM));
}

/* One that waits for this program, or NULL. */
static struct files_question *files_waiting(struct files *f, const struct files_digest *d)
{
	struct files_question *q;

	for (q = f->questions; q && q->digest != d; q = q->next)
		;
	return q;
}

static void files_on_digest(void *ctx, const struct look_answer *a, const char *trouble)
{
	struct files_digest *d = ctx;
	struct files *f = d->agent->files;
	struct files_question *q;
	char digest[FILES_HEX] = "";

	if (a && a->digest_error)
		trouble = strerror(a->digest_error);
	if (a && !trouble) {
		snprintf(digest, sizeof(digest), "%016" PRIx64 "%016" PRIx64, a->digest[0],
			 a->digest[1]);
		files_keep(f, &d->key, FILES_ANYBODY, digest);
	}
	LL_DELETE(f->digests, d);
	look_end(d->look);
	while ((q = files_waiting(f, d))) {
		q->digest = NULL;
		if (trouble)
			files_fail(q, trouble);
		else
			files_on_digest_known(q, digest);
	}
	free(d);
}

/* The program was found: its digest is known, or computed. In the call of its look. */
static void files_want_digest(struct files_question *q)
{
	struct files *f = q->agent->files;
	const char *known = files_cached(f, &q->key, FILES_ANYBODY);
	struct files_digest *d;

	if (known) {
		files_on_digest_known(q, known);
		return;
	}
	if (q->key.size > q->agent->config->digest_limit << 20) {
		files_fail(q, "the program is larger than digest-limit");
		return;
	}
	for (d = f->digests; d; d = d->next)
		if (!memcmp(&d->key, &q->key, sizeof(d->key)))
			break;
	if (d) {
		look_end(q->look);
		q->look = NULL;
		q->digest = d;
		return;
	}
	d = calloc(1, sizeof(*d));
	if (!d) {
		files_fail(q, strerror(ENOMEM));
		return;
	}
	d->agent = q->agent;
	d->key = q->key;
	d->look = q->look;
	LL_PREPEND(f->digests, d);
	q->look = NULL;
	q->digest = d;
	look_digest(d->look, files_on_digest, d);
}

/* Whether there is more to ask for; otherwise it is answered. */
static bool files_compare_found(struct files_question *q, const struct look_answer *a)
{
	enum files_result result;
	const char *digest;

	if (a->folder_error)
		result = FILES_FOLDER_DIFFERS;
	else if (a->program_error)
		result = FILES_PROGRAM_DIFFERS;
	else
		result = files_judge(&a->folder, q->folder, &a->program, q->program, &digest);
	if (result != FILES_UNKNOWN)
		files_answer(q, NULL, result, NULL);
	return result == FILES_UNKNOWN;
}

/* A user learns from nobody's rights but his own whether there is such a file. */
static bool files_identify_found(struct files_question *q, const struct look_answer *a)
{
	if (a->folder_error) {
		files_fail(q, "cannot examine its working directory");
		return false;
	}
	if (a->program_error) {
		files_fail(q, "cannot read the program on this node");
		return false;
	}
	q->folder = files_describe_folder(a->folder_path, &a->folder);
	q->real = strdup(a->real);
	q->folder_path = strdup(a->folder_path);
	if (q->folder && q->real && q->folder_path)
		return true;
	files_fail(q, "cannot send its path: not UTF-8");
	return false;
}

static void files_on_found(void *ctx, const struct look_answer *a, const char *trouble)
{
	struct files_question *q = ctx;

	if (!a) {
		files_fail(q, trouble);
		return;
	}
	q->key = a->program;
	if (q->compare ? files_compare_found(q, a) : files_identify_found(q, a))
		files_want_digest(q);
}

static struct files_question *files_ask(struct agent *agent, const struct look_question *ask,
					const char **trouble)
{
	struct files *f = files_begin(agent);
	struct files_question *q = f ? calloc(1, sizeof(*q)) : NULL;

	*trouble = strerror(ENOMEM);
	if (!q)
		return NULL;
	q->agent = agent;
	q->uid = ask->uid;
	q->look = look_start(agent, ask, files_on_found, q, trouble);
	if (!q->look) {
		free(q);
		return NULL;
	}
	LL_PREPEND(f->questions, q);
	return q;
}

struct files_question *files_identify(struct agent *agent, const struct look_question *ask,
				      files_identity_fn done, void *ctx, const char **trouble)
{
	struct files_question *q = files_ask(agent, ask, trouble);

	if (!q)
		return NULL;
	q->identify = done;
	q->ctx = ctx;
	return q;
}

struct files_question *files_compare(struct agent *agent, const struct look_question *ask,
				     json_t *program, json_t *folder, files_result_fn done,
				     void *ctx, const char **trouble)
{
	struct files_question *q = files_ask(agent, ask, trouble);

	if (!q)
		return NULL;
	q->compare = done;
	q->ctx = ctx;
	q->program = json_incref(program);
	q->folder = json_incref(folder);
	return q;
}

void files_exit(struct agent *agent)
{
	struct files *f = agent->files;

	if (f) {
		while (f->questions)
			/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it takes itself out of the list */
			files_fail(f->questions, "the agent ends");
		free(f);
	}
	agent->files = NULL;
	looks_exit(agent);
}
