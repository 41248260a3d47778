/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _EHS_FORMAT_H
#define _EHS_FORMAT_H

#include <linux/ehsched.h>

struct linux_binprm;
struct path;

enum ehs_reason ehs_format_rights(const struct path *path);
enum ehs_reason ehs_format(const struct linux_binprm *bprm);

#endif /* _EHS_FORMAT_H */
