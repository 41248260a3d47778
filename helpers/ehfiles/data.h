/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file data.h  Operations on open files and their locks: 0 or an errno. */
#ifndef EHFILES_DATA_H
#define EHFILES_DATA_H

#include "handle.h"
#include "ref.h"

int data_open(struct ref *r, const message *m, message *a);
int data_create(const message *m, message *a);
int data_read(struct handle *h, const message *m, message *a);
int data_write(struct handle *h, const message *m, message *a);
int data_flush(struct handle *h, const message *m, message *a);
int data_fsync(struct handle *h, const message *m, message *a);
int data_close(struct handle *h, const message *m, message *a);
int data_readdir(struct handle *h, const message *m, message *a);
int data_lock(struct handle *h, const message *m, message *a);
int data_flock(struct handle *h, const message *m, message *a);
int data_fallocate(struct handle *h, const message *m, message *a);

#endif
