/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file confine.h
 * Takes from this process, for good, what an agent without rights never needs: an attacker who takes it over
 * gets no program started, no file changed, and nothing of the kernel that only few programs use.
 */
#ifndef AGENT_CONFINE_H
#define AGENT_CONFINE_H

struct agent;

/**
 * For an agent that has another process as its launcher, once it has started. Files can be changed
 * only in the directory of the setting `state`. A kernel without Landlock leaves that to the rights of
 * the user. 0 or -errno.
 */
int confine(const struct agent *agent);

#endif
