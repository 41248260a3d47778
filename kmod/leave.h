/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _EHS_LEAVE_H
#define _EHS_LEAVE_H

struct ehs_node;
struct ehs_task;
struct pid;

void ehs_leave_exec(const struct ehs_node *node);
void ehs_leave_settled(struct ehs_task *rec);
void ehs_leave_moved(const struct pid *tgid);
void ehs_leave_regrouped(struct ehs_node *node);

void ehs_leave_init(struct ehs_node *node);
void ehs_leave_end(struct ehs_node *node);

#endif /* _EHS_LEAVE_H */
