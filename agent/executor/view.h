/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file view.h
 * The home node's files on the executor: a mount namespace for each peer and
 * user, with a file system of the kernel's for each of home's. The requests of one go
 * through a stream to a server that runs at home as that user: from a FUSE file system's
 * ehview to ehfiles (POST /v1/files), or from the kernel's 9p client to diod (POST /v1/9p).
 *
 *   view.c        the executor's views, and who uses them
 *   view_mount.c  makes the namespace of one
 *   view_fuse.c   its ehview
 *   tunnel.c   bytes between a socket and a stream, both sides
 *   view_serve.c  the home's side
 *
 * The namespace is a descriptor of the agent and nothing else: when that is
 * closed, also by the agent's death, and the last process in it has ended, the
 * kernel unmounts what is in it.
 */
#ifndef AGENT_EXECUTOR_VIEW_H
#define AGENT_EXECUTOR_VIEW_H

#include <sys/types.h>
#include "base/agent.h"
#include "net/h2_stream.h"
#include "wire/view.h"

/* ---- the executor ---- */

struct view_use {
	struct view_use *next;
	struct view_mounted *of; /**< NULL: none */
	/** trouble NULL: it can be entered; perhaps at once. Else it could not be made, or is lost: the use is over.
	 *  Comes last. */
	void (*news)(void *ctx, const char *trouble);
	void *ctx;
	uint32_t ticket; /**< of ehview's answer that it waits for; 0: none */
};

/** Why this node cannot show the files of others; NULL: it can. */
const char *view_trouble(void);
/** Starts to use the view of that home and user, which is made if there is none. 0 or -errno. */
int view_hold(struct view_use *use, struct peer *home, uid_t uid);
/** The task has ended: there is news (no trouble) when home sees all it did. False: it does so already. */
bool view_settle(struct view_use *use);
/** No news any more. An unused view is closed after `link-idle`. */
void view_release(struct view_use *use);
/** The mount namespace, once there was news. */
int view_namespace(const struct view_use *use);
void view_exit(void);

/* ---- view_mount.c ---- */

/** One file system of home's. */
struct view_tree {
	char *path; /**< where it is mounted there */
	int socket; /**< its server's; or what is mounted, if `is_mount` */
	bool is_mount;
};

#define VIEW_PINS 12 /**< folders that stay looked up */

struct view_mount {
	int pins[VIEW_PINS]; /**< descriptors in what was mounted */
	unsigned int npins;
	pid_t pid; /**< of the child that makes it; 0: none */
	int control; /**< becomes readable: view_mount_finish() */
};

/** Starts to mount these for a user; the first is the root. The sockets stay open here. 0 or -errno. */
int view_mount_start(struct view_mount *m, const struct view_tree *trees, size_t ntrees,
		     const char *user);
/** The namespace, or -1 with what went wrong in `why`. */
int view_mount_finish(struct view_mount *m, char *why, size_t size);
/**
 * Ends the child. Behind tunnel_close(), unless it has succeeded: what it has
 * mounted goes with it, and the kernel would ask home, through us, who wait here.
 */
void view_mount_cancel(struct view_mount *m);
/** The same holds for this. */
void view_mount_unpin(struct view_mount *m);

/* ---- view_fuse.c ---- */

/** Why there is none here; NULL: there may be. */
const char *view_fuse_trouble(void);

struct view_fuse {
	int devices[VIEW_TREES_MAX], homes[VIEW_TREES_MAX], forgets[VIEW_TREES_MAX];
	size_t ntrees;
	pid_t pid; /**< of ehview; 0: none */
	int control; /**< read for tickets */
};

/** One more file system, whose stream to home is `home`, which is taken over. What is mounted, or -errno. */
int view_fuse_add(struct view_fuse *f, int home);
/** Starts ehview for them, as this user. 0 or -errno. */
int view_fuse_start(struct view_fuse *f, uid_t uid);
/** 0 or -errno. */
int view_fuse_sync(const struct view_fuse *f, uint32_t ticket, bool ended);
/** A ticket that was answered, 0: none, or -errno: it is dead. */
int64_t view_fuse_synced(const struct view_fuse *f);
/** Ends it: what waits for it in the kernel gets errors. */
void view_fuse_stop(struct view_fuse *f);

/* ---- tunnel.c ---- */

struct evbuffer;

struct tunnel {
	int fd;
	struct h2_stream *stream;
	struct event *readable, *writable;
	struct evbuffer *held; /**< for fd; at most H2_WINDOW bytes */
	const uint8_t *first; /**< goes out before what comes from fd */
	size_t nfirst;
	/** One of its ends was closed, both are now. Comes last. */
	void (*closed)(void *ctx);
	void *ctx;
};

extern const struct h2_stream_ops tunnel_ops; /**< its ctx is a tunnel */
/** Takes over fd, also when it fails; the stream is left alone. 0 or -ENOMEM. */
int tunnel_open(struct tunnel *p, int fd, void (*closed)(void *ctx), void *ctx);
/** Closes both ends; `closed` is not called. */
void tunnel_close(struct tunnel *p);

/* ---- view_serve.c: home ---- */

/** Why this node cannot serve its files; NULL: it can. */
const char *serve_trouble(void);
/** Handler of POST /v1/mounts: the file systems that a view is made of. */
json_t *serve_mounts(struct peer *from, const json_t *body, int *status);
/** Handlers of POST /v1/files and /v1/9p. */
int serve_files(struct peer *from, struct h2_stream *s, const struct h2_stream_ops **ops,
		void **ctx);
int serve_9p(struct peer *from, struct h2_stream *s, const struct h2_stream_ops **ops, void **ctx);
void serve_exit(void);
/** handoff.c: whether a task of this user that sees home's files is at this peer. */
bool handoff_shows_home(const struct peer *to, uid_t uid);

#endif
