/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file admit.h
 * Whether this node takes a task of another one, and if not, why: users, labels, memory.
 */
#ifndef AGENT_EXECUTOR_ADMIT_H
#define AGENT_EXECUTOR_ADMIT_H

#include <jansson.h>
#include <linux/ehsched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct agent;
struct label_wish;
struct peer;

#define ADMIT_TEXT_MAX (EHS_PATH_MAX + 256)

/** Why a task is refused. */
struct admit_refusal {
	enum ehs_reason reason;
	uint64_t memory_left; /**< bytes that a task may take here; 0: none, or not said */
	char text[ADMIT_TEXT_MAX];
};

/** Fills in why. The functions below return false after that. */
void __attribute__((format(printf, 3, 4)))
admit_refuse(struct admit_refusal *out, enum ehs_reason reason, const char *format, ...);
/** Tasks of this user; `user`: its name at home, "": none; `is`: its number here. ehlaunch has the last word. */
bool admit_user(const struct agent *agent, uid_t uid, const char *user, uid_t *is,
		struct admit_refusal *no);
/** The same, of the time that a member may take for names. */
bool admit_user_of(struct peer *from, uid_t uid, const char *user, uid_t *is,
		   struct admit_refusal *no);
#define ADMIT_USERS 16 /**< in one question */
/** Handler of POST /v1/users: of users of that home, which are others here, as a request for a place is told. */
json_t *admit_on_users(struct agent *agent, struct peer *from, const json_t *body, int *status);
/** Tasks of this home. */
bool admit_node(const struct agent *agent, const char *host, struct admit_refusal *no);
/** One more of a home that has this number of guests and reservations. */
bool admit_more_of(const struct agent *agent, unsigned int has, const char *home,
		   struct admit_refusal *no);
/** One more of a user who has this number of guests and reservations. */
bool admit_more(const struct agent *agent, unsigned int has, const char *user,
		struct admit_refusal *no);
/** What must run on nodes with these labels, or must not. */
bool admit_labels(const struct agent *agent, const struct label_wish *wish,
		  struct admit_refusal *no);
/**
 * By the memory that is left. `wanted`: bytes that the task is expected to take; 0: not known. *left is
 * what a task may take here at most: 0 if there is nothing for any.
 */
bool admit_memory(struct agent *agent, uint64_t wanted, struct admit_refusal *no, uint64_t *left);

#endif
