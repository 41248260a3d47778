/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file directory.h
 * Questions about users, groups and hosts, as name services have them (nsswitch.conf(5)). Such a service may
 * take as long as it likes: so the agent has them answered by ehnames, a process of its own.
 */
#ifndef HELPERS_COMMON_DIRECTORY_H
#define HELPERS_COMMON_DIRECTORY_H

#include <stddef.h>
#include <stdint.h>

#define DIRECTORY_SOCKET 3 /**< of ehnames to its agent: SOCK_SEQPACKET */
#define DIRECTORY_NAME 64 /**< bytes of the longest name, with its NUL; a longer one is not known */
#define DIRECTORY_GROUPS 8192
#define DIRECTORY_AT_ONCE 4 /**< questions: one that is not answered holds up no others */

enum directory_kind {
	DIRECTORY_UID, /**< the user of this number */
	DIRECTORY_USER, /**< of this name */
	DIRECTORY_GID, /**< the group of this number, and whether `member` is one of it */
	DIRECTORY_GROUP, /**< of this name, likewise */
	DIRECTORY_GROUPS_OF, /**< the groups of the user of this name, whose first one is `number` */
	DIRECTORY_HOST, /**< the addresses of the host of this name */
	DIRECTORY_KINDS
};

#define DIRECTORY_ADDRESSES 8 /**< of a host, at most */
#define DIRECTORY_ADDRESS_WORDS 5 /**< family, and address in network order */

struct directory_question {
	uint32_t serial, kind, number;
	char name[DIRECTORY_NAME], member[DIRECTORY_NAME];
};

/** As long as it has groups. */
struct directory_answer {
	uint32_t serial; /**< of the question */
	int32_t error; /**< 0, or -ENOENT: not known, or not said */
	uint32_t number, group; /**< of the user or group; the first group of a user */
	uint32_t is_member;
	char name[DIRECTORY_NAME];
	/** of a host DIRECTORY_ADDRESS_WORDS for each of its addresses */
	uint32_t ngroups, groups[DIRECTORY_GROUPS];
};

/** Asks the name services, and waits for them. */
void directory_look(const struct directory_question *q, struct directory_answer *a);
/** Bytes of an answer. */
size_t directory_size(const struct directory_answer *a);

#endif
