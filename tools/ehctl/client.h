/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file client.h  Requests to the agent of this node, over its local socket. */
#ifndef EHCTL_CLIENT_H
#define EHCTL_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <jansson.h>

#include "wire/wish.h"

/** A connection to the agent, or -1 after a message; with `quiet` there is none if nobody answers. Sets errno; EAGAIN:
 *  the agent hangs. */
int client_connect(bool quiet);
/** Sends a request, whose reference it takes over. 0, or -1 after a message. */
int client_send(int fd, json_t *request);
/** The next document. NULL after a message; if `end` is given, also NULL at the end, with *end set.
 *  An error reply is printed, and *code is the exit code it stands for. */
json_t *client_receive(int fd, int *code, bool *end);
/** The same, but an error reply is returned: client_refused() prints it, and sets *code. */
json_t *client_hear(int fd, int *code, bool *end);
bool client_refused(const json_t *reply, int *code);
/** Waits until there is an answer to read, as long as the agent answers others. False: it does not. */
bool client_wait(int fd);
/** One request (taken over), one reply. NULL after a message, with *code set. An agent that hangs is not
 *  waited for. */
json_t *client_ask(json_t *request, int *code);
/** The same for a command that also prints text: with `json` the reply is printed here, and NULL is
 *  returned with *code set to the outcome. */
json_t *client_ask_text(json_t *request, bool json, int *code);

/** The host that is the node at this member: `host` for "node", else NAME_host; the code if the agent
 *  knows no host for it, "-" if there is none. */
const char *client_host(const json_t *object, const char *member);

/** Whether this names a user of this host, or is a number. */
bool client_is_user(const char *text, uint64_t *uid);
/** Says so if --node names a node that the agent does not know. 0, or an exit code: there is no agent. */
int client_check_node(const char *node);
/** Adds the name of its user to a task: the agent must not wait for the name service; a program that asks it may. */
void client_add_user(json_t *task);
/** NAME of its session, which is called NAME.PID.NUMBER; "-": none. */
const char *client_session(const json_t *task, char out[SESSION_NAME]);

/** Whether a node of `status` is known to be up. */
bool client_is_up(const json_t *node);
/** The state of a node of `status`: DRAINING, whatever its load is, or that by its load. */
const char *client_state(const json_t *node);
/** A line for each node that drains, with reason and who wished it. */
void client_print_draining(const json_t *status);

#endif
