/* SPDX-License-Identifier: GPL-2.0-only */
/* Cgroups of version 1 that forbid devices to a task, or class its packets. */
#ifndef _EHS_LEGACY_H
#define _EHS_LEGACY_H

#include <linux/cgroup.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/types.h>

/**
 * struct ehs_legacy - the cgroup that a task is in of each such controller
 * @devices: serial number of the one of devices
 * @net_cls: of net_cls
 * @net_prio: of net_prio
 *
 * A number is 0 for the root of the hierarchy, and if version 1 of the controller is
 * not in use, because all tasks are in its root then. The numbers are only compared.
 * The kernel counts them up and gives none a second time, so no cgroup is held for
 * them, and one that is removed is not taken for a later one.
 */
struct ehs_legacy {
	u64 devices, net_cls, net_prio;
};

/* Under RCU, which keeps the cgroups of another task, too. */
static inline u64 ehs_legacy_serial(const struct cgroup_subsys_state *css)
{
	return css->parent ? css->serial_nr : 0;
}

/* Does not sleep. */
static inline struct ehs_legacy ehs_legacy_of(struct task_struct *task)
{
	struct ehs_legacy legacy = {};

	rcu_read_lock();
#ifdef CONFIG_CGROUP_DEVICE
	legacy.devices = ehs_legacy_serial(task_css(task, devices_cgrp_id));
#endif
#ifdef CONFIG_CGROUP_NET_CLASSID
	legacy.net_cls = ehs_legacy_serial(task_css(task, net_cls_cgrp_id));
#endif
#ifdef CONFIG_CGROUP_NET_PRIO
	legacy.net_prio = ehs_legacy_serial(task_css(task, net_prio_cgrp_id));
#endif
	rcu_read_unlock();
	return legacy;
}

/*
 * Whether the cgroups of @mine do to a task what those of @its do not. The root forbids
 * nothing that its children allow, but it may have a class that older children have not.
 */
static inline bool ehs_legacy_has_more(const struct ehs_legacy *mine, const struct ehs_legacy *its)
{
	return (mine->devices && mine->devices != its->devices) || mine->net_cls != its->net_cls ||
	       mine->net_prio != its->net_prio;
}

#endif /* _EHS_LEGACY_H */
