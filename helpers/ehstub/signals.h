/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file signals.h  Signals to the stub, and those that it ends or stops with. */
#ifndef EHSTUB_SIGNALS_H
#define EHSTUB_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct stub;

#define SIGNALS_BIT(sig) (1ull << ((sig)-1))
/** Signals by which users end a task. */
#define SIGNALS_ENDING \
	(SIGNALS_BIT(SIGHUP) | SIGNALS_BIT(SIGINT) | SIGNALS_BIT(SIGQUIT) | SIGNALS_BIT(SIGTERM))

uint64_t signals_ignored(void);
bool signals_wanted(const struct stub *s); /**< whether a signal could be forwarded now */
void signals_forward(struct stub *s);
/** Stops as by this signal's default action. Returns when continued. */
void signals_stop(struct stub *s, int sig);
void signals_die(struct stub *s, int sig) __attribute__((noreturn));

#endif
