/* SPDX-License-Identifier: GPL-2.0-or-later */
/**
 * @file view.h
 * Whose files a task sees that is away (docs/transparency.md, "Files").
 */
#ifndef WIRE_VIEW_H
#define WIRE_VIEW_H

enum view {
	VIEW_UNSET, /**< not said: the session's, else the site's */
	VIEW_SHARED, /**< the executor's, which must have the same content */
	VIEW_HOME, /**< the home node's */
	VIEW_AUTO, /**< shared if they verify, else home */
	VIEWS
};

/** "shared", "home", "auto"; "" for VIEW_UNSET. */
const char *view_name(enum view view);
/** VIEW_UNSET: no such name. */
enum view view_parse(const char *name);

#endif
