/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file typed.h  Input that is typed at the terminal. */
#ifndef EHSTUB_TYPED_H
#define EHSTUB_TYPED_H

#include <stdbool.h>

#include "terminal.h"

/** While the task runs. `stopped`: its stub is about to stop, and reads nothing more. */
void typed_step(struct tty *t, bool stopped);
/** Puts input back that the task has not read. Whether there was any. */
bool typed_give_back(struct tty *t);

#endif
