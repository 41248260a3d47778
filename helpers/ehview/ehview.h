/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file ehview.h
 * The executor's side of a view: a FUSE file system for each of home's, whose
 * requests go to an ehfiles there (wire/files.h). One loop; nothing waits for home but
 * the requests themselves.
 *
 * What home has told is kept, here and in the kernel, without a limit of time:
 * of each folder that is looked into home sends all entries and from then on what
 * changes. Opening a file always asks home; what is read stays in the kernel's
 * cache for as long as size and times at the next open are the same.
 *
 *   main.c    the file systems, the loop, what the agent asks
 *   call.c    requests under way to home
 *   node.c    files and folders that the kernel knows, and what is known of them
 *   look.c    looking up names; what home says has changed
 *   names.c   what is done to names and attributes
 *   data.c    open files
 *   forget.c  makes the kernel forget names, in a process that may wait for its locks
 */
#ifndef EHVIEW_H
#define EHVIEW_H

#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>
#include <uthash.h>
#include "helpers/common/stream.h"

#define VIEW_FOREVER 1e6 /**< seconds; home tells when it is over */

typedef struct files_message message;

/** Descriptors: 0 is the agent's; the i-th file system's /dev/fuse, its stream to home, a second /dev/fuse. */
#define FD_DEVICE(i) (3 * (int)(i) + 1)
#define FD_HOME(i) (3 * (int)(i) + 2)
#define FD_FORGET(i) (3 * (int)(i) + 3)

struct tree {
	unsigned int index;
	struct fuse_session *session;
	struct event *asked; /**< requests of the kernel */
	struct stream home;
	struct node *nodes, *root, *numbered; /**< by key; the root; folders by number */
	struct call *calls;
	uint64_t folders; /**< the last one's number */
	uint32_t handles, tags;
	uint32_t
		unsure; /**< the tag before a write or close; an answer to a later one shows that it was done */
	bool is_unsure;
	bool flush; /**< something should go out now */
	bool touched; /**< something may be kept of it */
	bool gone; /**< unmounted */
};

enum known { KNOWN_NOT, KNOWN_ASKED, KNOWN_UNWATCHED, KNOWN_PARTLY, KNOWN_ALL };
enum entry_state { ENTRY_UNKNOWN, ENTRY_THERE, ENTRY_NOT_THERE };

struct entry {
	struct node *folder;
	enum entry_state state;
	struct files_attr attr;
	struct node *node; /**< whose `at` this is, or NULL */
	UT_hash_handle hh;
	char name[];
};

struct node_key {
	uint64_t dev, ino;
};

struct node {
	struct node_key key;
	struct tree *tree;
	bool hashed; /**< what is found under this key is this file */
	uint64_t lookups; /**< the kernel's references */
	unsigned int refs; /**< ours */
	struct entry *at; /**< where it was last seen */
	struct files_attr attr;
	bool fresh; /**< attr is what home would say */
	/* a folder */
	uint64_t number; /**< home's for it; 0: not told yet */
	enum known known;
	unsigned int nentries;
	struct entry *entries;
	struct call *waiting; /**< lookups, for its list */
	/* a file */
	struct file *files;
	struct { /* of which the kernel has kept the content */
		bool valid;
		uint64_t size;
		struct files_time mtime, ctime;
	} content;
	UT_hash_handle hh, by_number;
};

struct file {
	struct file *next;
	struct node *node;
	uint32_t handle;
	bool writes;
	uint8_t *data; /**< all of it as it was when opened, or NULL */
	size_t length;
};

/* ---- call.c ---- */

struct call {
	uint32_t tag, op;
	UT_hash_handle hh;
	struct call *next; /**< of node->waiting */
	struct tree *tree;
	fuse_req_t req; /**< NULL: nobody waits */
	struct node *node, *other; /**< held */
	struct file *file;
	struct sync *sync;
	void (*done)(struct call *c,
		     const message *a); /**< a->error: errno; frees nothing of the call */
	char name[FILES_NAME_MAX + 1], text[FILES_NAME_MAX + 1];
	uint32_t flags;
	uint64_t size;
	struct event *later; /**< sends `again`, which it then was; while `waits` */
	message *again;
	bool waits;
};

/** A call that holds the nodes; NULL: the request was answered with ENOMEM. */
struct call *call_new(struct tree *t, fuse_req_t req, struct node *node, struct node *other);
/** Sends it; `done` is called once. */
void call_send(struct call *c, message *m, void (*done)(struct call *c, const message *a));
void call_free(struct call *c);
/** Sends what is not answered, with the next that is; or now, and then it is unsure whether it was done. */
void call_post(struct tree *t, const message *m);
void call_post_now(struct tree *t, const message *m);
int call_answered(struct tree *t, const message *a);
/** Empty, of this op. Valid until the next. */
message *call_message(enum files_op op);

/* ---- node.c ---- */

struct tree *tree_of(fuse_req_t req);
struct node *node_of(fuse_req_t req, fuse_ino_t ino);
fuse_ino_t node_ino(const struct node *n);
int node_init(struct tree *t);
struct node *node_hold(struct node *n);
void node_put(struct node *n);
/** The file that has these attributes, seen at `at`. NULL: no memory. */
struct node *node_get(struct entry *at, const struct files_attr *attr);
void node_forget(struct node *n, uint64_t lookups);
/** What was found under its key from now on is another file. */
void node_detach(struct node *n);
void node_move(struct node *n, struct entry *to);
/** Home said so just now. */
void node_refresh(struct node *n, const struct files_attr *attr);
/** Nothing is known of its attributes any more; the kernel is told if it may have them. */
void node_stale(struct node *n, bool tell);
/** Seconds for which the kernel may keep them. */
double node_attr_time(const struct node *n);
/** Says in a message what it is about: the node. False: it has no place (ESTALE). */
bool node_name(struct node *n, message *m);
/** The folder's number at home; 0: it has no place. */
uint64_t node_number(struct node *n);
/** Home does not know it under that number any more. */
void node_renumber(struct node *n);
struct entry *entry_find(struct node *folder, const char *name);
/** Made if there is none, as unknown. NULL: no memory. */
struct entry *entry_of(struct node *folder, const char *name);
/** The file that it leads to, if the kernel knows it. */
struct node *entry_node(struct entry *e);
void node_stat(const struct node *n, struct stat *st);

/* ---- look.c ---- */

void look_up(fuse_req_t req, fuse_ino_t parent, const char *name);
/** The file that home has under this name. NULL: no memory. */
struct node *look_node(struct node *folder, const char *name, const struct files_attr *attr);
/** Answers with it. `fi`: it is open as well. Not 0: nobody waited any more. */
int look_reply(fuse_req_t req, struct node *folder, struct node *n, struct fuse_file_info *fi);
/** Both. */
void look_answer(fuse_req_t req, struct node *folder, const char *name,
		 const struct files_attr *attr);
void look_news(struct tree *t, const message *m);
/** It is as with `state` now, by our own doing. */
void look_changed(struct node *folder, const char *name, enum entry_state state);
/** Home does not find it where it was. */
void look_lost(struct node *n);

/* ---- names.c, data.c ---- */

void names_ops(struct fuse_lowlevel_ops *ops);
void data_ops(struct fuse_lowlevel_ops *ops);
struct file *data_of(const struct fuse_file_info *fi);
/** The content will not be what the next open finds. */
void data_changed(struct node *n);
/** Answers a call that failed, also one whose folder home has lost. */
void names_error(struct call *c, int error);

/* ---- forget.c ---- */

/** Starts it; with the main process's event base already there, and no events in it. */
int forget_init(unsigned int ntrees);
void forget_name(struct tree *t, const struct node *folder, const char *name);
/** Behind all names before: four bytes to the agent. */
void forget_fence(uint32_t ticket);

/* ---- main.c ---- */

extern struct event_base *base;

#endif
