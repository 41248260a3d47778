/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file names.h  Operations on names and attributes: home carries them out, and its answer updates what is known here. */
#ifndef EHVIEW_NAMES_H
#define EHVIEW_NAMES_H

#include "tree.h"

void names_ops(struct fuse_lowlevel_ops *ops);

#endif
