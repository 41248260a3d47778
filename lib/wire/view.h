/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file view.h
 * Whose files a transferred task sees (docs/transparency.md, "Files").
 */
#ifndef WIRE_VIEW_H
#define WIRE_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#define VIEW_TREES_MAX 64 /**< most file systems of home in a view */

enum view {
	VIEW_UNSET, /**< not given: the session's, else the site's */
	VIEW_SHARED, /**< the executor's, which must have the same content */
	VIEW_HOME, /**< the home node's */
	VIEW_AUTO, /**< shared if they verify, else home */
	VIEWS
};

/** "shared", "home", "auto"; "" for VIEW_UNSET. */
const char *view_name(enum view view);
/** VIEW_UNSET: no such name. */
enum view view_parse(const char *name);

/** Whether several hosts may use a file system of this type (f_type of statfs(2)) at once: this
 *  host's kernel does not notice changes by the others. */
bool view_several_hosts(uint32_t type);

/** The agent to its ehview: show all that home has done; or, if `ended`, have home see all that was
 *  done here. The answer is the ticket. */
struct view_sync {
	uint32_t ticket, ended;
};

#endif
