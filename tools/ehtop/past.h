/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file past.h  The history as a part of the picture. */
#ifndef EHTOP_PAST_H
#define EHTOP_PAST_H

#include "line.h"
#include "look.h"

/** Appends what has run, the newest first. 0 or -ENOMEM. */
int past_make(struct picture *p, const struct picture_look *look);

#endif
