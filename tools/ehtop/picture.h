/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file picture.h  A picture of the cluster, as lines of text. */
#ifndef EHTOP_PICTURE_H
#define EHTOP_PICTURE_H

#include "line.h"
#include "look.h"

/** Makes the picture of what was seen. 0, or -ENOMEM: it is incomplete. */
int picture_make(struct picture *p, const struct picture_look *look);
void picture_free(struct picture *p);

#endif
