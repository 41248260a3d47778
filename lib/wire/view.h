/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file view.h
 * Whose files a transferred task sees (docs/transparency.md, "Files").
 */
#ifndef WIRE_VIEW_H
#define WIRE_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#define VIEW_TREES_MAX 64 /**< file systems in a view of home */

enum view {
	VIEW_UNSET, /**< not set: that of the session, else of the configuration */
	VIEW_SHARED, /**< those of the executor, which must be the same */
	VIEW_HOME, /**< those of the home node */
	VIEW_AUTO, /**< shared if they are the same, else home */
	VIEWS
};

/** "shared", "home", "auto"; "" for VIEW_UNSET. */
const char *view_name(enum view view);
/** Returns VIEW_UNSET if there is no such name. */
enum view view_parse(const char *name);

/** Whether several hosts may mount a file system of this type (statfs(2)) at once: the kernel of
 *  this host does not notice the changes of others. */
bool view_several_hosts(uint32_t type);

/** Whether what is in a file system of this type (statfs(2)) is the kernel's, and no file. */
bool view_is_kernels(uint32_t type);

/** From the agent to its ehview: make everything that home did visible here or, with `ended`,
 *  everything that was done here visible to home. The answer is the ticket. */
struct view_sync {
	uint32_t ticket, ended;
};

#endif
