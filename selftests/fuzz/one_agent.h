/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file one_agent.h
 * An agent with all its rooms in this process, and everybody that it talks to: hosts, local users,
 * ehlaunch, ehlook, the ends of jobs, the module. All that these say is read from an input. Below
 * HTTP/2 there is no TLS: certificates and records are OpenSSL's work. No process is started, and
 * none gets a signal.
 */
#ifndef FUZZ_ONE_AGENT_H
#define FUZZ_ONE_AGENT_H

#include <stddef.h>
#include <stdint.h>

/** What an input may do; a bit each. */
enum one_agent_step {
	ONE_LOCAL, /**< a process connects to the local socket: its user */
	ONE_HOST, /**< a host connects: its name */
	ONE_BYTES, /**< any bytes on a connection */
	ONE_FRAME, /**< a frame on a connection: type and payload */
	ONE_REQUEST, /**< an HTTP/2 request: route and body */
	ONE_RESPONSE, /**< an HTTP/2 response: status and body */
	ONE_DATA, /**< more of a body */
	ONE_CLOSE, /**< a connection ends */
	ONE_LAUNCHED, /**< ehlaunch answers the oldest question: stage, error, descriptors */
	ONE_KERNEL, /**< a datagram of the kernel's */
	ONE_STEPS
};

/** Starts an agent, does the steps of the input, ends the agent. `steps`: bits of those that are permitted. */
int one_agent_play(const uint8_t *data, size_t size, unsigned int steps);

#endif
