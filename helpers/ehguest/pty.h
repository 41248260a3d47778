/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file pty.h
 * The program's pseudo-terminal. Home's line discipline does the work (echo, editing, ^C); this one
 * passes bytes (EXTPROC) and reports changes of modes (packet mode). This process leads its session,
 * which job control needs: SIGTSTP does not stop an orphaned process group, so the program's parent
 * must be in the same session; and only a process of the session may set the foreground group.
 */
#ifndef EHGUEST_PTY_H
#define EHGUEST_PTY_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "helpers/end/session.h"
#include "wire/job.h"
#include "wire/terminal.h"

struct pty {
	struct session *session;
	int master; /**< -1: none, or closed */
	int slave; /**< tells what is unread; open until the program has ended; -1: none */
	bool given; /**< the program has a terminal */
	struct terminal known; /**< what home has or was told */
	uint32_t late; /**< bytes of output to pass before a change is sent; 0: none waits */
	uint8_t status; /**< of packet mode, read but not handled yet; 0: none */
	bool flush; /**< tell home too that typed input was dropped */
	bool our_flush; /**< dropped by us, so home is not told */
	bool raw; /**< the program has left canonical mode */
	bool entered; /**< and a line was ended since it was last heard */
	int64_t held_until; /**< what it says then waits; 0: nothing does */
	bool offered; /**< home has input, which was not asked for */
	bool ready; /**< poll() said so */
	bool dry; /**< nothing from before the exit is left in it */
	int64_t look_at, wait_ms, waited_ms;
	pid_t before; /**< foreground group when it was taken away */
	uint64_t typed; /**< bytes received; an end of file counts as one */
	uint64_t read; /**< of these, as last said */
	uint32_t last; /**< bytes of the last that was typed; 0: all gone */
};

void pty_init(struct pty *p, struct session *session);
/** Opens the terminal, with the modes of home's, and becomes the leader of its session. 0 or
 *  -errno. */
int pty_open(struct pty *p, const struct job_spec *spec);
/** Gives the program's group the terminal, or takes it away. */
void pty_foreground(struct pty *p, bool on, pid_t program);
/** Events to wait for; fd -1: none. */
struct pollfd pty_poll(const struct pty *p);
/** Sends home its output and modes. */
void pty_step(struct pty *p);
/* What is typed at home: asked for when a process waits to read it, a line at a time. */
void pty_offer(struct pty *p);
void pty_type(struct pty *p, const uint8_t *bytes, size_t n);
void pty_tell_read(struct pty *p); /**< says what was read */

void pty_modes(struct pty *p, const struct terminal *t, bool flush); /**< set at home */
/** Signals the foreground group, as a terminal does. False: it cannot. */
bool pty_signal(struct pty *p, int sig);
void pty_exited(struct pty *p); /**< the program has ended; children may still write */
void pty_close(struct pty *p); /**< and hangs up */

#endif
