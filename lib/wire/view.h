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

enum view_ask {
	VIEW_BEGIN, /**< make everything that home did visible here; the answer is the ticket */
	VIEW_ENDED, /**< make everything that was done here visible to home; the same */
	VIEW_CONNECT, /**< a descriptor follows: the next connection to the other side. `ticket`: of
		       *   which file system; no answer */
};

/** From the agent to a side of a view: ehview, or ehfiles, which takes VIEW_CONNECT only. */
struct view_sync {
	uint32_t ticket, what;
};

#endif
