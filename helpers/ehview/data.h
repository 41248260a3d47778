/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file data.h  Open files. */
#ifndef EHVIEW_DATA_H
#define EHVIEW_DATA_H

#include "node.h"

void data_ops(struct fuse_lowlevel_ops *ops);
struct file *data_of(const struct fuse_file_info *fi);
/** The content in the kernel's cache is out of date at the next open. */
void data_changed(struct node *n);

#endif
