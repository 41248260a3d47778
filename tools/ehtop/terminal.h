/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file terminal.h  The terminal, by curses. It is left as it was, whatever ends this program. */
#ifndef EHTOP_TERMINAL_H
#define EHTOP_TERMINAL_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

/** 0, or an exit code after a message. */
int terminal_open(void);
/** Leaves it as it was; ends this program if a signal told it to. */
void terminal_close(void);
/** Whether a signal came that ends programs, or the terminal has gone. */
bool terminal_is_over(void);
/** The next key of curses. ERR: none for that long (below 0: ever), there is something to read from one of
 *  the `n` others, or it is over. */
int terminal_key(int timeout_ms, struct pollfd *others, int n);
/** Shows text over all, until a key; long lines go on in the next. */
void terminal_text(const char *text);
/** Asks below all. Whether the answer was y. */
bool terminal_sure(const char *question);
/** A line of text; false: Escape. */
bool terminal_line(const char *question, char *out, size_t size);

#endif
