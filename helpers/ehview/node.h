/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file node.h  Files and directories that the kernel refers to, and what is known of them. */
#ifndef EHVIEW_NODE_H
#define EHVIEW_NODE_H

#include "tree.h"

#define VIEW_FOREVER 1e6 /**< seconds; home reports changes */

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
/** The same, to ask for this name in it; 0: the request was answered with an error. */
uint64_t node_number_for(fuse_req_t req, struct node *folder, const char *name);
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

/** The number that the user of the view has at home. */
void node_user_is(uid_t home);
/** The number here of an owner at home, or the other way round. */
uid_t node_owner(uid_t uid);

#endif
