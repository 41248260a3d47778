/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file names.h  Operations on names and attributes: 0 or an errno. */
#ifndef EHFILES_NAMES_H
#define EHFILES_NAMES_H

#include "ref.h"

int names_list(const message *m, message *a);
int names_look(const message *m, message *a);
int names_stat(struct ref *r, const message *m, message *a);
int names_set(struct ref *r, const message *m, message *a);
int names_readlink(struct ref *r, const message *m, message *a);
int names_make(const message *m, message *a);
int names_link(struct ref *r, const message *m, message *a);
int names_unlink(const message *m, message *a);
int names_rename(const message *m, message *a);
int names_statfs(struct ref *r, const message *m, message *a);
int names_access(struct ref *r, const message *m, message *a);
int names_xattr(struct ref *r, const message *m, message *a);

#endif
