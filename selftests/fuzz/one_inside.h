/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file one_inside.h
 * Shared by the files of one_agent.h. What the agent calls of the outer world, and what is not to
 * happen in a fuzzer, is defined in them: the program's own definitions come before those of
 * libraries.
 */
#ifndef FUZZ_ONE_INSIDE_H
#define FUZZ_ONE_INSIDE_H

#include <event2/listener.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/agent.h"
#include "input.h"

#define ONE_ENDS 24
#define ONE_FD_MAX 1024

/** The other side of one connection of the agent. */
struct end {
	int fd; /**< -1: closed */
	unsigned int stream; /**< of HTTP/2: the last one */
};

extern struct one {
	struct agent agent;
	struct end ends[ONE_ENDS];
	unsigned int nends;
	uid_t caller;
	const char *hosts[ONE_FD_MAX]; /**< the certificate's name, by descriptor of the agent */
	evconnlistener_cb accept;
	int news[ONE_ENDS]; /**< questions to ehlaunch that have no answer yet */
	unsigned int nnews;
	bool module;
	const uint8_t *datagram;
	size_t datagram_size;
	char dir[64];
} one;

/** NULL: there are too many, and `fd` is closed. */
struct end *one_end_new(int fd);
void one_send(const struct end *e, const void *bytes, size_t n);

/** Steps, see enum one_agent_step. */
void one_host(struct input *in);
void one_request(struct input *in, struct end *e);
void one_response(struct input *in, const struct end *e);
void one_data(struct input *in, const struct end *e);
void one_launched(struct input *in);
void one_kernel(struct input *in);

#endif
