/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control channel of the virtual cluster: commands run on a guest over a
 * stream (TCP between guests, a virtio-serial port from the host). It shares no
 * code with the product, so that a broken product can still be looked at.
 *
 * A frame is a type byte, a length (32 bits, big endian) and that many bytes.
 */
#ifndef ON_WIRE_H
#define ON_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wire_type {
	WIRE_RUN = 'R', /* client: struct wire_run, then its strings */
	WIRE_STDIN = 'I', /* client: bytes; empty: end of file */
	WIRE_SIZE = 'W', /* client: rows and columns, 16 bits each */
	WIRE_STDOUT = 'O', /* server: bytes */
	WIRE_STDERR = 'E', /* server: bytes */
	WIRE_FAIL = 'F', /* server: why the command was not started */
	WIRE_EXIT = 'X', /* server: one byte, 128 + signal when killed */
};

#define WIRE_CHUNK 32768 /* most bytes of output in one frame */
#define WIRE_MAX (1 << 20) /* longest frame that is taken */
#define WIRE_HEADER 5
#define WIRE_STDIN_FLAG 1
#define WIRE_TTY_FLAG 2
#define ON_FAILED 125 /* exit status for failures that are not the command's */

/* A frame being received; filled piecewise by wire_fill(). */
struct wire_in {
	unsigned char *buf;
	size_t have;
	size_t room;
};

/*
 * A command: flags, terminal size, then strings, each closed by NUL: cwd,
 * number of arguments, the arguments, the environment.
 */
struct wire_run {
	unsigned flags;
	unsigned rows, cols;
	char *cwd;
	char **argv;
	char **envp;
};

/* 0, or -errno. Blocks until all of it is written. */
int wire_send(int fd, enum wire_type type, const void *data, size_t len);
/* Bytes read, 0 at the end of the stream, -errno (-EAGAIN: nothing there now). */
long wire_fill(struct wire_in *in, int fd);
/* True when a whole frame is there; *data stays valid until wire_done(). */
bool wire_next(struct wire_in *in, unsigned char *type, unsigned char **data, size_t *len);
void wire_done(struct wire_in *in);
/* A malloc'ed WIRE_RUN payload, or NULL. */
unsigned char *wire_pack(const struct wire_run *run, size_t *len);
/* Splits a payload in place (it must stay); 0 or -EINVAL, -ENOMEM. */
int wire_unpack(unsigned char *data, size_t len, struct wire_run *run);

/* Moves the caller into node's cgroup and network namespace, where there are such. */
int node_enter(unsigned node);
/* True when the node is a namespace of this machine, or this machine. */
bool node_is_here(unsigned node);

/* Serves the control port and, when it is given, the virtio-serial device; never returns. */
int serve(unsigned short port, const char *device);

#endif
