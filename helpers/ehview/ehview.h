/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file ehview.h
 * The executor's side of a view: a FUSE file system for each one of home, whose
 * requests go to an ehfiles there (wire/files.h). One loop; only the requests wait
 * for home.
 *
 * What home has reported is kept, here and in the kernel, without a time limit:
 * home sends all entries of each directory in which a name is looked up, and from then
 * on its changes. Opening a file always asks home; content stays in the kernel's
 * cache as long as size and times are the same at the next open.
 *
 *   main.c    the file systems, the loop, what the agent asks
 *   call.c    requests under way to home
 *   node.c    files and directories that the kernel refers to, and what is known of them
 *   look.c    looking up names, and the changes that home reports
 *   names.c   operations on names and attributes
 *   owner.c   whose files are, and new ones
 *   data.c    open files
 *   forget.c  makes the kernel forget names, in a process that may wait for the kernel's locks
 */
#ifndef EHVIEW_H
#define EHVIEW_H

#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>
#include <uthash.h>
#include "helpers/common/stream.h"

#define VIEW_FOREVER 1e6 /**< seconds; home reports changes */

typedef struct files_message message;

/** Descriptors: 0 leads to the agent; then, for each file system, /dev/fuse, the stream to home and a
 *  second /dev/fuse. */
#define FD_DEVICE(i) (3 * (int)(i) + 1)
#define FD_HOME(i) (3 * (int)(i) + 2)
#define FD_FORGET(i) (3 * (int)(i) + 3)

struct tree {
	unsigned int index;
	struct fuse_session *session;
	struct event *asked; /**< requests of the kernel */
	struct stream home;
	struct node *nodes, *root, *numbered; /**< by key; the root; directories by number */
	struct call *calls;
	uint64_t folders; /**< number of the last directory */
	uint32_t handles, tags;
	uint32_t
		unsure; /**< last tag before a write or close: an answer to a later tag shows that it was done */
	bool is_unsure; /**< no such answer has come yet */
	bool flush; /**< something should be sent now */
	bool touched; /**< something was sent to home */
	bool gone; /**< unmounted */
};

enum known { KNOWN_NOT, KNOWN_ASKED, KNOWN_UNWATCHED, KNOWN_PARTLY, KNOWN_ALL };
enum entry_state { ENTRY_UNKNOWN, ENTRY_THERE, ENTRY_NOT_THERE };

struct entry {
	struct node *folder;
	enum entry_state state;
	struct files_attr attr;
	struct node *node; /**< the node to which it leads, whose `at` it is, or NULL */
	UT_hash_handle hh;
	char name[];
};

struct node_key {
	uint64_t dev, ino;
};

struct node {
	struct node_key key;
	struct tree *tree;
	bool hashed; /**< it is found by its key */
	uint64_t lookups; /**< the kernel's references */
	unsigned int refs; /**< ours */
	struct entry *at; /**< the name under which it was last seen */
	struct files_attr attr;
	bool fresh; /**< attr is what home would answer */
	/* a directory */
	uint64_t number; /**< by which home knows it; 0: none yet */
	enum known known;
	unsigned int nentries;
	struct entry *entries;
	struct call *waiting; /**< lookups that wait for its list */
	/* a file */
	struct file *files;
	bool locked; /**< by fcntl(), perhaps not any more */
	struct { /* size and times of the content in the kernel's cache */
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
	bool sync; /**< write() waits for home */
	uint64_t unsure; /**< bytes that were written since home was asked for errors */
	int64_t unsure_ms; /**< when the first of these were */
	uint8_t *data; /**< all of it as it was when opened, or NULL */
	size_t length;
};

/* ---- call.c ---- */

struct call {
	uint32_t tag, op;
	UT_hash_handle hh;
	struct call *next; /**< of node->waiting */
	struct tree *tree;
	fuse_req_t req; /**< NULL: no request waits for it */
	struct node *node, *other; /**< held */
	struct file *file;
	struct sync *sync;
	void (*done)(struct call *c,
		     const message *a); /**< a->error: errno; must not free the call */
	char name[FILES_NAME_MAX + 1], text[FILES_NAME_MAX + 1];
	uint32_t flags;
	uint64_t size, offset;
	uint8_t *data; /**< of a write that waits */
	struct files_attr made; /**< a new file, before it is given to its owner */
	void (*then)(struct call *c, const message *a); /**< as done, when that is done */
	struct event *later; /**< timer that sends `again`, while `waits` */
	message *again;
	bool waits;
};

/** A call that holds the nodes; NULL: the request was answered with ENOMEM. */
struct call *call_new(struct tree *t, fuse_req_t req, struct node *node, struct node *other);
/** Sends it; `done` is called once. */
void call_send(struct call *c, message *m, void (*done)(struct call *c, const message *a));
void call_free(struct call *c);
/** Sends a message without an answer, together with the next request; or now, and then it is `unsure`
 *  whether it was done. */
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
/** The file with these attributes, which was seen at `at`. NULL: no memory. */
struct node *node_get(struct entry *at, const struct files_attr *attr);
void node_forget(struct node *n, uint64_t lookups);
/** From now on its key and its name belong to another file, or to none. */
void node_detach(struct node *n);
void node_move(struct node *n, struct entry *to);
/** Home has just reported these attributes. */
void node_refresh(struct node *n, const struct files_attr *attr);
/** Its attributes are unknown from now on; with `tell` the kernel drops them too. */
void node_stale(struct node *n, bool tell);
/** Seconds for which the kernel may keep them. */
double node_attr_time(const struct node *n);
/** Puts the node into a message, as what it is about. False: it has no place (ESTALE). */
bool node_name(struct node *n, message *m);
/** The directory's number at home; 0: it has no place. */
uint64_t node_number(struct node *n);
/** Home no longer knows it by that number. */
void node_renumber(struct node *n);
struct entry *entry_find(struct node *folder, const char *name);
/** A new entry is unknown. NULL: no memory. */
struct entry *entry_of(struct node *folder, const char *name);
/** It no longer leads to the file to which it led. */
void entry_lose(struct entry *e);
/** The file that it leads to, if the kernel refers to it. */
struct node *entry_node(struct entry *e);
void node_stat(const struct node *n, struct stat *st);

/* ---- look.c ---- */

void look_up(fuse_req_t req, fuse_ino_t parent, const char *name);
/** The file that has this name at home. NULL: no memory. */
struct node *look_node(struct node *folder, const char *name, const struct files_attr *attr);
/** Answers a lookup with the node; with `fi` the file is opened too. Not 0: the request was gone. */
int look_reply(fuse_req_t req, struct node *folder, struct node *n, struct fuse_file_info *fi);
/** look_node() and look_reply(). */
void look_answer(fuse_req_t req, struct node *folder, const char *name,
		 const struct files_attr *attr);
void look_news(struct tree *t, const message *m);
/** An operation from here has changed the name, which now is in this state. */
void look_changed(struct node *folder, const char *name, enum entry_state state);
/** Home did not find it where it was. */
void look_lost(struct node *n);

/* ---- names.c, data.c ---- */

void names_ops(struct fuse_lowlevel_ops *ops);
void data_ops(struct fuse_lowlevel_ops *ops);
struct file *data_of(const struct fuse_file_info *fi);
/** The content in the kernel's cache is out of date at the next open. */
void data_changed(struct node *n);
/** Answers a call that failed, also because home no longer knows the directory. */
void names_error(struct call *c, int error);

/* ---- owner.c ---- */

/** The number that the user of the view has at home. */
void owner_is(uid_t home);
/** The number here of an owner at home, or the other way round. */
uid_t owner_swap(uid_t uid);

/** To be called with the answer to the making of c->name in c->node. True: home was asked to give it to
 *  the user who made it, and `done` is called again with the answer to that. */
bool owner_settle(struct call *c, const message *a, void (*done)(struct call *c, const message *a));

/* ---- forget.c ---- */

/** Starts the process. The event base must exist and have no events. */
int forget_init(unsigned int ntrees);
void forget_name(struct tree *t, const struct node *folder, const char *name);
/** After all names before it are forgotten, sends the ticket (four bytes) to the agent. */
void forget_fence(uint32_t ticket);

/* ---- main.c ---- */

extern struct event_base *base;

#endif
