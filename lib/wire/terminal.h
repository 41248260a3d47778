/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file terminal.h
 * Modes and size of a task's terminal, as they are sent in its job and, when
 * they change, in JOB_TERMINAL. No I/O, and nothing but libc.
 */
#ifndef WIRE_TERMINAL_H
#define WIRE_TERMINAL_H

#include <stddef.h>
#include <stdint.h>
#include <termios.h>

#define TERMINAL_CC 19 /**< control characters of Linux's termios */
#define TERMINAL_SIZE 44 /**< bytes on the wire */

/** Bits as in <termios.h> on Linux. */
struct terminal {
	uint32_t iflag, oflag, cflag, lflag;
	uint8_t cc[TERMINAL_CC], zero;
	uint16_t rows, columns, width, height; /**< characters, pixels; 0: unknown */
};

/** Not a mode of the program; set only on the executor. */
#define TERMINAL_EXTPROC 0200000u

/** Changes those `modes` that a program can set; others, such as the speed, are kept. */
void terminal_to_termios(const struct terminal *t, struct termios *modes);
/** Without EXTPROC; the size is kept. */
void terminal_from_termios(struct terminal *t, const struct termios *modes);

/** As it is in a job and in frames. */
void terminal_encode(uint8_t out[TERMINAL_SIZE], const struct terminal *t);
/** Returns 0, or -EBADMSG: wrong length, or bits that no terminal has. */
int terminal_decode(struct terminal *t, const uint8_t *in, size_t length);

#endif
